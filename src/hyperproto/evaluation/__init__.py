"""Shelf 8: what one asks of a trained run."""

from hyperproto.evaluation.evaluate_run import evaluate_run
from hyperproto.evaluation.evaluation import ClassReport, ClassRow, Evaluation, Pair, RangeReport
from hyperproto.evaluation.predict_files import FilePredictions, predict_files
from hyperproto.evaluation.predictions import Answers, Predictions, predict_split
from hyperproto.evaluation.runs import RunRow, list_runs, sort_runs

__all__ = [
    "Answers",
    "ClassReport",
    "ClassRow",
    "Evaluation",
    "FilePredictions",
    "Pair",
    "Predictions",
    "RangeReport",
    "RunRow",
    "evaluate_run",
    "list_runs",
    "predict_files",
    "predict_split",
    "sort_runs",
]
