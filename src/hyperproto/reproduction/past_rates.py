"""How the learning rates of scale "medium" were chosen: three for every loss, on held-out training images."""

from hyperproto.reproduction.cell import at_scale
from hyperproto.reproduction.experiment import Entry, Experiment
from hyperproto.reproduction.rates import SEARCHED, trials


def entries(scale: str) -> list[Entry]:
    """Return one row per trial, at scale "medium" alone: 9 cells of 5 minutes of one core."""
    if scale not in ("medium", "smoke"):
        return []
    every = [(loss, lr, cell) for loss in SEARCHED for lr, cell in trials(loss).items()]
    if scale == "smoke":
        every = [(loss, lr, at_scale(cell, scale)) for loss, lr, cell in every[::3]]
    return [Entry(f"{loss}, rate {lr:g}", "held out", cell, "class/accuracy", past=True) for loss, lr, cell in every]


EXPERIMENT = Experiment(
    name="past-rates",
    title="Learning rates of scale medium: accuracy (%) on 5,000 held-out training images of CIFAR-100",
    entries=entries,
    num_seeds=1,
    notes=("One seed, 10 of 30 epochs. The best rate of each loss is that of every cell of scale medium.",),
)
