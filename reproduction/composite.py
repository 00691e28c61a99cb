r"""A class and a number as one point on the sphere.

Two targets for one output, cos to the pole = r and cos to the prototype = 1 in the directions that
are left, get in each other's way near the poles: class gradients grow there as 1/sin of the angle
to the pole, gradients of the number vanish as that sine. One point for both has neither problem:

.. math:: t = \bigl(r,\; \sqrt{1 - r^2}\; p_y\bigr), \qquad \ell = \sqrt{1 + \varepsilon - u \cdot t}

with u the output on the sphere. Axes, decisions and metrics are those of
:class:`~hyperproto.spaces.space.Space`.
"""

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto.losses import Reduction, reduce_rows
from hyperproto.spaces import Space, Targets
from hyperproto.spaces.output_space import flatten_rows
from hyperproto.sphere import normalize, working_dtype
from hyperproto.tasks import Task, indexed, numeric
from hyperproto.tasks.prototype_head import PrototypeHead

FLOOR = 1e-4  # ε: a root is steep at 0


class CompositeSpace(Space):
    """One class task and one range, learned as one point; everything else is as in ``hp.Space``.

    differs from paper: its joint loss is the sum of two squares. The ``margin`` of the range keeps
    points off the poles, where classes meet; 0.1 serves. A missing label is taken to be what fits
    the output best. Tasks have no weights.

    Parameters
    ----------
    dim : int
        Width of the network's output.
    tasks : mapping from names to one Classes and one Range

    Examples
    --------
    >>> from hyperproto.tasks import Classes, Range
    >>> space = CompositeSpace(3, {"digit": Classes(5), "angle": Range(0, 180, margin=0.1)})
    >>> target = space.points({"digit": torch.tensor([0]), "angle": torch.tensor([90.0])})
    >>> space.loss(target, {"digit": torch.tensor([0]),
    ...     "angle": torch.tensor([90.0])})  # the floor, at the point
    tensor(0.0100)
    """

    kind = "composite"

    def __init__(self, dim: int, tasks: Mapping[str, Task]) -> None:
        super().__init__(dim, tasks, separate=False)
        classes, ranges = indexed(self.tasks), numeric(self.tasks)
        if len(classes) != 1 or len(ranges) != 1:
            kinds = ", ".join(sorted(type(asked).__name__ for asked in self.tasks.values()))
            raise InputError("A CompositeSpace", "have one hp.Classes and one hp.Range", kinds)
        weighted = [name for name, asked in self.tasks.items() if asked.weight != 1]
        if weighted:
            got = f'one for "{weighted[0]}"'
            raise InputError("Tasks of a CompositeSpace", "have no weight", got)
        (self._class_name,), ((self._pole_name, self._range),) = classes, ranges.items()
        if classes[self._class_name].label_smoothing:
            rule = "be 0 in a CompositeSpace, where each class has one point"
            raise InputError("label_smoothing", rule)

    def points(self, targets: Mapping[str, Tensor]) -> Tensor:
        """Return the point on the sphere that stands for each pair of a class and a number. Shape
        (n, dim).
        """
        r = self._range.to_cosine(targets[self._pole_name])
        labels = targets[self._class_name].long()
        rows = self._class_head.prototypes.index_select(0, labels).to(r.dtype)
        return torch.cat([r.unsqueeze(1), (1 - r * r).sqrt().unsqueeze(1) * rows], dim=1)

    def label_counts(self, targets: Targets) -> dict[str, Tensor]:
        """Return the weight that the mean is taken over, the same for both names."""
        return dict.fromkeys(self.names, self._weights(self._named(targets)).sum())

    def losses(
        self,
        z: Tensor,
        targets: Targets,
        *,
        reduction: Reduction = "mean",
        sample_weight: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the one loss, half of it to each name."""
        shape = z.shape[:-1]
        named, sample_weight = self._check_targets(z, targets, sample_weight)
        z = flatten_rows(z, self.dim)
        named = {
            name: task.check_form(named[name], len(z), name) for name, task in self.tasks.items()
        }
        if named[self._class_name].is_floating_point():
            rule = "be ids, as each has one point"
            raise InputError("Classes of a CompositeSpace", rule, "probabilities")
        u = normalize(z.to(working_dtype(z.dtype)))
        along, rest = u[:, 0], u[:, 1:]
        labels, values = named[self._class_name], named[self._pole_name]
        rows = self._class_head.prototypes.index_select(0, labels.clamp_min(0)).to(u.dtype)
        # a missing class is the one whose prototype the output points at, were there one
        across = torch.where(
            labels >= 0, (rest * rows).sum(dim=1), torch.linalg.vector_norm(rest, dim=1)
        )
        known = ~values.isnan()
        r = self._range.to_cosine(values.masked_fill(~known, self._range.low)).to(u.dtype)
        r = torch.where(known, r, self._nearest_cosine(along.detach(), across.detach()))
        cosine = r * along + (1 - r * r).clamp_min(0).sqrt() * across
        weights = self._weights(named)
        if sample_weight is not None:
            weights = weights * sample_weight
        half = (1 + FLOOR - cosine).clamp_min(FLOOR).sqrt() * weights.to(u.dtype) / 2
        return dict.fromkeys(self.names, reduce_rows(half.reshape(shape), reduction, weights))

    def _nearest_cosine(self, along: Tensor, across: Tensor) -> Tensor:
        """Return r of the number that fits an output best: its own height, no nearer to a pole than
        the margin.
        """
        most = 1 - self._range.margin
        height = along / torch.hypot(along, across).clamp_min(torch.finfo(along.dtype).tiny)
        return torch.where(across > 0, height, torch.sign(along)).clamp(-most, most)

    def _weights(self, targets: Mapping[str, Tensor]) -> Tensor:
        """Return the weight of each row, 0 where both labels are missing, else 1 or its class's.
        Shape (n,).
        """
        labels, values = targets[self._class_name], targets[self._pole_name]
        of_class = torch.where(labels >= 0, self._class_head.weights(labels) * 1.0, 1.0)
        return of_class * ((labels >= 0) | ~values.isnan())

    @property
    def _class_head(self) -> PrototypeHead:
        return cast(PrototypeHead, self.named_heads()[self._class_name])
