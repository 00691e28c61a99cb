"""Beyond the paper: is the distance between Equation 1 and softmax one of losses or of settings?"""

from typing import Any

from reproduction.cell import Cell, at_scale, paper_cell
from reproduction.experiment import Entry, Experiment
from reproduction.rates import with_softmax

CIFAR = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100, prototypes="paper")
SOFTMAX, OURS = "Softmax CE", "Equation 1"
PRINTED: dict[str, Any] = {"lr": 0.01}
PLAIN: dict[str, Any] = {"backbone_options": {}}
ONE_CYCLE: dict[str, Any] = {"schedule": "one-cycle"}
MEANS = CIFAR.but(kind="deep-ncm", prototypes=None, reduction="mean", **PRINTED)
COSINES = CIFAR.but(loss="cosine_softmax", loss_options={"scale": 1.0}, reduction="mean", **PRINTED)
CHANGED: dict[
    str, tuple[Cell, dict[str, Any]]
] = {  # of the cells of the scale, in the order in which they are run
    f"{SOFTMAX}, as printed: rate 0.01": (with_softmax(CIFAR), PRINTED),
    f"{OURS}, weight decay 0.001": (CIFAR, {"weight_decay": 1e-3}),
    f"{OURS}, weight decay 0.01": (CIFAR, {"weight_decay": 1e-2}),
    f"{SOFTMAX}, without feature norm": (with_softmax(CIFAR), PLAIN),
    f"{OURS}, without feature norm": (CIFAR, PLAIN),
    f"{SOFTMAX}, one cycle": (with_softmax(CIFAR), ONE_CYCLE),
    f"{OURS}, one cycle": (CIFAR, ONE_CYCLE),
    "Softmax CE over cosines, no scale, as printed: rate 0.01": (COSINES, PRINTED),
    "Softmax CE over cosines, no scale, rate 0.3": (COSINES, {"lr": 0.3}),
    **{
        f"Deep NCM, {mean}, rate 0.01": (MEANS.but(mean=mean), PRINTED)
        for mean in ("condensation", "decay", "online")
    },
}


def entries(scale: str) -> list[Entry]:
    """Return a row for each setting, at scale "medium" alone: 12 cells of 4 minutes x 3 seeds."""
    if scale != "medium":
        return []
    tuned = {f"{SOFTMAX}, rate searched": with_softmax(CIFAR), f"{OURS}, rate searched": CIFAR}
    cells = {row: at_scale(cell, scale) for row, cell in tuned.items()}
    cells |= {row: at_scale(cell, scale).but(**new) for row, (cell, new) in CHANGED.items()}
    return [
        Entry(row, "CIFAR-100", cell, "class/accuracy", beyond=True) for row, cell in cells.items()
    ]


EXPERIMENT = Experiment(
    name="beyond-settings",
    title="Equation 1 and softmax with other settings: accuracy (%) on CIFAR-100, D = 100",
    entries=entries,
    compare=(f"{OURS}, rate searched", f"{SOFTMAX}, rate searched"),
    notes=(
        "The paper trains both at a rate of 0.01. Our Equation 1 is summed over the batch and softmax is averaged, "
        "a step 128 times smaller at one rate.",
    ),
)
