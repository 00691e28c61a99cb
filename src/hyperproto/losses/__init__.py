"""Shelf 4: the losses of a class task, and the one table of their names."""

from hyperproto.losses.class_loss import ClassLoss, Reduction
from hyperproto.losses.cosine import (
    PowerCosine,
    SquaredCosine,
    cosine_loss,
    squared_cosine_grad,
    squared_cosine_loss,
)
from hyperproto.losses.lookup import LOSSES, get_loss
from hyperproto.losses.sampled import SampledCosineSoftmax
from hyperproto.losses.softmax import CauchySoftmax, CosineSoftmax, FreeNormSoftmax

__all__ = [
    "LOSSES",
    "CauchySoftmax",
    "ClassLoss",
    "CosineSoftmax",
    "FreeNormSoftmax",
    "PowerCosine",
    "Reduction",
    "SampledCosineSoftmax",
    "SquaredCosine",
    "cosine_loss",
    "get_loss",
    "squared_cosine_grad",
    "squared_cosine_loss",
]
