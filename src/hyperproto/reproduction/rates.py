"""The learning rates of scale "medium": for every loss the best of three, on training images that are held out."""

from pathlib import Path

from hyperproto._core.errors import InputError
from hyperproto.reproduction.cell import Cell, at_scale, find_record, paper_cell

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100)
HELD_OUT, EPOCHS = 5_000, 10


def with_softmax(cell: Cell) -> Cell:
    """Return a cell with a learned linear layer and softmax cross-entropy, averaged over the batch."""
    return cell.but(kind="conventional", dim=None, prototypes=None, reduction="mean")


def with_cosine_softmax(cell: Cell) -> Cell:
    """Return a cell with cross-entropy over 16 cos: averaged, at the rate that was measured for softmax."""
    return cell.but(loss="cosine_softmax", loss_options={"scale": 16.0}, reduction="mean", lr=0.1)


SEARCHED = {
    "Equation 1": (CIFAR.but(prototypes="paper"), (0.01, 0.03, 0.1)),
    "Softmax CE": (with_softmax(CIFAR), (0.03, 0.1, 0.3)),
    "Cosine softmax": (with_cosine_softmax(CIFAR.but(prototypes="ours")), (0.03, 0.1, 0.3)),
}
"""By loss: a cell of scale "full", and the rates to try; Equation 1 is summed over the batch, the others averaged."""


def trials(loss: str) -> dict[float, Cell]:
    """Return a trial for each rate of a loss: one seed, ten epochs, measured on 5,000 held-out images."""
    cell, rates = SEARCHED[loss]
    short = at_scale(cell, "medium").but(valid_examples=HELD_OUT, epochs=EPOCHS)
    return {rate: short.but(lr=rate) for rate in rates}


def loss_of(cell: Cell) -> str:
    """Return which search a cell takes its rate from."""
    if cell.run.space.kind == "conventional":
        return "Softmax CE"
    return {"squared_cosine": "Equation 1", "cosine_softmax": "Cosine softmax"}[cell.run.space.loss]


def with_best_rate(cell: Cell, results: Path) -> Cell:
    """Return a cell whose rate is None with the best that the records of the search have for its loss."""
    if cell.run.train.lr is not None:
        return cell
    found = {rate: find_record(results, trial) for rate, trial in trials(loss_of(cell)).items()}
    scores = {rate: record["measures"].get("class/accuracy", 0.0) for rate, record in found.items() if record}
    if len(scores) < len(found):
        raise InputError(
            f'"{results / "cells"}"',
            f"hold the search for the learning rate of {loss_of(cell)}",
            f"{len(scores)} of {len(found)} trials",
            "Run hyperproto reproduce past-rates --scale medium --data DIR first.",
        )
    return cell.but(lr=max(scores, key=scores.__getitem__))
