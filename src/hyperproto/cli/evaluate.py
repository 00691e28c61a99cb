"""``hyperproto evaluate``: how good a stored run is, and where it fails."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.evaluation import ClassReport, ConfidenceReport, Evaluation, RangeReport


@dataclass(kw_only=True)
class StoredRun:
    """A run, and which of its weights."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""


@dataclass(kw_only=True)
class RunAndData(StoredRun):
    """A stored run, and data for it."""

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Data to use, with classes matched by name (default: the run's own)."""

    split: Literal["test", "train", "all"] | None = None
    """Which split (default: test, or all where the data has no test split)."""

    unseen: Literal["error", "missing"] = "error"
    """Whether an example of a class that the run does not know is an error, or left out."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read."""

    json: bool = False
    """Print JSON."""

    def options(self) -> dict[str, Any]:
        """Return keywords that evaluating and calibrating share."""
        return {name: getattr(self, name) for name in ("split", "which", "unseen", "skip_corrupt")}


@dataclass
class Evaluate(RunAndData):
    """Measure a stored run: accuracy, calibration, the worst classes, frequent mistakes, quantiles of errors."""

    worst: int = 10
    """How many classes to list, those with the lowest recall first."""

    pairs: int = 10
    """How many of the most frequent mistakes to list."""

    unknown: Annotated[Path | None, arg(metavar="PATH")] = None
    """Inputs of none of the classes, a folder of images or a table: measure how well they are detected."""

    def run(self) -> None:
        """Evaluate and print."""
        from hyperproto._core.checks import check_integer
        from hyperproto.evaluation import evaluate_run

        check_integer(self.worst, "worst", at_least=0)
        evaluation = evaluate_run(
            self.run_folder, self.data, pairs=self.pairs, unknown=self.unknown, **self.options()
        )
        print(json.dumps(evaluation.to_dict())) if self.json else _show(evaluation, self.worst)


def percent(value: float) -> str:
    """Return a share as people read it; nothing for NaN, which stands for what was not measured.

    >>> percent(0.125), percent(float("nan"))
    ('12.50 %', '')
    """
    return "" if math.isnan(value) else f"{100 * value:.2f} %"


def print_rows(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a title and a table of two columns, where there are rows."""
    from rich.markup import escape

    from hyperproto.cli.console import table_console, text_table

    console, table = table_console(), text_table(rows)
    console.print(escape(title), soft_wrap=True, highlight=False)
    if table.row_count:
        console.print(table)


def _show(evaluation: "Evaluation", worst: int) -> None:
    from hyperproto.evaluation import ClassReport
    from hyperproto.training.outputs import not_better

    rows, failed = [], not_better(evaluation.measures, evaluation.constant)
    for name, value in evaluation.measures.items():
        write = percent if name.endswith("accuracy") else "{:.4g}".format
        comment = ": no better" if name in failed else ""
        rows.append((name, f"{write(value)} (a constant answer {write(evaluation.constant[name])}{comment})"))
    for name, report in evaluation.tasks.items():
        task = _class_rows(report, evaluation.calibrated) if isinstance(report, ClassReport) else _range_rows(report)
        task["without a label"] = f"{report.missing:,}" if report.missing else ""
        if name in evaluation.unknown:
            task |= _unknown_rows(evaluation.unknown[name])
        rows += [(f"{name}: {label}", text) for label, text in task.items() if text]
    if evaluation.fitted_here:
        rows.append(("confidence", "was fitted on this very data, so it looks better than it is"))
    if evaluation.skipped:
        rows.append(("left out", f"{len(evaluation.skipped)} unreadable, the first {evaluation.skipped[0]}"))
    data = f"{evaluation.data}, {evaluation.split}: {evaluation.examples:,} examples"
    print_rows(f"{evaluation.run} ({evaluation.which} epoch) on {data}", rows)
    for name, report in evaluation.tasks.items():
        if isinstance(report, ClassReport):
            _show_classes(name, report, worst)


def _class_rows(report: "ClassReport", calibrated: bool) -> dict[str, str]:
    rows = {"top-5 accuracy": percent(report.top_5), "mean class accuracy": percent(report.mean_class_accuracy)}
    if (confidence := report.confidence) is not None:
        hint = "" if calibrated else " (not calibrated: hyperproto calibrate)"
        rows["calibration error"] = f"{percent(confidence.calibration_error)}{hint}"
        rows |= _coverage("sets", confidence, f"with {confidence.set_size:.3g} classes")
        label = f"known called unknown, stated {100 * confidence.stated_rejection:g} %"
        rows[label] = percent(confidence.rejection)
    return rows


def _range_rows(report: "RangeReport") -> dict[str, str]:
    rows = {f"{level} % of errors are at most": f"{error:.4g}" for level, error in report.quantiles.items()}
    rows["mean of predicted - true"] = f"{report.bias:+.4g}"
    if report.beyond:
        rows[f"true values beyond {report.low:g} to {report.high:g}"] = percent(report.beyond)
    if report.confidence is not None:
        rows |= _coverage("intervals", report.confidence, f"{report.confidence.width:.4g} wide")
    return rows


def _coverage(kind: str, confidence: "ConfidenceReport", size: str) -> dict[str, str]:
    coverage = percent(confidence.coverage)
    label = f"coverage of {kind}, stated {100 * confidence.stated_coverage:g} %"
    return {label: f"{coverage}, {size}" if coverage else ""}


def _unknown_rows(measures: dict[str, float]) -> dict[str, str]:
    return {
        "unknown and known inputs": f"{measures['unknown']:,} and {measures['known']:,}",
        "AUROC": percent(measures["auroc"]),
        "unknown accepted with 95 % of known": percent(measures["fpr_at_95"]),
        "AUPR": percent(measures["aupr"]),
        "OSCR": percent(measures["oscr"]),
        "unknown called unknown": percent(measures["rejection"]),
    }


def _show_classes(name: str, report: "ClassReport", worst: int) -> None:
    from hyperproto.cli.console import table_console, text_table

    there = [row for row in report.classes if row.support]
    listed = sorted(there, key=lambda row: row.recall)[:worst]
    if listed:
        title = "all classes" if len(listed) == len(there) else f"the {len(listed)} worst of {len(there)} classes"
        rows = [(row.name, f"{row.support:,}", percent(row.recall), percent(row.precision)) for row in listed]
        headings = "class", "examples", "recall", "precision"
        table_console().print(text_table(rows, *headings, title=f"{name}: {title}"))
    if report.pairs:
        rows = [(pair.label, pair.predicted, f"{pair.count:,}", percent(pair.share)) for pair in report.pairs]
        headings = "true", "predicted", "count", "of its class"
        table_console().print(text_table(rows, *headings, title=f"{name}: most frequent mistakes"))
