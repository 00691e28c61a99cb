"""``hyperproto calibrate``: fit the confidence of a stored run."""

import json
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from hyperproto.cli.console import print_table
from hyperproto.cli.evaluate import RunAndData
from hyperproto.defaults import COVERAGE

LABELS = {
    "ece_before": "calibration error before",
    "ece": "calibration error",
    "coverage": "coverage",
    "set_size": "classes in a set",
    "width": "width of an interval",
    "rejection": "known called unknown",
}


@dataclass
class Calibrate(RunAndData):
    """Fit probabilities, sets, intervals and a threshold for unknown inputs on data that was not
    trained on.
    """

    coverage: float = COVERAGE
    """How often sets and intervals must contain the truth."""

    reject: Annotated[float | None, arg(metavar="SHARE")] = None
    """Share of known inputs that may be called unknown, such as 0.05 (default: none is)."""

    def run(self) -> None:
        """Fit, write, print."""
        from hyperproto._core.files import plain
        from hyperproto.evaluation import calibrate_run
        from hyperproto.report.measures import percent

        options = {"coverage": self.coverage, "reject": self.reject, **self.options()}
        calibration = calibrate_run(self.open(), self.data, **options)
        if self.json:
            return print(json.dumps(plain(calibration.to_dict())))
        halves = ". Each half measured by a fit to the other:"
        how = halves if calibration.measures else ", too few to measure by halves."
        where = f"{calibration.origin['data']}, {calibration.origin['split']}"
        rows = []
        for name, value in calibration.measures.items():
            task, _, measure = name.rpartition("/")
            label = f"{task}: {LABELS[measure]}" if task else LABELS[measure]
            rows.append(
                (label, f"{value:.4g}" if measure in ("set_size", "width") else percent(value))
            )
        print(f"Calibrated on {calibration.examples:,} examples ({where}){how}")
        return print_table(rows)
