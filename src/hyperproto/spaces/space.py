"""The sphere as an output space: prototypes and poles on it, and targets for the cosines to them.

Axes are assigned in order, poles first. A range owns one axis and measures its cosine over that
axis and all later ones, so several ranges are spherical coordinates and every combination of their
values can be reached. The axes that remain are cut into one block for each other task. One range
and one class task is exactly the paper: the pole on axis 0, the classes on the rest.

Separate spheres give every task axes of its own instead, on which the output is normalized by
itself. A number then says nothing about how much room classes have, and neither needs a margin.
"""

from collections.abc import Mapping
from typing import Literal, Self

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto import defaults
from hyperproto._core.checks import MOST, check_integer, check_output_width
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.losses import get_loss
from hyperproto.prototypes import Prototypes
from hyperproto.spaces.output_space import UNNAMED, TaskSpace, parse_tasks
from hyperproto.sphere import normalize
from hyperproto.tasks import Task, indexed
from hyperproto.tasks.head import Head
from hyperproto.tasks.top_k import TopK


class Space(TaskSpace):
    """One sphere for one task or several, laid out before training; an ``nn.Module`` without
    parameters.

    Called with outputs and targets it returns its loss, so it works wherever a PyTorch criterion
    does.

    Parameters
    ----------
    dim : int
        Width of the network's output. The sphere is S^(dim-1).
    task : Task, or a mapping from names to tasks, optional
        One task by itself takes and gives bare tensors. A mapping allows any name.
    separate : bool or "auto", default "auto"
        A sphere of its own for each task, all on one output, in place of one that the tasks share.
        The paper's is shared, and so is that of classes with the paper's loss; "auto" separates
        classes from numbers otherwise, where there are axes for that
        (:func:`hyperproto.defaults.choose_space`).
    **tasks : Task
        Tasks by name, any but the arguments above; targets, losses and predictions are then always
        dicts. :mod:`hyperproto.spaces.space` says which axes each task reads.

    Examples
    --------
    >>> from hyperproto.tasks import Classes, Range
    >>> space = Space(3, digit=Classes(["2", "3", "4", "5", "7"]), angle=Range(0, 180))
    >>> z = torch.tensor([[0.0, 2.0, 0.0], [-5.0, -1.0, 0.1]])
    >>> predictions = space.predict(z)
    >>> space.decode(predictions)["digit"], predictions["angle"].round()
    (['2', '4'], tensor([90.,  0.]))
    >>> assign_axes(12, Space(12, space.tasks, separate=True).tasks, separate=True)
    {'digit': slice(0, 4, None), 'angle': slice(4, 12, None)}
    """

    kind = "sphere"
    on_sphere = True

    def __init__(
        self,
        dim: int,
        task: Task | Mapping[str, Task] | None = None,
        *,
        separate: bool | Literal["auto"] = "auto",
        **tasks: Task,
    ) -> None:
        if isinstance(dim, Task):
            rule = "be a number of dimensions, before the tasks"
            raise InputTypeError("dim", rule, dim, "Write hp.Space(5, ...).")
        named, bare = parse_tasks(task, tasks, ("separate",))
        dim = check_integer(dim, "dim", at_least=1, at_most=MOST)
        if separate == "auto":
            _, separate = choose_layout(named, dim)
        self.separate = bool(separate)
        axes = assign_axes(dim, named, separate=self.separate)
        named = choose_losses(named, axes, separate=self.separate)
        heads: dict[str, Head] = {}
        for name, task in named.items():
            heads[name] = task.head(axes[name], dim)
        super().__init__(dim, heads, bare=bare, **({"separate": True} if separate else {}))

    def with_tasks(self, tasks: Mapping[str, Task]) -> Self:
        """Return such a space for other tasks by the same names."""
        given = tasks[UNNAMED] if self._bare else tasks
        return type(self)(self.dim, given, separate=self.separate)

    def project(self, z: Tensor) -> Tensor:
        """Return the outputs as points on the sphere, shape (n, dim); all of separate ones together
        have length 1. Behind the axes of an ``hp.Number`` comes its constant one.
        """
        check_output_width(z, self.dim)
        points = [
            normalize(functional.pad(z[:, axes], (0, int(anchored)), value=1.0))
            for axes, anchored in self._spheres()
        ]
        return points[0] if len(points) == 1 else torch.cat(points, dim=1) / len(points) ** 0.5

    @property
    def point_dim(self) -> int:
        """Width of :meth:`project`: ``dim``, and one for each sphere with a constant axis."""
        return self.dim + sum(anchored for _, anchored in self._spheres())

    def _spheres(self) -> list[tuple[slice, bool]]:
        """Return the axes of each sphere, in order, and whether a constant one is appended."""
        heads = self.named_heads().values()
        if self.separate:
            found = [(head.axes, head.anchored) for head in heads]
            return sorted(found, key=lambda sphere: sphere[0].start)
        return [(slice(0, self.dim), any(head.anchored for head in heads))]

    @torch.no_grad()
    def top_k(self, z: Tensor, k: int) -> dict[str, TopK] | TopK:
        """Return the k nearest classes of each output, exactly, in memory that does not grow with
        their number.

        Parameters
        ----------
        z : Tensor, shape (n, dim)
        k : int
            How many; all of them where a task has no more classes.

        Returns
        -------
        TopK of values (cosines) and ids, both of shape (n, k), best first and equals by their ids;
        one for each class task by name, or that of the one unnamed task.
        """
        check_output_width(z, self.dim)
        k = check_integer(k, "k", at_least=1)
        heads = self.named_heads()
        nearest = {name: heads[name].top_k(z, k) for name in indexed(self.tasks)}
        if not nearest:
            advice = "`predict` answers with those."
            raise InputError("A space for top_k", "have classes", "only numbers", advice)
        return self._as_given(nearest)

    @property
    def prototypes(self) -> dict[str, Prototypes] | Prototypes:
        """The prototypes of each class task, or of the one unnamed task."""
        found = {name: head.placed for name, head in self.named_heads().items()}
        return self._as_given({name: p for name, p in found.items() if p is not None})


