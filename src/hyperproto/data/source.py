"""What a reader returns: inputs and targets as found, and what they mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, check_names
from hyperproto._core.errors import InputError
from hyperproto._core.registry import unknown_choice
from hyperproto.data.preprocessing import Augment, Preprocessing

__all__ = ["MISSING", "Bounds", "ImageFiles", "Labels", "Source", "Split", "Target", "select"]

MISSING = -1  # the class id of a label that is not there; for numbers it is NaN


@dataclass(frozen=True)
class Labels:
    """The classes that a target names.

    Attributes
    ----------
    names : sequence of str
        Two or more, all different; the class with id k is called ``names[k]``.
    """

    names: Sequence[str]

    def __post_init__(self) -> None:
        names = check_names(self.names)
        object.__setattr__(self, "names", names)
        if len(names) < 2:
            raise InputError("names", "hold two classes or more", len(names))

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.names)

    def encode(self, names: Sequence[str | None]) -> Tensor:
        """Return the ids of class names, shape (n,); None is a missing label."""
        ids = {name: index for index, name in enumerate(self.names)}
        for name in names:
            if name is not None and name not in ids:
                raise unknown_choice(name, ids, what="class")
        return torch.tensor([MISSING if name is None else ids[name] for name in names], dtype=torch.int64)

    def text(self, value: float) -> str:
        """Return one id as people read it."""
        return "-" if value == MISSING else self.names[int(value)]


@dataclass(frozen=True)
class Bounds:
    """The numbers that a target takes: those from ``low`` to ``high``.

    Other numbers count as the nearer bound in training, and are scored as they are in testing.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):  # plain floats: they are written down with a run
            object.__setattr__(self, name, check_finite_number(getattr(self, name), name))
        if not self.low < self.high:
            raise InputError(f"`low` must be less than `high`; got {self.low:g} and {self.high:g}.")

    def text(self, value: float) -> str:
        """Return one number as people read it."""
        return "-" if math.isnan(value) else f"{value:.4g}"


Target: TypeAlias = Labels | Bounds


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
    """Inputs and targets, by the names of the targets.

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
    targets : dict of Labels or Bounds
        What can be predicted, by name: class names, or the bounds of a number in the training part.
        :func:`hyperproto.spaces.tasks_for` makes tasks of them.
    preprocessing : Preprocessing
        What is done to every input; it travels with the model.
    augment : Augment or None
        How the paper, or common sense, varies the training images.
    """

    name: str
    train: Split
    test: Split | None
    targets: dict[str, Target]
    preprocessing: Preprocessing
    augment: Augment | None = None
