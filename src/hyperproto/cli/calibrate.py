"""``hyperproto calibrate``: let a stored run say how sure it is."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.evaluation import Calibration

__all__ = ["Calibrate"]

TELL = {
    "ece_before": "calibration error before",
    "ece": "calibration error",
    "coverage": "coverage",
    "set_size": "classes in a set",
    "width": "width of an interval",
    "rejection": "known called unknown",
}


@dataclass
class Calibrate:
    """Fit probabilities, prediction sets, intervals and when to say "unknown" on held-out data."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run; calibration.json is written there."""

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Held-out data, nothing that was trained on; the test part of the run's own unless given."""

    coverage: float = 0.9
    """How often sets and intervals must contain the truth."""

    reject: Annotated[float | None, arg(metavar="SHARE")] = None
    """Share of known inputs that may be called unknown, such as 0.05; without it none is."""

    split: Literal["test", "train", "all"] | None = None
    """Which part; the test part unless given, or all where the data has none."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    unseen: Literal["error", "missing"] = "error"
    """Whether an example of a class that the run does not know is an error, or left out."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read."""

    json: bool = False
    """Print for machines."""

    def run(self) -> None:
        """Fit, write, print."""
        from hyperproto._core.files import plain
        from hyperproto.evaluation import calibrate_run

        found = calibrate_run(
            self.run_folder,
            self.data,
            coverage=self.coverage,
            reject=self.reject,
            split=self.split,
            which=self.which,
            unseen=self.unseen,
            skip_corrupt=self.skip_corrupt,
        )
        if self.json:
            print(json.dumps(plain(found.to_dict())))
        else:
            _show(found)


def _show(found: "Calibration") -> None:
    from rich.markup import escape
    from rich.table import Table

    from hyperproto.cli.console import table_console

    console, table = table_console(), Table(show_header=False)
    where = f"{found.origin['data']}, {found.origin['split']}"
    title = f"Calibrated on {found.examples:,} examples ({where}). By halves, each fitted on the other:"
    if not found.measures:
        title = f"Calibrated on {found.examples:,} examples ({where}), too few to measure by halves."
    console.print(escape(title), soft_wrap=True, highlight=False)
    for name, value in found.measures.items():
        task, _, measure = name.rpartition("/")
        shares = measure in ("ece_before", "ece", "coverage", "rejection")
        label = f"{task}: {TELL[measure]}" if task else TELL[measure]
        table.add_row(escape(label), f"{100 * value:.2f} %" if shares else f"{value:.4g}")
    if found.measures:
        console.print(table)
