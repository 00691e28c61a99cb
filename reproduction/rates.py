"""Learning rates of the scales "medium" and "head": for every loss the best of a few, on held-out
training images.

From scratch a loss has three or four rates, searched once on CIFAR-100 and for every run on other
data. On frozen features, where a trial takes seconds, they are searched for every data set and
number of dimensions, on one set of prototypes: ours, with the data-driven prior where there are
fewer dimensions than a simplex needs; and once for all kinds of class means.
"""

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError
from reproduction.cell import NUM_CLASSES, Cell, at_scale, paper_cell
from reproduction.descents import DESCENTS
from reproduction.records import find_record

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100)
HELD_OUT, EPOCHS = 5_000, 10
SMALL, HELD_OUT_OF_SMALL = ("cifar-100-uneven", "cub-200-2011", "omniart"), 1_000
NEAREST = {3: 5}  # dimensions that take the rate of others


def with_softmax(cell: Cell) -> Cell:
    """Return a cell with a learned linear layer and softmax cross-entropy,
    averaged over the batch.
    """
    return cell.but(kind="conventional", dim=None, prototypes=None, reduction="mean")


def with_cosine_softmax(cell: Cell) -> Cell:
    """Return a cell with cross-entropy over 16 cos: averaged, at the rate that was measured for
    softmax.
    """
    return cell.but(loss="cosine_softmax", loss_options={"scale": 16.0}, reduction="mean", lr=0.1)


def with_default(cell: Cell) -> Cell:
    """Return a cell with what is chosen by default below D = K - 1: free norm, and the data-driven
    prior's axes.
    """
    return cell.but(loss="free_norm_softmax", prototypes="projected", reduction="mean")


SEARCHED: dict[str, tuple[Cell, tuple[float, ...]]] = {
    "Equation 1": (CIFAR.but(prototypes="paper"), (0.003, 0.01, 0.03, 0.1)),
    "Softmax CE": (with_softmax(CIFAR), (0.01, 0.03, 0.1, 0.3)),
    "Cosine softmax": (with_cosine_softmax(CIFAR.but(prototypes="ours")), (0.03, 0.1, 0.3)),
    "Free norm": (with_default(CIFAR.but(dim=25)), (0.03, 0.1, 0.3)),
}
"""On CIFAR-100 from scratch, by loss: a cell of scale "full", and the rates to try."""
OTHER_RATES = {"sum": (0.001, 0.003, 0.01), "mean": (0.03, 0.1, 0.3)}
"""On other data from scratch, by how a loss is reduced over the batch."""
FEATURE_RATES = {
    "one cosine": (0.3, 1.0, 3.0, 10.0),
    "softmax of cosines": (0.1, 0.3, 1.0, 3.0),
    "softmax": (
        0.03,
        0.1,
        0.3,
        1.0,
    ),  # of logits, of products with outputs of any length, or of distances to means
    "squared error": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
}
"""On frozen features, where all losses are averaged, by kind of loss: smaller where it is steeper
and may diverge.
"""
SUMMED = 100
"""What the rates of a summed loss are divided by; its batches have 256 rows."""
PAINTING_RATES = {"one cosine": (30.0,), "squared error": (1.0,)}
"""Tried on paintings in addition, where the largest of those above was the best."""
MARGINS: dict[str, tuple[dict[str, float], ...]] = {
    "arcface": ({"scale": 64.0}, {"scale": 16.0}, {"scale": 16.0, "margin": 0.1}),
    "cosface": ({"scale": 64.0}, {"scale": 16.0}, {"scale": 16.0, "margin": 0.1}),
}
"""That losses with a margin are tried with, where a cell leaves them open."""
DECAYS, LENGTHS = (1e-4, 1e-2), (20, 60)
"""Weight decays and epochs that are tried where a cell leaves them open; each is trained for half."""
WEIGHTS = (0.1, 0.5)  # of the year, that two heads are tried with
NAMES = {
    "squared_cosine": "Equation 1",
    "cosine_softmax": "Cosine softmax",
    "free_norm_softmax": "Free norm",
    "power_cosine": "Power {q:g}",
    "ntce": "NTCE",
    "nonl": "NONL",
    "arcface": "ArcFace",
    "cosface": "CosFace",
}


WHERE = {"learned": " on learned vectors", "reassigned": ", classes reassigned"}


def loss_of(cell: Cell) -> str:
    """Return what the loss of a cell is called; from scratch, which search it
    takes its rate from.
    """
    space = cell.run.space
    if space.kind == "deep-ncm":
        return "Deep NCM"
    if space.kind == "conventional":
        return "Squared error" if cell.run.data.tasks == ("year",) else "Softmax CE"
    name = NAMES.get(space.loss, space.loss).format(**{"q": 0.5} | space.loss_options)
    return name + WHERE.get(space.kind or "", "")


