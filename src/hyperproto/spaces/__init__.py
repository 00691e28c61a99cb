"""Shelf 6: the spheres that tasks share."""

from typing import TYPE_CHECKING, Any

from hyperproto.spaces.output_space import OutputSpace, Targets, TaskSpace
from hyperproto.spaces.space import Space, Sphere
from hyperproto.tasks.top_k import TopK

if TYPE_CHECKING:
    from hyperproto.spaces.composite import CompositeSpace

__all__ = ["CompositeSpace", "OutputSpace", "Space", "Sphere", "Targets", "TaskSpace", "TopK"]


def __getattr__(name: str) -> Any:
    if name != "CompositeSpace":
        raise AttributeError(f"module 'hyperproto.spaces' has no attribute {name!r}")
    from hyperproto.spaces.composite import CompositeSpace

    return CompositeSpace
