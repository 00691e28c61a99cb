"""``hyperproto doctor``: what is wrong with a stored run, how one sees it, and what to do."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.evaluation import Examination

__all__ = ["Doctor"]


@dataclass
class Doctor:
    """Look for what goes wrong in practice: collapsed outputs, too few dimensions, a learning rate far off."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    data: Annotated[Path | None, arg(metavar="PATH")] = None
    """Data to look at outputs on, unless the run knows its own."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    json: bool = False
    """Print for machines."""

    def run(self) -> None:
        """Examine and print."""
        from hyperproto.evaluation import examination_of

        found = examination_of(self.run_folder, self.data, which=self.which)
        if self.json:
            print(json.dumps(found.to_dict()))
        else:
            _show(found)


def _show(found: "Examination") -> None:
    for finding in found.findings:
        print(f"{finding.severity}: {finding.name}")
        print(f"  {finding.says}")
        print(f"  {finding.advice}")
    if not found.findings:
        print("Nothing found.")
    print(f"Looked for {_listed(found.looked_for)}.")
    if found.not_looked_for:
        print(f"Not looked for, as no outputs could be seen: {_listed(found.not_looked_for)}. {found.reason}")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
