"""Shelf 9: evaluate, calibrate, examine, change and export trained runs, and predict with them."""

from hyperproto.evaluation import confidence
from hyperproto.evaluation.calibrate import calibrate_run
from hyperproto.evaluation.class_change import Changed, ClassChange
from hyperproto.evaluation.confidence import Calibration, ConfidenceReport
from hyperproto.evaluation.doctor import Examination, examine_run
from hyperproto.evaluation.evaluate import (
    ClassReport,
    ClassRow,
    Evaluation,
    Pair,
    RangeReport,
    TaskReport,
    evaluate_run,
)
from hyperproto.evaluation.export import export_run
from hyperproto.evaluation.findings import Finding
from hyperproto.evaluation.new_classes import add_classes, remove_classes, rename_classes
from hyperproto.evaluation.predict import (
    FilePredictions,
    TaskPredictions,
    predict_files,
    predict_split,
)
from hyperproto.evaluation.run_data import OpenRun, open_run
from hyperproto.evaluation.runs import RunRow, list_runs, sort_runs

__all__ = [
    "Calibration",
    "Changed",
    "ClassChange",
    "ClassReport",
    "ClassRow",
    "ConfidenceReport",
    "Evaluation",
    "Examination",
    "FilePredictions",
    "Finding",
    "OpenRun",
    "Pair",
    "RangeReport",
    "RunRow",
    "TaskPredictions",
    "TaskReport",
    "add_classes",
    "calibrate_run",
    "confidence",
    "evaluate_run",
    "examine_run",
    "export_run",
    "list_runs",
    "open_run",
    "predict_files",
    "predict_split",
    "remove_classes",
    "rename_classes",
    "sort_runs",
]
