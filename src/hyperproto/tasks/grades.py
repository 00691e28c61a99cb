"""One of K classes that are in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, arg
from hyperproto.tasks.classes import Classes
from hyperproto.tasks.task import Axes, Terms

if TYPE_CHECKING:
    from torch import Tensor

    from hyperproto.tasks.prototype_head import PrototypeHead


class Grades(Classes):
    r"""Classes in order, such as ratings: prototypes along an arc, from one pole to the other.

    .. math:: \cos(p_j, p_k) = 1 - \frac{2 \, |j - k|}{K - 1}

    In K - 1 axes the k-th prototype is :math:`(1, \dots, 1, -1, \dots, -1) / \sqrt{K - 1}`, with k
    signs turned, so that cosines fall with the distance in ranks; in D axes they are its D largest
    principal axes, which in two is half a circle. What is predicted is the median of the
    probabilities: no other class has a smaller expected error in ranks.

    Parameters
    ----------
    classes : int, or sequence of str
        How many, or their names from the lowest to the highest.
    loss, weight, class_weight, label_smoothing, labels, scale
        As of :class:`Classes`.

    Examples
    --------
    >>> import hyperproto as hp
    >>> space = hp.Space(4, hp.Grades(["poor", "fair", "good", "great", "superb"]))
    >>> (space.prototypes.vectors @ space.prototypes.vectors[0]).tolist()
    [1.0, 0.5, 0.0, -0.5, -1.0]
    """

    kind = "grades"
    metric = "rank_error"
    higher_is_better = False
    places_itself = True

    @classmethod
    def fit(
        cls, values: Any, about: str = "y", *, names: tuple[str, ...] = (), **options: Any
    ) -> Self:
        """Return the grades in the order given; by default, numbers from the least on."""
        if names:
            return cls(names, **options)
        found = Classes.fit(values, about).values
        try:
            order = np.argsort(found.astype(np.float64))
        except ValueError:
            listed = ", ".join(map(str, found[:3].tolist()))
            advice = f"Name them from the lowest to the highest: {arg('grades', 'COLUMN=LOW,HIGH')}"
            raise InputError(about, "have grades in a known order", listed, advice) from None
        return cls.of(found[order], **options)

    @classmethod
    def read_option(cls, text: str) -> dict[str, Any]:
        """Return the names that stand behind a column on the command line."""
        return {"names": tuple(name.strip() for name in text.split(","))} if text else {}

    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return the sum of errors in ranks, and how many grades are right and there."""
        from hyperproto.metrics import most_likely

        labels = most_likely(targets)
        ranks = (predicted - labels).abs()[labels >= 0]
        return {
            "rank_error": (float(ranks.sum()), len(ranks)),
            "accuracy": (int((ranks == 0).sum()), len(ranks)),
        }

    def whole_metrics(self, predicted: Tensor, targets: Tensor) -> dict[str, float]:
        """Return Cohen's kappa with quadratic weights."""
        from hyperproto.metrics import most_likely, quadratic_kappa

        labels = most_likely(targets)
        return {"kappa": quadratic_kappa(predicted[labels >= 0], labels[labels >= 0])}

    def baseline(self, targets: Tensor) -> Tensor:
        """Return the median grade."""
        from hyperproto.metrics import most_likely

        labels = most_likely(targets)
        present = labels[labels >= 0].long()
        found = present.median() if len(present) else labels.new_tensor(0)
        return found.expand(len(targets))

    @property
    def axes(self) -> Axes:
        """K - 1, in which cosines are exact, and two at least."""
        if self.placed is not None:
            return super().axes
        return Axes(2, max(2, self.num_classes - 1))

    def head(self, axes: slice, dim: int) -> PrototypeHead:
        """Place the prototypes along the arc, unless they are placed already."""
        from hyperproto.tasks.grades_head import GradesHead, place_grades

        placed = self.placed
        if placed is None:
            placed = place_grades(self.num_classes, axes.stop - axes.start, self.names)
        return GradesHead(self, axes, placed)


def arc(num_classes: int, dim: int) -> NDArray[np.float64]:
    """Return the prototypes of grades, shape (num_classes, dim).

    >>> arc(3, 2).round(3) + 0.0
    array([[ 0.707,  0.707],
           [ 0.707, -0.707],
           [-0.707, -0.707]])
    """
    steps = num_classes - 1
    signs = np.where(np.arange(num_classes)[:, None] + np.arange(steps) < steps, 1.0, -1.0)
    if dim < steps:
        # the sign of a principal axis is free: its first entry is positive
        _, _, principal = np.linalg.svd(signs, full_matrices=False)
        signs = signs @ (principal[:dim] * np.where(principal[:dim, :1] < 0, -1, 1)).T
    vectors = signs / np.linalg.norm(signs, axis=1, keepdims=True)
    return np.pad(vectors, ((0, 0), (0, max(0, dim - steps))))
