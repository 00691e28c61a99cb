"""``hyperproto doctor``: what is wrong with a stored run, the evidence, and what to do."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.evaluation import Examination


@dataclass
class Doctor:
    """Check a run for what goes wrong in practice: collapsed outputs, too few dimensions, a bad learning rate."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Data to check outputs on (default: the run's own)."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Examine and print."""
        from hyperproto.evaluation import examine_run

        found = examine_run(self.run_folder, self.data, which=self.which)
        if self.json:
            print(json.dumps(found.to_dict()))
        else:
            _show(found)


def _show(found: "Examination") -> None:
    from hyperproto._core.errors import HyperprotoError

    for finding in found.findings:
        print(f"{finding.severity}: {finding.name}\n  {finding.message}\n  {finding.advice}")
    if not found.findings:
        print("Nothing found.")
    print(f"Checked for {_listed(found.checked)}.")
    if found.unchecked:
        error = found.problem
        reason = error.format(_option) if isinstance(error, HyperprotoError) else str(error)
        print(f"Not checked, without outputs: {_listed(found.unchecked)}. {reason}")


def _option(name: str, value: str) -> str:
    return f"--{name.replace('_', '-')} {value}".strip()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
