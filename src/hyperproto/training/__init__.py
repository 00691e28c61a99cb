"""Shelf 7: one loop, and the folder it leaves behind."""

from hyperproto.training.evaluate import evaluate
from hyperproto.training.fit import fit
from hyperproto.training.loading import Loaded, RunRecord, load, read_run, rebuild
from hyperproto.training.run import Run

__all__ = ["Loaded", "Run", "RunRecord", "evaluate", "fit", "load", "read_run", "rebuild"]
