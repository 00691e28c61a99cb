"""The sphere as an output space: prototypes and poles on it, and targets for the cosines to them.

Axes are assigned in order, ranges first. A range owns one axis and measures its cosine over that
axis and all later ones, so several ranges are spherical coordinates and every combination of their
values can be reached. The axes that remain are cut into one block per class task. One range and one
class task is exactly the paper: the pole on axis 0, the classes on the rest.

Separate spheres give every task axes of its own instead, on which the output is normalized by
itself. A number then says nothing about how much room classes have, and neither needs a margin.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from hyperproto._core.checks import check_directions, check_integer, check_output_width
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.codes.certificate import Certificate
from hyperproto.defaults import NUMBER_AXES, UNFITTED_SCALE
from hyperproto.losses import cosine_loss
from hyperproto.prototypes import Prototypes, place
from hyperproto.prototypes.prototypes import EXACT_ENTRIES
from hyperproto.spaces.output_space import Head, TaskSpace, parse_tasks
from hyperproto.spaces.tasks import Classes, Range, Task, class_tasks, range_tasks
from hyperproto.spaces.top_k import LARGEST_BLOCK, TopK, nearest_prototypes
from hyperproto.sphere import normalize, working_dtype

MANY_SCORES = 2**24  # beyond this many cosines are computed in blocks: 64 MB


class Sphere(TaskSpace):
    """One sphere for one task or several, laid out before training; subclasses say what is learned
    there.
    """

    def __init__(
        self,
        dim: int,
        task: Task | Mapping[str, Task] | None = None,
        *,
        separate: bool = False,
        **tasks: Task,
    ) -> None:
        if isinstance(dim, Classes | Range):
            raise InputTypeError(
                "dim", "be a number of dimensions, before the tasks", dim, "Write hp.Space(5, ...)."
            )
        named, bare = parse_tasks(task, tasks)
        axes = assign_axes(dim, named, separate=separate)
        heads: dict[str, Head] = {}
        for name, asked in named.items():
            if isinstance(asked, Range):
                heads[name] = PoleHead(asked, axes[name], int(dim))
                continue
            size, placed = axes[name].stop - axes[name].start, asked.classes
            if not isinstance(placed, Prototypes):
                placed = place(placed, size, effort="fast", every_axis=True)
            heads[name] = PrototypeHead(asked.with_loss_for(size), axes[name], placed)
        self.separate = bool(separate)
        options = {"separate": True} if separate else {}  # a CompositeSpace has no choice
        super().__init__(dim, heads, bare=bare, **options)

    def project(self, z: Tensor) -> Tensor:
        """Return the outputs as points on the sphere, shape (n, dim); all of separate ones together
        have length 1.
        """
        check_output_width(z, self.dim)
        if not self.separate:
            return normalize(z)
        points = torch.zeros_like(z)
        for head in self.named_heads().values():
            points[:, head.axes] = normalize(z[:, head.axes]) / len(self.names) ** 0.5
        return points

    @torch.no_grad()
    def top_k(self, z: Tensor, k: int) -> dict[str, TopK] | TopK:
        """Return the k nearest classes of each output, exactly, in memory that does not grow with
        their number.

        Parameters
        ----------
        z : Tensor, shape (n, dim)
        k : int
            How many; all of them where a task has no more classes.

        Returns ------- TopK of values (cosines) and ids, both of shape (n, k), best first and
        equals by their ids; one for each class task by name, or that of the one unnamed task.
        """
        check_output_width(z, self.dim)
        k = check_integer(k, "k", at_least=1)
        heads = self.named_heads()
        nearest = {name: heads[name].top_k(z, k) for name in class_tasks(self.tasks)}
        if not nearest:
            raise InputError(
                "A space for top_k", "have classes", "only numbers", "`predict` answers with those."
            )
        return self.in_user_form(nearest)

    def softmax_scales(self) -> dict[str, float]:
        """Return the scale of each class task's loss, or 10 where it has none."""
        tasks = class_tasks(self.tasks)
        return {
            n: task.loss.cosine_scale(task.num_classes) or UNFITTED_SCALE
            for n, task in tasks.items()
        }

    @property
    def prototypes(self) -> dict[str, Prototypes] | Prototypes:
        """The prototypes of each class task, or of the one unnamed task."""
        return self.in_user_form(self.prototypes_by_task())

    def prototypes_by_task(self) -> dict[str, Prototypes]:
        """Return the prototypes of every class task by name."""
        heads = self.named_heads()
        return {name: heads[name].to_prototypes() for name in class_tasks(self.tasks)}


