"""Shelf 7: one loop, and the folder it leaves behind."""

from hyperproto.spec import DataSpec, NetworkSpec, RunSpec, SpaceSpec, TrainSettings
from hyperproto.training.evaluate import evaluate
from hyperproto.training.fit import fit
from hyperproto.training.loading import Loaded, RunRecord, load, read_run, rebuild
from hyperproto.training.recipe import Recipe, describe_data, read_data, resume_run, train
from hyperproto.training.run import Run

__all__ = [
    "DataSpec",
    "Loaded",
    "NetworkSpec",
    "Recipe",
    "Run",
    "RunRecord",
    "RunSpec",
    "SpaceSpec",
    "TrainSettings",
    "describe_data",
    "evaluate",
    "fit",
    "load",
    "read_data",
    "read_run",
    "rebuild",
    "resume_run",
    "train",
]
