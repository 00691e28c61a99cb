"""Beyond the paper: what came after it, on the same features, by the same search, by dimensions.

Maximum class separation is the row "Free norm" at D = 100, and a fixed ETF with dot regression is
Equation 1 there, up to half of its rate: both ask for the simplex, which 100 classes have from 99
dimensions on.
"""

from typing import Any

from reproduction.beyond_losses import RANK, SOFTMAX
from reproduction.cell import Cell, at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, Printed
from reproduction.rates import with_softmax

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100)
DIMS = (100, 25, 10)
PLACED = {100: "ours", 25: "data-driven", 10: "data-driven"}  # as in beyond-losses
LEARNED: dict[str, Any] = {"kind": "learned"}
BASE, MOVED = "Equation 1 on DL2PA's prototypes", "DL2PA: the same, classes reassigned"
NORMED: dict[str, Any] = {"output_norm": True}
MOVING: dict[str, Any] = {"kind": "reassigned"}
GAUSSIAN: dict[str, Any] = {"prototypes": "gaussian"}
LOSSES: dict[str, dict[str, Any]] = {
    "Equation 1 (fixed ETF, dot regression at D = 100)": {},
    "Free norm (maximum class separation at D = 100)": {"loss": "free_norm_softmax"},
    "NTCE": {"loss": "ntce"},
    "NONL": {"loss": "nonl"},
    BASE: GAUSSIAN,
    MOVED: GAUSSIAN | MOVING,
    "ArcFace": LEARNED | {"loss": "arcface", "loss_options": {"scale": 64.0}},
    "CosFace": LEARNED | {"loss": "cosface", "loss_options": {"scale": 64.0}},
    "EBV: cosine softmax on its prototypes": {
        "prototypes": "equiangular",
        "loss": "cosine_softmax",
        "loss_options": {"scale": 1 / 0.07},
    },
    "NTCE on learned vectors": LEARNED | {"loss": "ntce"},
    "NONL on learned vectors": LEARNED | {"loss": "nonl"},
    f"{BASE}, output batch norm": GAUSSIAN | NORMED,
    f"{MOVED}, output batch norm": GAUSSIAN | MOVING | NORMED,
    "ArcFace, scale and margin searched": LEARNED | {"loss": "arcface"},
    "CosFace, scale and margin searched": LEARNED | {"loss": "cosface"},
}
# of ResNet-32 from scratch, by its README, which heads these columns "CIFAR-10" but repeats HPN's
# 51.1, 63.0 and 65.0 of CIFAR-100
PAPER = {MOVED: {100: (62.85,), 25: (64.63,), 10: (57.21,)}}


def entries(scale: str) -> list[Entry]:
    """Return the table, at scale "head" alone: 47 cells of 12 s x 5 seeds of one core, and their
    searches.
    """
    if scale not in ("head", "smoke"):
        return []
    softmax = at_scale(with_softmax(CIFAR), "head")
    made = [_entry(SOFTMAX, dim, softmax) for dim in DIMS]
    made += [
        _entry(RANK, dim, softmax.but(backbone_options={"bottleneck": dim})) for dim in DIMS[1:]
    ]
    for row, changes in LOSSES.items():
        for dim in DIMS:
            cell = CIFAR.but(**{"dim": dim, "prototypes": _placed(changes, dim), **changes})
            made.append(_entry(row, dim, at_scale(cell, "head")))
    if scale == "smoke":
        return [
            _entry(entry.row, 3, at_scale(entry.cell, scale).but(lr=0.1)) for entry in made[8::6]
        ]
    return made


def _placed(changes: dict[str, Any], dim: int) -> str | None:
    return None if changes.get("kind") == "learned" else PLACED[dim]


def _entry(row: str, dim: int, cell: Cell) -> Entry:
    printed = Printed.find(PAPER, row, dim)
    return Entry(row, f"D = {dim}", cell, "class/accuracy", printed, beyond=True)


EXPERIMENT = Experiment(
    name="beyond-successors",
    title="What came after: accuracy (%) on CIFAR-100, a head of two layers on frozen features, by dimensions",
    entries=entries,
    compare=(SOFTMAX, RANK, BASE),
    notes=(
        "In brackets is what DL2PA's README prints, of a ResNet-32 from scratch. NTCE and NONL print 76.7 and 76.5 % on "
        "ImageNet-1K next to 75.4 of cross-entropy (README of nc_by_design), with learned vectors.",
        "NTCE, NONL, Equation 1 and free norm share prototypes: a simplex at D = 100, the data-driven prior below. "
        "DL2PA and EBV have theirs, which know nothing of classes; ArcFace and CosFace learn theirs.",
        "Maximum class separation and a fixed ETF exist from D = K - 1 on, where they are our simplex: the rows that "
        "name them are of those methods at D = 100 only.",
    ),
)
