"""Columns that give an answer away: one alone predicts what is to be predicted, nearly without
error.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hyperproto._core.arrays import Array
from hyperproto.data.preprocessing import is_sparse
from hyperproto.data.source import Source

EXPLAINED, TRIVIAL = 0.995, 0.95  # shares that a column gets right, and the most frequent class
BIN = 3  # rows of a number in a bin, more where they are equal
MOST_ROWS, FEWEST_ROWS = 4000, 20


class Giveaway(NamedTuple):
    """A column, the target that it gives away, and the share that it gets right: of classes, or of
    the variance of ranks.
    """

    column: str
    target: str
    share: float

    @property
    def message(self) -> str:
        """What was found, in a sentence."""
        return f'"{self.column}" alone predicts {100 * self.share:.1f} % of "{self.target}".'

    @property
    def advice(self) -> str:
        """What to do."""
        return "Learn without it (--columns) unless it is known before the answer is."


def find_giveaways(source: Source) -> Iterator[Giveaway]:
    """Find such columns among those that a table is learned from, in its training rows.

    A value is predicted by the other rows that have it: the most frequent class of theirs, or the
    mean rank of their numbers; numbers count as equal where they are neighbors.
    """
    inputs, encoder = source.train.inputs, source.preprocessing.encoder
    if encoder is None or is_sparse(inputs) or len(inputs) < FEWEST_ROWS:
        return
    order = np.random.default_rng(0).permutation(len(inputs))[:MOST_ROWS]
    rows = np.asarray(inputs)[order]
    answers = {n: _one_column(source.train.targets[n].numpy()[order]) for n in source.targets}
    start = 0
    for column in encoder.columns:
        block = rows[:, start : start + len(column.outputs)]
        start += block.shape[1]
        values = _values(block, column.kind == "categories", gaps=column.gaps)
        for name, known in source.targets.items():
            share = _explained(values, answers[name], is_class=known.reads != "number")
            if share >= EXPLAINED:
                yield Giveaway(column.name, name, share)


def _one_column(targets: Array) -> Array:
    """Return targets of shape (n,): masks as the ids of the different ones, -1 where missing."""
    if targets.ndim == 1:
        return targets
    ids = np.unique(targets, axis=0, return_inverse=True)[1].reshape(-1)
    return np.where(np.isnan(targets).any(axis=1), -1, ids)


def _values(block: Array, is_category: bool, *, gaps: bool) -> Array:
    """Return for each row of a column's encoded cells which value it has. Shape (n,)."""
    if is_category:
        return (np.cumsum(block, axis=1) == 0).sum(axis=1)  # the place of its one, if any
    numbers = np.where(block[:, -1] > 0, -np.inf, block[:, 0]) if gaps else block[:, 0]
    return np.searchsorted(np.sort(numbers), numbers) // BIN


def _explained(values: Array, answers: Array, *, is_class: bool) -> float:
    """Return which share of the answers the other rows of a value predict, 0 where a constant
    nearly does.
    """
    present = answers >= 0 if is_class else ~np.isnan(answers)
    values, answers = values[present], answers[present]
    if len(answers) < FEWEST_ROWS:
        return 0.0
    ids = np.unique(values, return_inverse=True)[1]
    if is_class:
        trivial = np.bincount(answers).max() >= TRIVIAL * len(answers)
        return 0.0 if trivial else _majority_share(ids, answers)
    ranks = np.searchsorted(np.sort(answers), answers) / len(answers)
    return 0.0 if np.ptp(ranks) == 0 else _mean_share(ids, ranks)


def _majority_share(ids: Array, classes: Array) -> float:
    """Return how often a class is the most frequent one of the other rows of its id."""
    counts = np.zeros((ids.max() + 1, classes.max() + 1), dtype=np.int16)
    np.add.at(counts, (ids, classes), 1)
    others = counts[ids]
    others[np.arange(len(ids)), classes] -= 1
    return float(((others.argmax(axis=1) == classes) & others.any(axis=1)).mean())


def _mean_share(ids: Array, numbers: Array) -> float:
    """Return which share of the variance the means of the other rows of an id explain."""
    others = np.bincount(ids)[ids] - 1
    sums = np.bincount(ids, weights=numbers)[ids] - numbers
    predicted = np.where(others > 0, sums / np.maximum(others, 1), numbers.mean())
    return 1 - float(np.square(predicted - numbers).mean() / numbers.var())
