"""``hyperproto report``: a table or figure from its records; nothing is trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.experiments.experiment import Experiment

__all__ = ["Report", "has_records", "show_report"]


@dataclass
class Report:
    """Print a table or figure from the records of its runs; write Markdown, CSV, LaTeX, HTML and pictures."""

    name: Annotated[Positional[str], arg(metavar="NAME")]
    """As for reproduce."""

    scale: Literal["full", "cpu", "smoke"] = "cpu"
    """Whose records."""

    results: Annotated[Path, arg(metavar="DIR")] = Path("results")
    """Where the records are; the report goes to reports/ in it."""

    def run(self) -> None:
        """Read, print, write."""
        from hyperproto.experiments.find import find_experiment

        show_report(find_experiment(self.name), self.scale, self.results)


def has_records(experiment: "Experiment", scale: str, results: Path) -> bool:
    """Whether any cell is done."""
    from hyperproto.experiments.records import find_record

    return any(find_record(results, spec, experiment.name) is not None for spec in experiment.cells(scale))


def show_report(experiment: "Experiment", scale: str, results: Path) -> None:
    """Print the table and say what was written."""
    from hyperproto._core.errors import InputError
    from hyperproto.cli.console import table_console
    from hyperproto.report.results import print_grid, write_report

    if not has_records(experiment, scale, results):
        raise InputError(
            f'There must be records of {experiment.name} at scale {scale} in "{results / "cells"}"; there are none. '
            f"Run hyperproto reproduce {experiment.name} --scale {scale} --data DIR first."
        )
    grid, written = write_report(experiment, scale, results, results / "reports")
    print_grid(grid, table_console())
    print(f"Written to {results / 'reports'}: " + ", ".join(path.name for path in written))
