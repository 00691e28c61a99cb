"""Shelf 5: the tasks, and the spheres they share."""

from hyperproto.spaces.composite import CompositeSpace
from hyperproto.spaces.protocol import OutputSpace, Targets
from hyperproto.spaces.space import Space
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.spaces.tasks import Classes, Range, tasks_for
from hyperproto.spaces.top_k import TopK

__all__ = ["Classes", "CompositeSpace", "OutputSpace", "Range", "Space", "Targets", "TaskSpace", "TopK", "tasks_for"]
