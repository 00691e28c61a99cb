"""``hyperproto report``: one page about a stored run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Suppress, arg

from hyperproto.cli.evaluate import RunAndData


@dataclass
class Report(RunAndData):
    """Write one page about a stored run: curves, measures, confusions, reliability, neighbors,
    worst mistakes.
    """

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """The page to write (default: report.html in the folder of the run)."""

    json: Suppress[bool] = False

    def run(self) -> None:
        """Measure the run and write the page."""
        from hyperproto._core.errors import require
        from hyperproto.report import write_run_page

        require(
            "plotly", extra="plots", purpose="The report"
        )  # better to know now than after measuring
        path = self.output or self.run_folder / "report.html"
        write_run_page(self.open(), path, self.data, **self.options())
        print(f"{path}: a page to open in a browser; it needs no network.")
