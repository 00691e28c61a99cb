"""What is read and what a method gets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["text", "table", "images"]
Values = dict[str, NDArray[Any]]  # of the targets: "class", "number", or both


@dataclass(frozen=True)
class Images:
    """Images by their features, shape (n, features), and by ids that ``read`` turns into (n, 3,
    PIXELS, PIXELS).
    """

    features: NDArray[np.float32]
    ids: NDArray[Any]
    read: Callable[[NDArray[Any]], NDArray[np.uint8]]

    def __getitem__(self, rows: NDArray[Any]) -> "Images":
        return Images(self.features[rows], self.ids[rows], self.read)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.features.shape


class Loaded(NamedTuple):
    """Inputs, targets by name, and which examples are the publisher's test set,
    where there is one.
    """

    inputs: Any
    targets: Values
    test: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Fold:
    """What a method gets: inputs to train and to answer, the targets of both, and a seed."""

    kind: Kind
    train: Any
    train_targets: Values
    test: Any
    test_targets: Values
    seed: int
