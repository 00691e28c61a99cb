"""Which axes of the output each task reads.

Axes are dealt in order, ranges first. A range owns one axis and measures its cosine over that axis and all later
ones, so several ranges are spherical coordinates and every combination of their values can be reached. The axes
that remain are cut into one block per class task. One range and one class task is exactly the paper: the pole on
axis 0, the classes on the rest.
"""

from collections.abc import Mapping

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.prototypes import Prototypes
from hyperproto.spaces.tasks import Classes, Range, Task

__all__ = ["deal_axes"]


def deal_axes(dim: int, tasks: Mapping[str, Task]) -> dict[str, slice]:
    """Return the axes each task reads, or say why this layout cannot work.

    >>> deal_axes(4, {"style": Classes(5), "year": Range(1500, 1900)})
    {'year': slice(0, 4, None), 'style': slice(1, 4, None)}
    """
    dim = check_integer(
        dim, "dim", at_least=2, reason="On one axis there are two directions and no way between them."
    )
    ranges = [name for name, task in tasks.items() if isinstance(task, Range)]
    blocks = {name: task for name, task in tasks.items() if isinstance(task, Classes)}
    left = dim - len(ranges)
    if left < 1:
        raise InputError(
            f"{len(ranges)} ranges need at least {len(ranges) + 1} axes, one each and one to turn the last towards; "
            f"got dim={dim}."
        )
    axes = {name: slice(axis, dim) for axis, name in enumerate(ranges)}
    start = len(ranges)
    for name, size in _block_sizes(left, blocks).items():
        axes[name] = slice(start, start + size)
        start += size
    return axes


def _block_sizes(left: int, blocks: Mapping[str, Classes]) -> dict[str, int]:
    """Deal the remaining axes to the class tasks, one at a time in turn.

    A task is served while it has fewer than K-1 axes, in which its simplex fits; when all are served, what is
    left goes round again. Prototypes that were placed already take exactly their dimension.
    """
    sizes = {name: task.classes.dim if isinstance(task.classes, Prototypes) else 2 for name, task in blocks.items()}
    free = [name for name, task in blocks.items() if not isinstance(task.classes, Prototypes)]
    spare = left - sum(sizes.values())
    if spare < 0 or min(sizes.values(), default=2) < 2:
        needs = ", ".join(f'"{name}" {max(2, size)}' for name, size in sizes.items())
        raise InputError(
            f"The class tasks need {sum(max(2, n) for n in sizes.values())} axes ({needs}), and {left} are there "
            "for them. A block of one axis has no directions to choose from, and placed prototypes take their own "
            f"dimension. Raise dim by at least {max(1, -spare)}."
        )
    if blocks and not free and spare:
        raise InputError(
            f"The given prototypes use {sum(sizes.values())} axes, but {left} are there for classes. "
            f"Lower dim by {spare}, or place the prototypes in more dimensions."
        )
    while spare and free:
        hungry = [name for name in free if sizes[name] < blocks[name].num_classes - 1] or free
        for name in hungry[:spare]:
            sizes[name] += 1
        spare -= min(spare, len(hungry))
    return sizes
