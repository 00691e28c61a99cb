"""``hyperproto doctor``: what is wrong with a stored run, the evidence, and what to do."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from hyperproto.cli.evaluate import StoredRun

if TYPE_CHECKING:
    from hyperproto.evaluation import Examination


@dataclass
class Doctor(StoredRun):
    """Check a run for what goes wrong in practice: collapsed outputs, too few dimensions, a bad
    learning rate.
    """

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Data to check outputs on (default: the run's own)."""

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Examine and print."""
        from hyperproto.evaluation import examine_run

        examination = examine_run(
            self.run_folder if self.which == "last" else self.open(), self.data
        )
        if self.json:
            print(json.dumps(examination.to_dict()))
        else:
            _show(examination)


def _show(examination: "Examination") -> None:
    from hyperproto.training.run import describe_measures

    for finding in examination.findings:
        print(f"{finding.severity}: {finding.name}\n  {finding.message}\n  {finding.advice}")
    if not examination.findings:
        print("Nothing found.")
    print(f"Checked for {_listed(examination.checked)}.")
    if examination.measures:
        print(
            f"On {examination.part} data: "
            f"{describe_measures(examination.measures, examination.baseline)}"
        )
    if examination.problem is not None:
        print(
            f"Not checked, without outputs: {_listed(examination.unchecked)}. {examination.problem}"
        )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
