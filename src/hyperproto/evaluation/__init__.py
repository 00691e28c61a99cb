"""Shelf 8: what one asks of a trained run."""

from hyperproto.evaluation.calibrate_run import calibrate_run, read_calibration
from hyperproto.evaluation.confidence import (
    Calibration,
    ClassCalibration,
    Concentration,
    ConformalInterval,
    ConformalSets,
    Rejection,
    Temperature,
    outlier_score,
)
from hyperproto.evaluation.doctor import Examination, Finding, examination_of, examine_run
from hyperproto.evaluation.evaluate_run import evaluate_run
from hyperproto.evaluation.evaluation import ClassReport, ClassRow, Evaluation, Pair, RangeReport
from hyperproto.evaluation.fit_calibration import fit_calibration
from hyperproto.evaluation.new_classes import Changed, ClassChange, add_classes, remove_classes, rename_classes
from hyperproto.evaluation.predict_files import FilePredictions, predict_files
from hyperproto.evaluation.predictions import Answers, Predictions, predict_split
from hyperproto.evaluation.runs import RunRow, list_runs, sort_runs
from hyperproto.evaluation.sure_reports import IntervalReport, SureReport, UnknownReport

__all__ = [
    "Answers",
    "Calibration",
    "Changed",
    "ClassCalibration",
    "ClassChange",
    "ClassReport",
    "ClassRow",
    "Concentration",
    "ConformalInterval",
    "ConformalSets",
    "Evaluation",
    "Examination",
    "FilePredictions",
    "Finding",
    "IntervalReport",
    "Pair",
    "Predictions",
    "RangeReport",
    "Rejection",
    "RunRow",
    "SureReport",
    "Temperature",
    "UnknownReport",
    "add_classes",
    "calibrate_run",
    "evaluate_run",
    "examination_of",
    "examine_run",
    "fit_calibration",
    "list_runs",
    "outlier_score",
    "predict_files",
    "predict_split",
    "read_calibration",
    "remove_classes",
    "rename_classes",
    "sort_runs",
]