class Space(Sphere):
    """One sphere for one task or several, laid out before training; an ``nn.Module`` without
    parameters.

    Called with outputs and targets it returns its loss, so it works wherever a PyTorch criterion
    does.

    Parameters
    ----------
    dim : int
        Width of the network's output. The sphere is S^(dim-1).
    task : Classes, Range, or a mapping from names to those, optional
        One task by itself takes and gives bare tensors. A mapping allows any name.
    separate : bool, default False
        A sphere of its own for each task, all on one output, in place of one that the tasks share.
        The paper's is shared; where the library chooses, classes and numbers are separate.
    **tasks : Classes or Range
        Tasks by name, any but the arguments above; targets, losses and predictions are then always dicts.
        :mod:`hyperproto.spaces.space` says which axes each task reads.

    Examples
    --------
    >>> space = Space(3, digit=Classes(["2", "3", "4", "5", "7"]), angle=Range(0, 180))
    >>> z = torch.tensor([[0.0, 2.0, 0.0], [-5.0, -1.0, 0.1]])
    >>> predictions = space.predict(z)
    >>> space.decode(predictions)["digit"], predictions["angle"].round()
    (['2', '4'], tensor([90.,  2.]))
    >>> assign_axes(12, Space(12, space.tasks, separate=True).tasks, separate=True)
    {'digit': slice(0, 4, None), 'angle': slice(4, 12, None)}
    """

    kind = "sphere"


