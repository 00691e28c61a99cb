"""``hyperproto evaluate``: how good a stored run is, and where it fails."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.evaluation import ClassReport, Evaluation


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
    from hyperproto.report.measures import describe_evaluation

    print_rows(*describe_evaluation(evaluation))
    for name, report in evaluation.tasks.items():
        if isinstance(report, ClassReport):
            _show_classes(name, report, worst)


def _show_classes(name: str, report: "ClassReport", worst: int) -> None:
    from hyperproto.cli.console import table_console, text_table
    from hyperproto.report.measures import percent, worst_classes

    there = [row for row in report.classes if row.support]
    listed = [report.classes[index] for index in worst_classes(report, worst)]
    if listed:
        title = "all classes" if len(listed) == len(there) else f"the {len(listed)} worst of {len(there)} classes"
        rows = [(row.name, f"{row.support:,}", percent(row.recall), percent(row.precision)) for row in listed]
        headings = "class", "examples", "recall", "precision"
        table_console().print(text_table(rows, *headings, title=f"{name}: {title}"))
    if report.pairs:
        rows = [(pair.label, pair.predicted, f"{pair.count:,}", percent(pair.share)) for pair in report.pairs]
        headings = "true", "predicted", "count", "of its class"
        table_console().print(text_table(rows, *headings, title=f"{name}: most frequent mistakes"))
