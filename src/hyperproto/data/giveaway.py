"""Columns that give an answer away: one alone predicts what is to be predicted, nearly without
error.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto.data.preprocessing import TablePreprocessing, is_sparse
from hyperproto.data.source import Source

EXPLAINED, TRIVIAL = 0.995, 0.95  # shares that a column gets right, and the most frequent class
FOLDS, BIN = 5, 3  # rows of a number in a bin, more where they are equal
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
    """Find such columns among those that a table is learned from, out of fold, in its training
    rows.

    A value is predicted by the other rows that have it: the most frequent class of theirs, or the
    mean rank of their numbers; numbers count as equal where they are neighbors.
    """
    inputs = source.train.inputs
    prepared = source.preprocessing
    if not isinstance(prepared, TablePreprocessing) or not isinstance(inputs, torch.Tensor):
        return
    if is_sparse(inputs) or len(inputs) < FEWEST_ROWS:
        return
    order = np.random.default_rng(0).permutation(len(inputs))[:MOST_ROWS]
    rows = inputs.numpy()[order]
    answers = {name: source.train.targets[name].numpy()[order] for name in source.targets}
    start = 0
    for column in prepared.encoder.columns:
        block = rows[:, start : start + len(column.outputs)]
        start += block.shape[1]
        values = _values(block, column.kind == "categories", gaps=column.gaps)
        for name, known in source.targets.items():
            share = _explained(values, answers[name], is_class=known.reads == "index")
            if share >= EXPLAINED:
                yield Giveaway(column.name, name, share)


def _values(block: NDArray[Any], is_category: bool, *, gaps: bool) -> NDArray[np.int64]:
    """Return for each row of a column's encoded cells which value it has. Shape (n,)."""
    if is_category:
        return (np.cumsum(block, axis=1) == 0).sum(axis=1)  # the place of its one, if any
    numbers = np.where(block[:, -1] > 0, -np.inf, block[:, 0]) if gaps else block[:, 0]
    return np.searchsorted(np.sort(numbers), numbers) // BIN


def _explained(values: NDArray[np.int64], answers: NDArray[Any], *, is_class: bool) -> float:
    """Return which share of the answers their values predict, 0 where a constant nearly does, or
    too few do in the first fold.
    """
    present = answers >= 0 if is_class else ~np.isnan(answers)
    values, answers = values[present], answers[present]
    if len(answers) < FEWEST_ROWS:
        return 0.0
    ids = np.unique(values, return_inverse=True)[1]
    if is_class:
        if np.bincount(answers).max() >= TRIVIAL * len(answers):
            return 0.0
    else:
        answers = np.searchsorted(np.sort(answers), answers) / len(answers)
        if np.ptp(answers) == 0:
            return 0.0
    folds = np.empty_like(ids)
    folds[ids.argsort(kind="stable")] = (
        np.arange(len(ids)) % FOLDS
    )  # each value is in all it can be
    missed = np.zeros(FOLDS)
    for fold in range(FOLDS):
        out = folds == fold
        predict = _majority if is_class else _mean
        predicted = predict(ids[~out], answers[~out], ids.max() + 1)[ids[out]]
        errors = predicted != answers[out] if is_class else (predicted - answers[out]) ** 2
        missed[fold] = errors.mean() / (1.0 if is_class else answers.var())
        if missed[0] > 4 * (1 - EXPLAINED):
            return 0.0
    return 1 - float(missed.mean())


def _majority(ids: NDArray[np.int64], classes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the most frequent class of each id, where there is none that of all."""
    width = classes.max() + 1
    pairs, counts = np.unique(ids * width + classes, return_counts=True)
    pairs = pairs[counts.argsort(kind="stable")]  # the last one written stays
    found = np.full(size, np.bincount(classes).argmax())
    found[pairs // width] = pairs % width
    return found


def _mean(ids: NDArray[np.int64], numbers: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the mean number of each id, where there is none that of all."""
    counts = np.bincount(ids, minlength=size)
    sums = np.bincount(ids, weights=numbers, minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), numbers.mean())
