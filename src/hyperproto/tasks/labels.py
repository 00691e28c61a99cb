"""Several labels at once, or none of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import (
    check_finite_number,
    check_integer,
    check_names,
    choose,
    unknown_choice,
)
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.tasks.classes import first_row
from hyperproto.tasks.task import Axes, Task, Terms

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.prototypes import Prototypes
    from hyperproto.tasks.labels_head import LabelsHead

SEPARATORS = re.compile("[;|]")
NONE = "(none)"  # what the prototype of the empty set is called
ANGLES = ("cosine", "squared_cosine")
LOSSES = {name: name for name in ("auto", "both", "products", *ANGLES)}
LOSSES["paper"] = "squared_cosine"


@dataclass(frozen=True)
class Labels(Task):
    r"""Any number of K labels at once: a set is the direction of the sum of its prototypes.

    .. math:: t_S = \frac{\sum_{k \in S} p_k}{\bigl|\sum_{k \in S} p_k\bigr|}, \qquad
        t_\emptyset = p_0

    with one prototype more, :math:`p_0`, for no label at all. In D > K the prototypes are
    orthonormal: every set has a point of its own, and the nearest of all :math:`2^K` is found at
    once, as the m labels with the largest cosines for the m whose :math:`\sum \cos / \sqrt m` is
    largest. In fewer dimensions the prototypes are as nearly orthogonal as there is room for, and
    the nearest set is looked for among the m largest cosines, too.

    Targets are 1 where a label is in the set and 0 elsewhere, shape (n, K), a row of NaN where the
    set is missing. As people have them they are sequences of names, or text with ``;`` or ``|``
    between names; None and an empty cell of a table are the empty set.

    Parameters
    ----------
    labels : int, sequence of str, or Prototypes
        How many labels, or their names; or prototypes of them, and of no label at the end.
    loss : {"auto", "both", "products", "cosine", "squared_cosine"}, default "auto"
        "products" asks that an output reach further toward each label of its set than toward
        :math:`p_0`, and less far toward all others [1]_:

        .. math:: \log\Bigl(1 + \sum_{k \notin S} e^{l_k}\Bigr)
            + \log\Bigl(1 + \sum_{k \in S} e^{-l_k}\Bigr), \qquad l_k = z \cdot (p_k - p_0)

        "cosine" is 1 - cos to the target; "squared_cosine", or "paper", is its square, Equation 1.
        "both", which is "auto", is the sum of "products" and "cosine".
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    threshold : float, default 0.2
        Each label is predicted whose logistic of :math:`l_k` is greater. The losses of angles
        alone, "cosine" and "squared_cosine", predict the nearest set.

    References
    ----------
    .. [1] Su, Zhu, Murtadha, Pan, Wen, Liu. "ZLPR: A Novel Loss for Multi-Label Classification."
       2022, https://arxiv.org/abs/2208.02955.

    Examples
    --------
    >>> import torch, hyperproto as hp
    >>> space = hp.Space(4, hp.Labels(["comedy", "drama", "war"]))
    >>> space.encode(["drama; war", None])
    tensor([[0., 1., 1.],
            [0., 0., 0.]])
    >>> space.decode(space.predict(torch.tensor([[0.0, 4.0, 3.0, 2.0], [0.0, 0.0, 0.0, 2.0]])))
    [('drama', 'war'), ()]
    """

    labels: int | tuple[str, ...] | Prototypes
    loss: str = "auto"
    weight: float = 1.0
    threshold: float = 0.2

    kind = "labels"
    reads = "mask"
    metric = "micro_f1"
    higher_is_better = True
    missing = nan
    has_prototypes = True

    def __post_init__(self) -> None:
        given: Any = self.labels
        if isinstance(given, str):
            rule = "be a number or a list of names"
            raise InputTypeError("labels", rule, f'one string, "{given}"')
        if hasattr(given, "__iter__"):
            given = check_names(tuple(given))
            check_integer(len(given), "labels", at_least=1)
        elif not hasattr(given, "vectors"):
            given = check_integer(given, "labels", at_least=1)
        vars(self).update(
            labels=given,
            loss=choose(self.loss, LOSSES, what="loss of labels"),
            weight=check_finite_number(self.weight, "weight", above=0),
            threshold=check_finite_number(self.threshold, "threshold", at_least=0, at_most=1),
        )

    # -- values --------------------------------------------------------------------------------

    @classmethod
    def fit(cls, values: Any, about: str = "y", **options: Any) -> Self:
        """Return the labels among some sets, sorted."""
        names = sorted({name for value in values for name in read_set(value, about) or ()})
        if not names:
            rule = "hold at least one label in the training data"
            raise InputError(about, rule, "none", "Leave it out.")
        return cls(tuple(names), **options)

    @property
    def known_values(self) -> list[Any]:
        """The names of the labels."""
        return list(self.names or range(self.num_labels))

    def encode(self, values: Any, about: str = "y", *, unseen: str = "error") -> NDArray[Any]:
        """Return masks over the labels, shape (n, K); None is the empty set, NaN a missing one.

        A set with a label that the task has never seen is an error, or missing.
        """
        raises = choose(unseen, {"error": True, "missing": False}, what="rule for unseen labels")
        index = {name: k for k, name in enumerate(self.known_values)}
        masks = np.zeros((len(values), self.num_labels), dtype=np.float32)
        for mask, value in zip(masks, values, strict=True):
            names = read_set(value, about)
            strange = [name for name in names or () if name not in index]
            if strange and raises:
                advice = unknown_choice(strange[0], map(str, index), what="label").advice
                rule = f"be among the {self.num_labels} labels of the training data"
                advice += f" {arg('unseen', 'missing')} leaves such sets out."
                raise InputError(about, rule, f'"{strange[0]}"', advice)
            if strange or names is None:
                mask[:] = nan
            else:
                mask[[index[name] for name in names]] = 1
        return masks

    def decode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return the names in each set, shape (n,), as tuples; None where it is missing."""
        known, masks = np.array(self.known_values, dtype=object), np.asarray(targets)
        sets = np.empty(len(masks), dtype=object)
        for row, mask in enumerate(masks):
            sets[row] = None if (mask != mask).any() else tuple(known[mask > 0].tolist())
        return sets

    def describe_values(self, parts: Mapping[str, Tensor]) -> Plain:
        """Return the names, and for each part how many examples a label has, and how many labels an
        example.
        """
        found: Plain = {
            "kind": self.kind,
            "labels": self.num_labels,
            "names": list(self.names or ()),
        }
        for part, masks in parts.items():
            there = masks[self.present(masks)]
            counts = there.sum(dim=0)
            found[part] = {
                "least": int(counts.min()),
                "most": int(counts.max()),
                "without": int((there.sum(dim=1) == 0).sum()),
                "per_example": round(float(there.sum(dim=1).mean()), 3) if len(there) else nan,
                "missing": len(masks) - len(there),
            }
        return found

    @property
    def num_labels(self) -> int:
        """K."""
        given: Any = self.labels
        if hasattr(given, "vectors"):
            return int(given.num_classes) - 1
        return given if isinstance(given, int) else len(given)

    @property
    def num_classes(self) -> int:
        """K + 1: the empty set has a prototype, too."""
        return self.num_labels + 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the labels, where they were given."""
        given: Any = self.labels
        if hasattr(given, "vectors"):
            return None if given.names is None else given.names[:-1]
        return None if isinstance(given, int) else given

    # -- targets -------------------------------------------------------------------------------

    def present(self, targets: Tensor) -> Tensor:
        """Return which sets are there. Shape (n,), bool."""
        return ~targets.isnan().any(dim=-1)

    def check(self, targets: Tensor, name: str) -> None:
        """Check every set: 0 and 1, or NaN in all places."""
        masks = self.check_form(targets, len(targets), name)
        wrong = ((masks != 0) & (masks != 1)).any(dim=1) & ~masks.isnan().all(dim=1)
        bad = wrong.nonzero().flatten()
        if len(bad):
            got = first_row(bad, str(masks[bad[0]].tolist()[:5]), len(masks))
            raise InputError(name, "be 0 and 1, or a row of NaN where missing", got)

    def check_form(self, targets: Tensor, n: int, name: str) -> Tensor:
        """Check the shape of masks; return them as floating point."""
        if targets.shape != (n, self.num_labels):
            rule = f"have shape ({n}, {self.num_labels}), a row of 0 and 1 for each set"
            raise InputError(name, rule, tuple(targets.shape))
        if targets.requires_grad:
            got = "a tensor that requires a gradient"
            raise InputError(name, "be fixed", got, "Detach it.")
        return targets if targets.is_floating_point() else targets.float()

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return masks in the dtype of the loss: empty where missing."""
        return (targets if complete else targets.nan_to_num()).to(dtype)

    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return the parts of micro F1, 2 TP / (2 TP + FP + FN), and how many sets are right."""
        there = self.present(targets)
        told, true = predicted[there] > 0, targets[there] > 0
        right = int((told == true).all(dim=1).sum())
        both = 2.0 * int((told & true).sum())
        return {
            "micro_f1": (both, int(told.sum() + true.sum())),
            "subset_accuracy": (right, len(true)),
        }

    def whole_metrics(self, predicted: Tensor, targets: Tensor) -> dict[str, float]:
        """Return the mean F1 of the labels, 0 for one that is neither there nor predicted."""
        there = self.present(targets)
        told, true = predicted[there] > 0, targets[there] > 0
        count = (told.sum(dim=0) + true.sum(dim=0)).clamp_min(1)
        return {"macro_f1": float((2 * (told & true).sum(dim=0) / count).double().mean())}

    def baseline(self, targets: Tensor) -> Tensor:
        """Return the most frequent set."""
        import torch

        there = targets[self.present(targets)]
        if not len(there):
            return torch.zeros_like(targets)
        sets, counts = torch.unique(there, dim=0, return_counts=True)
        return sets[counts.argmax()].expand(targets.shape)

    # -- the sphere ----------------------------------------------------------------------------

    @property
    def axes(self) -> Axes:
        """K + 1, in which prototypes are orthonormal; as many as placed prototypes have."""
        placed: Any = self.labels
        if hasattr(placed, "vectors"):
            return Axes(placed.dim, placed.dim, fixed=True)
        return Axes(2, self.num_classes)

    def head(self, axes: slice, dim: int) -> LabelsHead:
        """Place the prototypes, unless they are placed already."""
        from hyperproto.tasks.labels_head import LabelsHead, place_labels

        placed: Any = self.labels
        if not hasattr(placed, "vectors"):
            placed = place_labels(self.num_classes, axes.stop - axes.start)
        return LabelsHead(self, axes, placed)

    # -- stored --------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return the number of labels, the first names and the loss."""
        names = ", ".join((self.names or ())[:5]) + (", ..." if self.num_labels > 5 else "")
        return f"{self.num_labels} labels{': ' + names if self.names else ''}; {self.loss}"

    def to_dict(self) -> Plain:
        """Return plain values, without the prototypes."""
        labels = self.num_labels if self.names is None else list(self.names)
        return {**super().to_dict(), "labels": labels}

    @classmethod
    def from_dict(cls, values: Plain, prototypes: Any = None) -> Self:
        """Rebuild what :meth:`to_dict` described."""
        return cls(**{**values, "labels": prototypes or values["labels"]})


def read_set(value: Any, about: str) -> Sequence[str] | None:
    """Return the names in a set as people have it, each once; None where it is missing.

    >>> read_set("war; drama|war", "genres"), read_set(None, "genres"), read_set(nan, "genres")
    (['war', 'drama'], [], None)
    """
    if value is None:
        return []
    if value != value:
        return None
    if not hasattr(value, "__iter__"):
        rule = "hold sequences of labels, or text with ; or | between them"
        raise InputTypeError(about, rule, repr(value))
    given = SEPARATORS.split(value) if isinstance(value, str) else value
    names = dict.fromkeys(str(name).strip() for name in given)
    return [name for name in names if name]