def trials(cell: Cell) -> list[Cell]:
    """Return a trial for each rate: one seed, on held-out images; from scratch ten epochs, of heads
    half of them.

    What else is left open is tried with every rate: the weight of two heads, margins, weight decay
    and epochs.
    """
    data, space = cell.run.data, cell.run.space
    if cell.scale == "medium" and data.reader.startswith(CIFAR.run.data.reader):
        if loss_of(cell) not in SEARCHED:
            raise InputError(
                "scale", f"be one at which a rate of {loss_of(cell)} is searched", '"medium"'
            )
        full, rates = SEARCHED[loss_of(cell)]
        short = at_scale(full, "medium").but(valid_examples=HELD_OUT, epochs=EPOCHS)
        return [short.but(lr=rate) for rate in rates]
    if cell.scale == "head":
        rates = FEATURE_RATES[_kind(cell)]
        if data.reader == "omniart":
            rates += PAINTING_RATES.get(_kind(cell), ())
        if cell.run.train.reduction == "sum":
            rates = tuple(rate / SUMMED for rate in rates)
    else:
        rates = OTHER_RATES[cell.run.train.reduction or "sum"]
    short = cell.but(
        valid_examples=HELD_OUT_OF_SMALL if data.reader in SMALL else HELD_OUT,
        epochs=EPOCHS,
        seed=0,
    )
    if space.prototypes not in (None, *DESCENTS) and cell.scale == "head":
        dim = NEAREST.get(space.dim or 0, space.dim or 0)
        has_room = dim + 1 >= NUM_CLASSES.get(data.reader, 0)
        placed = {
            "prototypes": "ours" if has_room else "data-driven",
            "placement_steps": 10_000,
            "placement_seed": 0,
        }
        short = short.but(dim=dim, **placed)
    if space.kind == "deep-ncm":
        short = short.but(mean="condensation")
    open_weight = space.kind == "conventional" and data.reader == "omniart" and not data.tasks
    weights = WEIGHTS if open_weight and space.task_weight is None else (space.task_weight,)
    # a margin that is left open is searched with the rate
    options = (space.loss_options,) if space.loss_options else MARGINS.get(space.loss, ({},))
    given = cell.run.train
    decays = DECAYS if given.weight_decay is None else (given.weight_decay,)
    lengths = [length // 2 for length in (LENGTHS if given.epochs is None else (given.epochs,))]
    if cell.scale == "head":
        shorter = [short.but(epochs=n, weight_decay=decay) for n in lengths for decay in decays]
    else:
        shorter = [short]
    return [
        short.but(lr=rate, task_weight=weight, loss_options=chosen)
        for short in shorter
        for chosen in options
        for weight in weights
        for rate in rates
    ]


def _kind(cell: Cell) -> str:
    data, space = cell.run.data, cell.run.space
    if space.kind == "conventional" and data.reader == "omniart" and data.tasks in ((), ("year",)):
        return "squared error"
    # with a large scale a softmax of cosines is as steep as one of logits
    steep = ("free_norm_softmax", *MARGINS)
    if space.kind in ("conventional", "deep-ncm") or space.loss in steep:
        return "softmax"
    return (
        "one cosine" if space.loss in ("squared_cosine", "power_cosine") else "softmax of cosines"
    )


def score(measures: Mapping[str, Any]) -> float:
    """Return how good a trial is: its accuracy; an error counts against it, a year as much as a
    point.
    """
    values = {name: value for name, value in measures.items() if value is not None}
    right = sum(value for name, value in values.items() if name.endswith("/accuracy"))
    wrong = sum(value for name, value in values.items() if name.endswith("/mae"))
    return right - wrong / 100 if values else -float("inf")


def with_best_rate(cell: Cell, results: Path) -> Cell:
    """Return a cell whose rate is None with that of its best trial, and its weight, if records have
    all trials.
    """
    if cell.run.train.lr is not None or cell.job != "train":
        return cell
    tried = [(trial, find_record(results, trial)) for trial in trials(cell)]
    scored = [(score(record["measures"]), trial.run) for trial, record in tried if record]
    if len(scored) < len(tried):
        return cell
    best = max(scored, key=itemgetter(0))[1]
    weight, given = cell.run.space.task_weight, cell.run.train
    decay = best.train.weight_decay if given.weight_decay is None else given.weight_decay
    return cell.but(
        lr=best.train.lr,
        weight_decay=decay,
        epochs=2 * (best.train.epochs or 0) if given.epochs is None else given.epochs,
        loss_options=best.space.loss_options,
        task_weight=best.space.task_weight if weight is None else weight,
    )
