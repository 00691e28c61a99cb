"""``hyperproto evaluate``: how good a stored run is, and where it fails."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from hyperproto._core.files import Plain
from hyperproto.cli.console import print_table

if TYPE_CHECKING:
    from hyperproto.evaluation import Evaluation, OpenRun


@dataclass(kw_only=True)
class StoredRun:
    """A run, and which of its weights."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    def open(self) -> "OpenRun":
        """Open the run."""
        from hyperproto.evaluation import open_run

        return open_run(self.run_folder, which=self.which)


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

    def options(self) -> Plain:
        """Return keywords that evaluating and calibrating share."""
        return {name: getattr(self, name) for name in ("split", "unseen", "skip_corrupt")}


@dataclass
class Evaluate(RunAndData):
    """Measure a stored run: accuracy, calibration, the worst classes, frequent mistakes, quantiles
    of errors.
    """

    worst: int = 10
    """How many classes to list, those with the lowest recall first."""

    pairs: int = 10
    """How many of the most frequent mistakes to list."""

    unknown: Annotated[Path | None, arg(metavar="PATH")] = None
    """Inputs of none of the classes, a folder of images or a table: measure how well they are
    detected.
    """

    def run(self) -> None:
        """Evaluate and print."""
        from hyperproto._core.checks import check_integer
        from hyperproto.evaluation import evaluate_run

        check_integer(self.worst, "worst", at_least=0)
        options = {"pairs": self.pairs, "unknown": self.unknown, **self.options()}
        evaluation = evaluate_run(self.open(), self.data, **options)
        print(json.dumps(evaluation.to_dict())) if self.json else _show(evaluation, self.worst)


def _show(evaluation: "Evaluation", worst: int) -> None:
    from hyperproto.evaluation import ClassReport
    from hyperproto.report.measures import (
        CLASS_HEADINGS,
        PAIR_HEADINGS,
        class_rows,
        describe_evaluation,
        pair_rows,
    )

    title, measures = describe_evaluation(evaluation)
    print(title)
    print_table(measures)
    for name, report in evaluation.tasks.items():
        if isinstance(report, ClassReport):
            title, rows = class_rows(report, worst)
            print_table(rows, *CLASS_HEADINGS, title=f"{name}: {title}")
            print_table(pair_rows(report), *PAIR_HEADINGS, title=f"{name}: most frequent mistakes")
