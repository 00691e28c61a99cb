"""Shelf 5: the tasks, and the spheres they share."""

from hyperproto.spaces.composite import CompositeSpace
from hyperproto.spaces.output_space import OutputSpace, Targets, TaskSpace
from hyperproto.spaces.space import Space, Sphere
from hyperproto.spaces.tasks import Classes, Range, tasks_for
from hyperproto.spaces.top_k import TopK

__all__ = [
    "Classes",
    "CompositeSpace",
    "OutputSpace",
    "Range",
    "Space",
    "Sphere",
    "Targets",
    "TaskSpace",
    "TopK",
    "tasks_for",
]
