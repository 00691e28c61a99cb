"""Shelf 5: the loss, the tasks, and the spaces they live in."""

from hyperproto.spaces.composite import CompositeSpace
from hyperproto.spaces.conventional import ConventionalSpace
from hyperproto.spaces.deep_ncm import DeepNCM
from hyperproto.spaces.default import default_loss
from hyperproto.spaces.free_norm import FreeNormSoftmax
from hyperproto.spaces.heavy_tails import CauchySoftmax, PowerCosine
from hyperproto.spaces.losses import (
    CosineSoftmax,
    SquaredCosine,
    cosine_loss,
    squared_cosine_grad,
    squared_cosine_loss,
)
from hyperproto.spaces.negatives import SampledCosineSoftmax
from hyperproto.spaces.protocol import OutputSpace, Targets
from hyperproto.spaces.space import Space
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.spaces.tasks import Classes, Range, tasks_for
from hyperproto.spaces.top_k import TopK
from hyperproto.spaces.weighing import weigh_tasks

__all__ = [
    "CauchySoftmax",
    "Classes",
    "CompositeSpace",
    "ConventionalSpace",
    "CosineSoftmax",
    "DeepNCM",
    "FreeNormSoftmax",
    "OutputSpace",
    "PowerCosine",
    "Range",
    "SampledCosineSoftmax",
    "Space",
    "SquaredCosine",
    "Targets",
    "TaskSpace",
    "TopK",
    "cosine_loss",
    "default_loss",
    "squared_cosine_grad",
    "squared_cosine_loss",
    "tasks_for",
    "weigh_tasks",
]
