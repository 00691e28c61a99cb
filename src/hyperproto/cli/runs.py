"""``hyperproto runs``: a table of runs."""

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from hyperproto.cli.console import print_table

if TYPE_CHECKING:
    from hyperproto.evaluation import RunRow


@dataclass
class Runs:
    """List the runs in a folder and below: what was trained, how far it is, how good it is."""

    folder: Annotated[Positional[Path], arg(metavar="FOLDER")] = Path("runs")
    """The folder to search."""

    sort: Annotated[str, arg(metavar="MEASURE")] = "name"
    """Sort by name, seconds, or a measure such as class/accuracy, the best first."""

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """List and print."""
        from hyperproto.evaluation import list_runs, sort_runs

        rows = sort_runs(list_runs(self.folder), self.sort)
        if self.json:
            print(json.dumps([row.to_dict() for row in rows]))
        elif not rows:
            print(f'No runs in "{self.folder}". hyperproto train --folder RUN makes one.')
        else:
            _show(rows)


def _show(rows: "list[RunRow]") -> None:
    from hyperproto.training.run import describe_measures

    cells = []
    for row in rows:
        # a number and its unit stay on one line
        measures = (
            describe_measures(values).replace("  ", "\n").replace(" %", "\N{NO-BREAK SPACE}%")
            for values in (row.last, row.best)
        )
        trained, epochs = (
            f"{row.data}\n{row.network}\n{row.space}",
            f"{row.epochs}/{row.total_epochs}\n{row.state}",
        )
        about = (trained, epochs, *measures, str(timedelta(seconds=round(row.seconds))))
        cells.append((row.name, *(("damaged",) if row.state == "damaged" else about)))
    print_table(cells, "run", "trained", "epochs", "last", "best", "time")
    for row in rows:
        if row.reason:
            print(f"{row.name} is damaged: {row.reason}")
