"""What an evaluation says, as rows of text: for the terminal and for pages."""

import math

from hyperproto.evaluation import ClassReport, ConfidenceReport, Evaluation, RangeReport
from hyperproto.tasks.task import higher_is_better
from hyperproto.training.outputs import not_better

CLASS_HEADINGS = ("class", "examples", "recall", "precision")
PAIR_HEADINGS = ("true", "predicted", "count", "of its class")


def percent(value: float) -> str:
    """Return a share as people read it; nothing for NaN, which stands for what was not measured.

    >>> percent(0.125), percent(float("nan"))
    ('12.50 %', '')
    """
    return "" if math.isnan(value) else f"{100 * value:.2f} %"


def describe_evaluation(evaluation: Evaluation) -> tuple[str, list[tuple[str, str]]]:
    """Return a title, and names and values of all measures, each next to that
    of the baseline.
    """
    rows, failed = [], not_better(evaluation.measures, evaluation.baseline)
    for name, value in evaluation.measures.items():
        write = percent if higher_is_better(name) else "{:.4g}".format
        comment = ": no better" if name in failed else ""
        rows.append(
            (
                name,
                f"{write(value)} (baseline {write(evaluation.baseline[name])}{comment})",
            )
        )
    for name, report in evaluation.tasks.items():
        task = {}
        if isinstance(report, ClassReport):
            task = _class_rows(report, evaluation.calibrated)
        elif isinstance(report, RangeReport):
            task = _range_rows(report)
        task["without a label"] = f"{report.missing:,}" if report.missing else ""
        if name in evaluation.unknown:
            task |= _unknown_rows(evaluation.unknown[name])
        rows += [(f"{name}: {label}", text) for label, text in task.items() if text]
    if evaluation.fitted_here:
        rows.append(("confidence", "was fitted on this very data, so it looks better than it is"))
    if evaluation.skipped:
        rows.append(
            ("left out", f"{len(evaluation.skipped)} unreadable, the first {evaluation.skipped[0]}")
        )
    data = f"{evaluation.data}, {evaluation.split}: {evaluation.examples:,} examples"
    return f"{evaluation.run} ({evaluation.which} epoch) on {data}", rows


def worst_classes(report: ClassReport, most: int) -> list[int]:
    """Return the ids of the classes that have examples, those with the lowest recall first."""
    there = [index for index, row in enumerate(report.classes) if row.support]
    return sorted(there, key=lambda index: report.classes[index].recall)[:most]


def class_rows(report: ClassReport, most: int) -> tuple[str, list[list[str]]]:
    """Return a title, and a row for each of the worst classes."""
    listed, there = worst_classes(report, most), sum(row.support > 0 for row in report.classes)
    title = (
        "all classes" if len(listed) == there else f"the {len(listed)} worst of {there:,} classes"
    )
    rows = (report.classes[index] for index in listed)
    return title, [
        [row.name, f"{row.support:,}", percent(row.recall), percent(row.precision)] for row in rows
    ]


def pair_rows(report: ClassReport) -> list[list[str]]:
    """Return a row for each of the most frequent mistakes."""
    return [
        [pair.label, pair.predicted, f"{pair.count:,}", percent(pair.share)]
        for pair in report.pairs
    ]


def _class_rows(report: ClassReport, calibrated: bool) -> dict[str, str]:
    rows = {
        "top-5 accuracy": percent(report.top_5),
        "mean class accuracy": percent(report.mean_class_accuracy),
    }
    if (confidence := report.confidence) is not None:
        hint = "" if calibrated else " (not calibrated: hyperproto calibrate)"
        rows["calibration error"] = f"{percent(confidence.calibration_error)}{hint}"
        rows |= _coverage("sets", confidence, f"{confidence.set_size:.3g} classes on average")
        label = f"known called unknown, stated {100 * confidence.stated_rejection:g} %"
        rows[label] = percent(confidence.rejection)
    return rows


def _range_rows(report: RangeReport) -> dict[str, str]:
    rows = {
        f"{level} % of errors are at most": f"{error:.4g}"
        for level, error in report.quantiles.items()
    }
    rows["mean of predicted - true"] = f"{report.bias:+.4g}"
    if report.beyond:
        rows[f"true values beyond {report.low:g} to {report.high:g}"] = percent(report.beyond)
    if report.confidence is not None:
        rows |= _coverage("intervals", report.confidence, f"{report.confidence.width:.4g} wide")
    return rows


def _coverage(kind: str, confidence: ConfidenceReport, size: str) -> dict[str, str]:
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
