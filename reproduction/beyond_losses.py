"""Beyond the paper: losses by dimensions on frozen features, next to softmax and to softmax of the
same rank.

Prototypes are ours: a simplex where there is room for one, else placed with the data-driven prior,
its order kept.
"""

from typing import Any

from reproduction.cell import Cell, at_scale, paper_cell
from reproduction.experiment import Entry, Experiment
from reproduction.rates import with_softmax

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100)
DIMS = (100, 25, 10, 5)
SOFTMAX, RANK = "Softmax CE, 100 outputs", "Softmax CE behind D learned dimensions"
PRIOR, AXES = "data-driven", "projected"
LOSSES: dict[
    str, tuple[dict[str, Any], dict[int, str]]
] = {  # the loss, and prototypes by dimensions
    "Equation 1": ({}, {100: "ours", 25: PRIOR, 10: PRIOR, 5: PRIOR}),
    "1 - cos": (
        {"loss": "power_cosine", "loss_options": {"q": 1.0}},
        {25: PRIOR, 10: PRIOR, 5: PRIOR},
    ),
    "Root of 1 - cos": ({"loss": "power_cosine"}, {25: PRIOR, 10: PRIOR, 5: PRIOR}),
    "Free norm": ({"loss": "free_norm_softmax"}, {100: "ours", 25: PRIOR, 10: PRIOR, 5: PRIOR}),
    "Free norm, axes of the prior kept": (
        {"loss": "free_norm_softmax"},
        {25: AXES, 10: AXES, 5: AXES},
    ),
    "Cosine softmax": ({"loss": "cosine_softmax", "loss_options": {"scale": 16.0}}, {100: "ours"}),
}


def entries(scale: str) -> list[Entry]:
    """Return the table, at scale "head" alone: 22 cells of 30 s x 5 seeds of one core, an hour."""
    if scale not in ("head", "smoke"):
        return []
    # one run of softmax is shown in every column
    softmax = at_scale(with_softmax(CIFAR), "head")
    made = [_entry(SOFTMAX, dim, softmax) for dim in DIMS]
    made += [
        _entry(RANK, dim, softmax.but(backbone_options={"bottleneck": dim})) for dim in DIMS[1:]
    ]
    for row, (loss, kinds) in LOSSES.items():
        cells = {dim: CIFAR.but(dim=dim, prototypes=kind, **loss) for dim, kind in kinds.items()}
        made += [_entry(row, dim, at_scale(cell, "head")) for dim, cell in cells.items()]
    if scale == "smoke":
        return [
            _entry(entry.row, 3, at_scale(entry.cell, scale).but(lr=0.1)) for entry in made[-1::-4]
        ]
    return made


def _entry(row: str, dim: int, cell: Cell) -> Entry:
    return Entry(row, f"D = {dim}", cell, "class/accuracy", beyond=True)


EXPERIMENT = Experiment(
    name="beyond-losses",
    title="Losses: accuracy (%) on CIFAR-100, a head of two layers on frozen features, by dimensions",
    entries=entries,
    compare=(SOFTMAX, RANK),
    notes=(
        "Below D = 100 prototypes are placed with the data-driven prior. Softmax behind D learned dimensions has a "
        "linear layer of D outputs before its last one.",
    ),
)