def choose_layout(tasks: Mapping[str, Task], dim: int | None = None) -> tuple[int, bool]:
    """Return the width of an output for some tasks, enough for them where it is None, and whether
    each gets a sphere to itself: classes next to numbers do, but for the paper's loss.

    >>> from hyperproto.tasks import Classes, Number
    >>> choose_layout({"kind": Classes(10)}), choose_layout({"kind": Classes(10), "size": Number()})
    ((9, False), (17, True))
    """
    poles = sum(task.takes_pole for task in tasks.values())
    counts = [task.axes.enough + 1 for task in tasks.values() if not task.takes_pole]
    is_paper = "squared_cosine" in {loss_name(task) for task in indexed(tasks).values()}
    separate = not is_paper and defaults.choose_space(counts, poles, dim) == "spheres"
    if dim is None:
        dim = defaults.choose_dim(counts, poles, separate=separate)
    return dim, separate


def loss_name(task: Task) -> str:
    """Return the name of a task's loss of classes, "auto" where it is still to be chosen."""
    return getattr(task.loss, "name", "auto")


def choose_losses(
    tasks: Mapping[str, Task], axes: Mapping[str, slice], *, separate: bool
) -> dict[str, Task]:
    """Return tasks with the losses and margins that they leave open."""
    classes = indexed(tasks)
    named = {loss_name(task) for task in classes.values()} - {"auto"}
    given = max(named, default="auto")
    number_loss = defaults.choose_number_loss(given)
    kind = "spheres" if separate else "sphere"
    margin = defaults.choose_margin(kind, given, has_classes=bool(classes))
    found: dict[str, Task] = {}
    for name, task in tasks.items():
        size = axes[name].stop - axes[name].start
        loss, options = defaults.choose_loss(task.num_classes, size)
        found[name] = task.resolved(
            class_loss=get_loss(loss, **options), number_loss=number_loss, margin=margin
        )
    return found


def assign_axes(dim: int, tasks: Mapping[str, Task], *, separate: bool = False) -> dict[str, slice]:
    """Return the axes each task reads, or say why this layout cannot work.

    Separate tasks have blocks of their own, numbers too; eight axes are enough for those.

    >>> from hyperproto.tasks import Classes, Range
    >>> assign_axes(4, {"style": Classes(5), "year": Range(1500, 1900)})
    {'year': slice(0, 4, None), 'style': slice(1, 4, None)}
    """
    dim = check_integer(
        dim,
        "dim",
        at_least=2,
        reason="On one axis there are two directions and no way between them.",
    )
    poles = [name for name, task in tasks.items() if task.takes_pole and not separate]
    start = len(poles)
    if dim <= start:
        advice = "Each range takes one axis, and the last turns toward one more."
        raise InputError("dim", f"be at least {start + 1} for {start} ranges", dim, advice)
    axes = {name: slice(axis, dim) for axis, name in enumerate(poles)}
    blocks = {name: task for name, task in tasks.items() if name not in poles}
    for name, size in _block_sizes(dim - start, blocks).items():
        axes[name] = slice(start, start + size)
        start += size
    return axes


def _block_sizes(left: int, blocks: Mapping[str, Task]) -> dict[str, int]:
    """Assign the remaining axes to the tasks, one at a time in turn.

    A task is served while it has fewer axes than are enough for it; when all are served, what is
    left goes round again. Prototypes that were placed already take exactly their dimension.
    """
    wanted = {name: task.axes for name, task in blocks.items()}
    sizes = {name: axes.least for name, axes in wanted.items()}
    free = [name for name, axes in wanted.items() if not axes.fixed]
    spare = left - sum(sizes.values())
    if spare < 0 or min(sizes.values(), default=2) < 2:
        needs = ", ".join(f'"{name}" {max(2, size)}' for name, size in sizes.items())
        total = sum(max(2, size) for size in sizes.values())
        reason = "A block of one axis has no directions, and placed prototypes take their own."
        advice = f"{reason} Raise {arg('dim')} by at least {max(1, -spare)}."
        raise InputError("dim", f"leave the tasks {total} axes ({needs})", left, advice)
    if blocks and not free and spare:
        advice = f"Lower {arg('dim')} by {spare}, or place the prototypes in more dimensions."
        rule = f"leave the given prototypes their {sum(sizes.values())} axes"
        raise InputError("dim", rule, left, advice)
    while spare and free:
        unfilled = [name for name in free if sizes[name] < wanted[name].enough]
        served = (unfilled or free)[:spare]
        each = 1 if unfilled else spare // len(served)
        for name in served:
            sizes[name] += each
        spare -= each * len(served)
    return sizes
