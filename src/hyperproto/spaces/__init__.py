"""Shelf 6: the spheres that tasks share."""

from hyperproto.spaces.output_space import OutputSpace, Targets, TaskSpace
from hyperproto.spaces.space import Space
from hyperproto.tasks.top_k import TopK

__all__ = ["OutputSpace", "Space", "Targets", "TaskSpace", "TopK"]
