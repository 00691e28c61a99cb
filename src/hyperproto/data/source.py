"""What a reader returns: inputs and targets as found, and what they mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto.data.preprocessing import Augment, Preprocessing
from hyperproto.spaces import Classes, Range

__all__ = ["ImageFiles", "Source", "Split", "select"]


@dataclass(frozen=True)
class ImageFiles:
    """Images on disk, of any size, decoded when they are needed.

    ``paths`` may be a tuple; a million are better held by :class:`~hyperproto.data.stored.PathList`.
    """

    paths: Sequence[Path]

    def __len__(self) -> int:
        return len(self.paths)


Inputs: TypeAlias = Tensor | ImageFiles


@dataclass(frozen=True, eq=False)
class Split:
    """Inputs and, for each task's name, targets.

    Attributes
    ----------
    inputs : Tensor or ImageFiles
        Pixels as uint8, shape (n, channels, height, width); rows of a table as float32, shape (n, columns), not yet
        standardised, NaN where a cell is empty; or image files.
    targets : dict of Tensor
        Class ids as int64, -1 where missing; numbers as float64, NaN where missing. Shape (n,) each.
    """

    inputs: Inputs
    targets: dict[str, Tensor]

    def __post_init__(self) -> None:
        for name, target in self.targets.items():
            if len(target) != len(self.inputs):
                raise InputError(
                    f"Inputs and targets must have the same number of rows; got {len(self.inputs)} inputs and "
                    f'{len(target)} of "{name}".'
                )

    def __len__(self) -> int:
        return len(self.inputs)


def select(split: Split, ids: Tensor) -> Split:
    """Return the examples ``ids``, shape (m,) of int64, in that order."""
    inputs = split.inputs
    chosen = (
        ImageFiles(tuple(inputs.paths[i] for i in ids.tolist())) if isinstance(inputs, ImageFiles) else inputs[ids]
    )
    return Split(chosen, {name: target[ids] for name, target in split.targets.items()})


@dataclass(frozen=True, eq=False)
class Source:
    """A data set as its publisher or its owner laid it out.

    Attributes
    ----------
    name : str
        Such as "cifar-100"; for people and for records.
    train, test : Split
        The official split; ``test`` is None where there is none.
    tasks : dict of Classes or Range
        What is asked for, by name: class names, or the bounds of a number in the training part.
    preprocessing : Preprocessing
        What is done to every input; it travels with the model.
    augment : Augment or None
        How the paper, or common sense, varies the training images.
    """

    name: str
    train: Split
    test: Split | None
    tasks: dict[str, Classes | Range]
    preprocessing: Preprocessing
    augment: Augment | None = None