class PrototypeHead(Head):
    """A class task: its prototypes, on its own block of axes, renormalized."""

    task: Classes
    prototypes: Tensor

    def __init__(self, task: Classes, axes: slice, placed: Prototypes) -> None:
        super().__init__(task)
        self.axes = axes
        self.certificate: Certificate | None = placed.certificate
        self.register_buffer("prototypes", placed.vectors)
        self._rounded: tuple[int, Tensor, Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rounded copy out of files and of other processes."""
        return {**self.__dict__, "_rounded": None}

    def to_prototypes(self) -> Prototypes:
        """Return the buffer with its names and certificate."""
        if self.certificate is None:
            self.certificate = Prototypes.from_tensor(
                self.prototypes, method="a state dict"
            ).certificate
        return Prototypes(self.prototypes, self.certificate, self.task.names)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Take other prototypes as a new buffer: the old one may be shared with
        whoever placed it.
        """
        given = state_dict.get(f"{prefix}prototypes")
        if (
            given is not None
            and given.shape == self.prototypes.shape
            and not torch.equal(given, self.prototypes)
        ):
            self.prototypes, self.certificate = self.prototypes.clone(), None
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 1, or the loss the task asks for, row by row."""
        return self.task.loss(self.part(z), self._table(working_dtype(z.dtype)), target)

    def _table(self, dtype: torch.dtype) -> Tensor:
        """Return the prototypes, rounded once to ``dtype``, not in every step: 64 MB at most."""
        exact, kept = self.prototypes, self._rounded
        traced = torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
        if (
            exact.dtype == dtype
            or exact.numel() > EXACT_ENTRIES
            or traced
            or torch.compiler.is_compiling()
        ):
            return exact
        if (
            kept is None
            or kept[1] is not exact
            or kept[0] != exact._version
            or kept[2].dtype != dtype
        ):
            kept = self._rounded = (exact._version, exact, exact.to(dtype))
        return kept[2]

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to every prototype, shape (n, num_classes)."""
        wide = self.part(z).to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            return (normalize(wide) @ self._table(wide.dtype).to(wide.dtype).mT).clamp(-1, 1)

    def many(self, z: Tensor) -> bool:
        """Return whether the cosines of all pairs are so many that they are computed in blocks."""
        if torch.compiler.is_compiling():  # a graph is for any number of rows
            return False
        few = (
            MANY_SCORES if len(z) > 1 else LARGEST_BLOCK
        )  # one row by itself takes less time in blocks
        return len(z) * len(self.prototypes) > few

    def predict(self, z: Tensor) -> Tensor:
        """Return Equation 3: the class whose prototype is nearest."""
        if self.many(z):
            return self.top_k(z, 1).ids[:, 0]
        check_directions(self.part(z))
        return self.scores(z).argmax(dim=1)

    def top_k(self, z: Tensor, k: int) -> TopK:
        """Return the k nearest prototypes and their cosines, in blocks."""
        part = self.part(z)
        check_directions(part)
        wide = part.to(working_dtype(z.dtype))
        return nearest_prototypes(
            normalize(wide), self._table(wide.dtype), min(k, len(self.prototypes))
        )


class PoleHead(Head):
    """A range: the cosine between its pole, the first of its axes, and the
    output on all of them.
    """

    task: Range
    upper_pole: Tensor

    def __init__(self, task: Range, axes: slice, dim: int) -> None:
        super().__init__(task)
        self.axes = axes
        pole = torch.zeros(dim, dtype=torch.float64)
        pole[axes.start] = 1
        self.register_buffer("upper_pole", pole)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 7, or the absolute difference, row by row."""
        wide = working_dtype(z.dtype)
        target_cosine = self.task.to_cosine(target.to(torch.promote_types(target.dtype, wide))).to(
            wide
        )
        if self.task.loss == "absolute":
            return (self.scores(z) - target_cosine).abs()
        return cosine_loss(self.part(z), self.upper_pole[self.axes], target_cosine)

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to the upper pole, shape (n,)."""
        return normalize(self.part(z).to(working_dtype(z.dtype)))[:, 0].clamp(-1, 1)

    def predict(self, z: Tensor) -> Tensor:
        """Return the number the cosine stands for."""
        check_directions(self.part(z))
        return self.task.from_cosine(self.scores(z))


def assign_axes(dim: int, tasks: Mapping[str, Task], *, separate: bool = False) -> dict[str, slice]:
    """Return the axes each task reads, or say why this layout cannot work.

    Separate tasks have blocks of their own, numbers too; eight axes are enough for those.

    >>> assign_axes(4, {"style": Classes(5), "year": Range(1500, 1900)})
    {'year': slice(0, 4, None), 'style': slice(1, 4, None)}
    """
    dim = check_integer(
        dim,
        "dim",
        at_least=2,
        reason="On one axis there are two directions and no way between them.",
    )
    ranges = {} if separate else range_tasks(tasks)
    start = len(ranges)
    if dim <= start:
        advice = "Each range takes one axis, and the last turns toward one more."
        raise InputError("dim", f"be at least {start + 1} for {start} ranges", dim, advice)
    axes = {name: slice(axis, dim) for axis, name in enumerate(ranges)}
    blocks = {name: task for name, task in tasks.items() if name not in ranges}
    for name, size in _block_sizes(dim - start, blocks).items():
        axes[name] = slice(start, start + size)
        start += size
    return axes


def _block_sizes(left: int, blocks: Mapping[str, Task]) -> dict[str, int]:
    """Assign the remaining axes to the tasks, one at a time in turn.

    A task is served while it has fewer than K-1 axes, in which its simplex fits, or a number fewer
    than eight; when all are served, what is left goes round again. Prototypes that were placed
    already take exactly their dimension.
    """
    asked = {
        name: task.classes if isinstance(task, Classes) else None for name, task in blocks.items()
    }
    sizes = {
        name: classes.dim if isinstance(classes, Prototypes) else 2
        for name, classes in asked.items()
    }
    free = [name for name, classes in asked.items() if not isinstance(classes, Prototypes)]
    enough = {
        name: t.num_classes - 1 if isinstance(t, Classes) else NUMBER_AXES
        for name, t in blocks.items()
    }
    spare = left - sum(sizes.values())
    if spare < 0 or min(sizes.values(), default=2) < 2:
        needs = ", ".join(f'"{name}" {max(2, size)}' for name, size in sizes.items())
        which = "tasks" if range_tasks(blocks) else "class tasks"
        raise InputError(
            "dim",
            f"leave the {which} {sum(max(2, n) for n in sizes.values())} axes ({needs})",
            left,
            "A block of one axis has no directions to choose from, and placed prototypes take their own dimension. "
            f"Raise {arg('dim')} by at least {max(1, -spare)}.",
        )
    if blocks and not free and spare:
        advice = f"Lower {arg('dim')} by {spare}, or place the prototypes in more dimensions."
        raise InputError(
            "dim", f"leave the given prototypes their {sum(sizes.values())} axes", left, advice
        )
    while spare and free:
        unfilled = [name for name in free if sizes[name] < enough[name]] or free
        for name in unfilled[:spare]:
            sizes[name] += 1
        spare -= min(spare, len(unfilled))
    return sizes
