"""What a reader returns: inputs and targets as found, what they stand for, and drawing some of
them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto._core.processes import derive_seed
from hyperproto.data.augment import Augment
from hyperproto.data.image_files import ImageFiles
from hyperproto.data.preprocessing import Preprocessing, join_rows, take_rows
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.tasks import MISSING, Classes, Task, indexed

Unseen: TypeAlias = Literal["error", "missing"]


Inputs: TypeAlias = Tensor | ImageFiles


@dataclass(frozen=True, eq=False)
class Split:
    """Inputs and targets, by the names of the targets.

    Attributes
    ----------
    inputs : Tensor or ImageFiles
        Pixels as uint8, shape (n, channels, height, width); rows of a table as float32, shape (n,
        columns), not yet standardized, NaN where a cell is empty; features of images, of the same
        shape; or image files.
    targets : dict of Tensor
        Class ids as int64, -1 where missing; numbers as float64, NaN where missing. Shape (n,)
        each.
    origin : (Path, Tensor of int64, shape (n,)), optional
        Where they are rows of a table: its file, and which rows of it, counted from 0.
    """

    inputs: Inputs
    targets: dict[str, Tensor]
    origin: tuple[Path, Tensor] | None = None

    def __post_init__(self) -> None:
        for name, target in self.targets.items():
            if len(target) != len(self.inputs):
                got = f'{len(self.inputs)} inputs and {len(target)} of "{name}"'
                raise InputError("Inputs and targets", "have the same number of rows", got)

    def __len__(self) -> int:
        return len(self.inputs)

    def __deepcopy__(self, memo: object) -> "Split":
        """Return the split itself: nothing changes it, and torch copies no sparse tensor."""
        return self


@dataclass(frozen=True, eq=False)
class Source:
    """A data set as its publisher or its owner laid it out.

    Attributes
    ----------
    name : str
        Such as "cifar-100"; for people and for records.
    train, test : Split
        The official split; ``test`` is None where there is none.
    targets : dict of Task
        What can be predicted, by name: class names, or the bounds of a number in the training part.
    preprocessing : Preprocessing
        What is done to every input; it travels with the model.
    augment : Augment or None
        How the paper, or common practice, varies the training images.
    note : str
        What was chosen by looking at the data, and why; for people.
    """

    name: str
    train: Split
    test: Split | None
    targets: dict[str, Task]
    preprocessing: Preprocessing
    augment: Augment | None = None
    note: str = ""

    @property
    def labels(self) -> dict[str, Classes]:
        """The targets that have classes."""
        return indexed(self.targets)

    @property
    def class_counts(self) -> list[int]:
        """The number of classes of each of them."""
        return [known.num_classes for known in self.labels.values()]

    def map_splits(self, change: Callable[[Split], Split], targets: dict[str, Task]) -> "Source":
        """Return the source with both parts changed, and what can be predicted by then."""
        test = None if self.test is None else change(self.test)
        return replace(self, train=change(self.train), test=test, targets=targets)


def select(split: Split, ids: Tensor) -> Split:
    """Return the examples ``ids``, shape (m,) of int64, in that order."""
    inputs = split.inputs
    chosen = (
        take_rows(inputs, ids)
        if isinstance(inputs, Tensor)
        else ImageFiles(inputs[row] for row in ids.tolist())
    )
    origin = None if split.origin is None else (split.origin[0], split.origin[1][ids])
    return Split(chosen, {name: target[ids] for name, target in split.targets.items()}, origin)


def join(first: Split, second: Split) -> Split:
    """Return the examples of one part of a data set, then those of another."""
    targets = {
        name: torch.cat([target, second.targets[name]]) for name, target in first.targets.items()
    }
    if isinstance(first.inputs, Tensor):
        assert isinstance(second.inputs, Tensor)
        return Split(join_rows([first.inputs, second.inputs]), targets)
    return Split(ImageFiles([*first.inputs, *second.inputs]), targets)


def resized(source: Source, size: int) -> Source:
    """Have the network see another size; the padding of a random crop shrinks with the image."""
    before = source.preprocessing
    if not isinstance(before, ImagePreprocessing):
        raise InputError("image_size", "be left out for rows of a table", size)
    factor = size / before.size
    resize = size if before.resize is None else round(before.resize * factor)
    augment = source.augment
    if augment is not None and augment.padding:
        augment = replace(augment, padding=max(1, round(augment.padding * factor)))
    return replace(
        source, preprocessing=replace(before, size=size, resize=resize), augment=augment, note=""
    )


def draw_rows(labels: Tensor, count: int | Tensor, *, seed: int) -> Tensor:
    """Draw rows at random by class, in ascending order: the one stratified draw.

    ``count`` is how many rows in all, each class of ``labels``, shape (n,), in its share, where -1,
    a missing label, counts as a class of its own; or how many of each class, shape (num_classes,).

    >>> draw_rows(torch.tensor([0, 0, 0, 0, 1, 1]), 3, seed=0)
    tensor([2, 3, 5])
    """
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    classes = labels[order] + 1
    sizes = torch.bincount(classes)
    by_class = torch.argsort(classes, stable=True)
    rank = torch.empty_like(classes)  # of each row among those of its class, in random order
    rank[by_class] = torch.arange(len(classes)) - (sizes.cumsum(0) - sizes)[classes[by_class]]
    if isinstance(count, Tensor):
        return order[rank < count[classes - 1]].sort().values
    depth = (rank.double() + 0.5) / sizes[classes]
    return order[torch.argsort(depth, stable=True)][:count].sort().values


def hold_out_rows(
    labels: Sequence[Tensor], n: int, *, share: float, seed: int
) -> tuple[Tensor, Tensor]:
    """Split ``n`` rows at random into training and held-out rows, both in the order of the file.

    The share, in [0, 1), is taken from each class of the first labels (shape (n,), -1 where
    missing); a class of any of them that would be held out whole stays in training with at least
    one row.
    """
    if check_finite_number(share, "held_out", at_least=0) >= 1:
        raise InputError("held_out", "be less than 1, a share of the rows", f"{share:g}")
    first = labels[0] if labels else torch.zeros(n, dtype=torch.int64)
    _, groups, sizes = torch.unique(first, return_inverse=True, return_counts=True)
    counts = torch.minimum((sizes * share).round(), sizes - 1).long()
    is_out = torch.zeros(n, dtype=torch.bool)
    is_out[draw_rows(groups, counts, seed=derive_seed(seed, "held out"))] = True
    for ids in labels:
        lost = is_out & ~torch.isin(ids, ids[~is_out]) & (ids != MISSING)
        kept = {int(ids[row]): row for row in lost.nonzero().flatten().tolist()}
        is_out[list(kept.values())] = False
    return (~is_out).nonzero().flatten(), is_out.nonzero().flatten()
