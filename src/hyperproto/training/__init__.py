"""Shelf 8: from a description to a trained run, and the folder it leaves behind."""

from hyperproto.spec import DataSpec, NetworkSpec, RunSpec, SpaceSpec, TrainSettings
from hyperproto.training.fit import fit
from hyperproto.training.load import RunRecord, load, read_run, rebuild
from hyperproto.training.outputs import evaluate, network_outputs
from hyperproto.training.run import Run
from hyperproto.training.train import resume_run, train

__all__ = [
    "DataSpec",
    "NetworkSpec",
    "Run",
    "RunRecord",
    "RunSpec",
    "SpaceSpec",
    "TrainSettings",
    "evaluate",
    "fit",
    "load",
    "network_outputs",
    "read_run",
    "rebuild",
    "resume_run",
    "train",
]
