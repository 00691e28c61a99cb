"""Shelf 6: the spheres that tasks share."""

from hyperproto.spaces.composite import CompositeSpace
from hyperproto.spaces.output_space import OutputSpace, Targets, TaskSpace
from hyperproto.spaces.space import Space, Sphere
from hyperproto.tasks.top_k import TopK

__all__ = ["CompositeSpace", "OutputSpace", "Space", "Sphere", "Targets", "TaskSpace", "TopK"]
