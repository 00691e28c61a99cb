"""``hyperproto extend``: classes added to prototypes of a file, which stay unchanged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hyperproto.cli.place import (
    PriorOptions,
    check_outputs,
    read_classes,
    read_weight,
    show_prototypes,
)


@dataclass
class Extend(PriorOptions):
    """Add classes to the prototypes of a file: the old ones stay as they are."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """Prototypes, from hyperproto place -o FILE."""

    classes: Annotated[Positional[str], arg(metavar="CLASSES")]
    """The names of the new classes: a file with one per line, or a list with commas; where the old
    ones have no names, their number.
    """

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write all prototypes, old and new, to this safetensors file."""

    prior: Annotated[str | None, arg(metavar="FILE")] = None
    """What is known about the classes, old and new, as for hyperproto place: new ones go where it
    wants them.
    """

    prior_weight: Annotated[str, arg(metavar="W")] = "auto"
    """How much the prior counts against separation: a number from 0 on, or auto."""

    def run(self) -> None:
        """Extend, write, print what separation is left."""
        from hyperproto.prototypes import Prototypes

        check_outputs(self.output)
        prototypes = Prototypes.load(self.file).extend(
            read_classes(self.classes, several=False),
            prior=self.prior,
            prior_weight=read_weight(self.prior_weight),
            missing=self.missing,
            effort=self.effort,
            seed=self.seed,
        )
        show_prototypes(prototypes, self.output, {}, as_json=self.json)
