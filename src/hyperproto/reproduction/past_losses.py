"""Past the paper: losses by dimensions on frozen features, next to softmax and to softmax of the same rank.

Prototypes are ours: a simplex where there is room for one, else placed with the data-driven prior, its order kept.
"""

from typing import Any

from hyperproto.reproduction.cell import Cell, at_scale, paper_cell
from hyperproto.reproduction.experiment import Entry, Experiment
from hyperproto.reproduction.rates import with_softmax

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100)
DIMS = (100, 25, 10, 5)
SOFTMAX, RANK = "Softmax CE, 100 outputs", "Softmax CE behind D learned dimensions"
LOSSES: dict[str, dict[str, Any]] = {
    "Equation 1": {},
    "1 - cos": {"loss": "power_cosine", "loss_options": {"q": 1.0}},
    "Root of 1 - cos": {"loss": "power_cosine"},
    "Free norm": {"loss": "free_norm_softmax"},
    "Cosine softmax": {"loss": "cosine_softmax", "loss_options": {"scale": 16.0}},
}


def entries(scale: str) -> list[Entry]:
    """Return the table, at scale "head" alone: 24 cells of 30 s x 5 seeds of one core, an hour."""
    if scale not in ("head", "smoke"):
        return []
    # one run of softmax is shown in every column
    softmax, kinds = at_scale(with_softmax(CIFAR), "head"), {DIMS[0]: "ours"}
    made = [_entry(SOFTMAX, dim, softmax) for dim in DIMS]
    made += [_entry(RANK, dim, softmax.but(backbone_options={"bottleneck": dim})) for dim in DIMS[1:]]
    for row, loss in LOSSES.items():
        cells = {dim: CIFAR.but(dim=dim, prototypes=kinds.get(dim, "data-driven"), **loss) for dim in DIMS}
        made += [_entry(row, dim, at_scale(cell, "head")) for dim, cell in cells.items()]
    if scale == "smoke":
        return [_entry(entry.row, 3, at_scale(entry.cell, scale).but(lr=0.1)) for entry in made[-1::-4]]
    return made


def _entry(row: str, dim: int, cell: Cell) -> Entry:
    return Entry(row, f"D = {dim}", cell, "class/accuracy", past=True)


EXPERIMENT = Experiment(
    name="past-losses",
    title="Losses: accuracy (%) on CIFAR-100, a head of two layers on frozen features, by dimensions",
    entries=entries,
    compare=(SOFTMAX,),
    notes=(
        "Below D = 100 prototypes are placed with the data-driven prior. Softmax behind D learned dimensions has a "
        "linear layer of D outputs before its last one.",
    ),
)
