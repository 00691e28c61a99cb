"""``hyperproto evaluate``: how good a stored run is, and on what it fails."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.evaluation import ClassReport, ConfidenceReport, Evaluation, RangeReport, UnknownReport

__all__ = ["Evaluate"]


@dataclass
class Evaluate:
    """Measure a stored run: accuracy, calibration, the worst classes, frequent mistakes, errors with quantiles."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Other data than the run's own; its classes are matched by name."""

    split: Literal["test", "train", "all"] | None = None
    """Which part; the test part unless given, or all where the data has none."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    worst: int = 10
    """How many classes to list, those with the lowest recall first; 0 lists none."""

    pairs: int = 10
    """How many of the most frequent mistakes to list."""

    unseen: Literal["error", "missing"] = "error"
    """Whether an example of a class that the run does not know is an error, or left out."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read."""

    unknown: Annotated[Path | None, arg(metavar="PATH")] = None
    """Inputs of none of the classes, a folder of images or a table: how well are they told from known ones?"""

    json: bool = False
    """Print for machines, all classes included."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write that to a JSON file."""

    def run(self) -> None:
        """Evaluate, print, write."""
        from hyperproto._core.checks import check_integer
        from hyperproto._core.files import check_can_write, write_json
        from hyperproto.evaluation import evaluate_run

        for name in ("worst", "pairs"):
            check_integer(getattr(self, name), f"--{name}", at_least=0)
        if self.output is not None:
            check_can_write(self.output)
        found = evaluate_run(
            self.run_folder,
            self.data,
            split=self.split,
            which=self.which,
            unseen=self.unseen,
            skip_corrupt=self.skip_corrupt,
            pairs=self.pairs,
            unknown=self.unknown,
        )
        if self.json:
            print(json.dumps(found.to_dict()))
        else:
            _show(found, self.worst)
        if self.output is not None:
            write_json(self.output, found.to_dict())


def _show(found: "Evaluation", worst: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    from hyperproto.cli.console import table_console
    from hyperproto.evaluation import RangeReport

    console, table = table_console(), Table(show_header=False)
    title = f"{found.run} ({found.which} epoch) on {found.data}, {found.split}: {found.examples:,} examples"
    console.print(escape(title), soft_wrap=True, highlight=False)
    for name, value in found.measures.items():
        table.add_row(escape(name), _percent(value) if name.endswith("accuracy") else f"{value:.4g}")
    for name, report in found.tasks.items():
        rows = _range_rows(report) if isinstance(report, RangeReport) else _class_rows(report, found.calibrated)
        for label, text in rows:
            table.add_row(escape(f"{name}: {label}"), text)
    for name, strange in found.unknown.items():
        for label, text in _unknown_rows(strange):
            table.add_row(escape(f"{name}: {label}"), text)
    if found.fitted_here:
        table.add_row("confidence", "was fitted on this very data, so it looks better than it is")
    if found.skipped:
        table.add_row("left out", escape(f"{len(found.skipped)} unreadable, the first {found.skipped[0]}"))
    console.print(table)
    for name, report in found.tasks.items():
        if not isinstance(report, RangeReport):
            _show_classes(console, name, report, worst)


def _percent(value: float) -> str:
    return "-" if value != value else f"{100 * value:.2f} %"


def _missing(report: Any) -> list[tuple[str, str]]:
    return [("without a label", f"{report.missing:,}")] if report.missing else []


def _class_rows(report: "ClassReport", calibrated: bool) -> list[tuple[str, str]]:
    rows = [("top-5 accuracy", _percent(report.top_5))] if report.top_5 == report.top_5 else []
    rows.append(("mean class accuracy", _percent(report.mean_class_accuracy)))
    return [*rows, *_confidence_rows(report.confidence, calibrated=calibrated), *_missing(report)]


def _confidence_rows(report: "ConfidenceReport | None", *, calibrated: bool) -> list[tuple[str, str]]:
    if report is None:
        return []
    how = "" if calibrated else " (not calibrated: hyperproto calibrate)"
    rows = [("calibration error", f"{_percent(report.calibration_error)}{how}")]
    if report.coverage == report.coverage:
        text = f"{_percent(report.coverage)}, with {report.set_size:.3g} classes"
        rows.append((f"coverage of sets, {_stated(report.stated_coverage)}", text))
    if report.rejection == report.rejection:
        rows.append((f"known called unknown, {_stated(report.stated_rejection)}", _percent(report.rejection)))
    return rows


def _stated(share: float) -> str:
    return f"stated {100 * share:g} %"


def _unknown_rows(found: "UnknownReport") -> list[tuple[str, str]]:
    rows = [
        ("unknown against known", f"{found.unknown:,} against {found.known:,}"),
        ("AUROC", _percent(found.auroc)),
        ("unknown let in with 95 % of known", _percent(found.fpr_at_95)),
        ("AUPR", _percent(found.aupr)),
        ("OSCR", _percent(found.oscr)),
    ]
    return (
        [*rows, ("unknown called unknown", _percent(found.rejection))] if found.rejection == found.rejection else rows
    )


def _range_rows(report: "RangeReport") -> list[tuple[str, str]]:
    rows = [(f"{level} % are off by at most", f"{error:.4g}") for level, error in report.quantiles.items()]
    rows.append(("mean of predicted - true", f"{report.bias:+.4g}"))
    if report.beyond:
        rows.append((f"true values beyond {report.low:g} to {report.high:g}", _percent(report.beyond)))
    held = report.confidence
    if held is not None:
        text = f"{_percent(held.coverage)}, {held.width:.4g} wide"
        rows.append((f"coverage of intervals, {_stated(held.stated_coverage)}", text))
    return rows + _missing(report)


def _show_classes(console: Any, name: str, report: "ClassReport", worst: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    there = [row for row in report.classes if row.support]
    listed = sorted(there, key=lambda row: row.recall)[:worst]
    if listed:
        title = "all classes" if len(listed) == len(there) else f"the {len(listed)} worst of {len(there)} classes"
        table = Table("class", "examples", "recall", "precision", title=escape(f"{name}: {title}"))
        for row in listed:
            table.add_row(escape(row.name), f"{row.support:,}", _percent(row.recall), _percent(row.precision))
        console.print(table)
    if report.pairs:
        table = Table("true", "taken for", "times", "of its class", title=escape(f"{name}: most frequent mistakes"))
        for pair in report.pairs:
            table.add_row(escape(pair.label), escape(pair.predicted), f"{pair.count:,}", _percent(pair.share))
        console.print(table)
