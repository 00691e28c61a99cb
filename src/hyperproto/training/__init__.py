"""Shelf 7: one loop, and the folder it leaves behind."""

from hyperproto.training.evaluate import evaluate
from hyperproto.training.fit import fit
from hyperproto.training.run import Loaded, Run, load

__all__ = ["Loaded", "Run", "evaluate", "fit", "load"]
