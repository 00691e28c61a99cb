"""Beyond the paper: a quarter of the dimensions given time. One seed: curves without a verdict."""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment
from reproduction.rates import with_default, with_softmax

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100, prototypes="paper")
ROWS = {
    "Softmax CE": with_softmax(CIFAR),
    "Equation 1, D = 100": CIFAR,
    "Equation 1, D = 25": CIFAR.but(dim=25),
    "Free norm, axes of the data-driven prior, D = 25": with_default(CIFAR.but(dim=25)),
}
EPOCHS = 100


def entries(scale: str) -> list[Entry]:
    """Return one curve per row, at scale "medium" alone: 4 cells of 15 minutes of one core."""
    if scale != "medium":
        return []
    cells = {row: at_scale(cell, scale).but(epochs=EPOCHS) for row, cell in ROWS.items()}
    return [
        Entry(row, f"{EPOCHS} epochs", cell, "class/accuracy", beyond=True)
        for row, cell in cells.items()
    ]


EXPERIMENT = Experiment(
    name="beyond-long",
    title="Longer runs: accuracy (%) on CIFAR-100 after every one of 100 epochs, ResNet-8 at 16 pixels",
    entries=entries,
    figure="curves",
    num_seeds=1,
)
