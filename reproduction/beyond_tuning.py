"""Beyond the paper: how the settings of short runs were chosen, on training images that were held
out.

Softmax and the sphere at each of its dimensions get the same number of trials, one seed each, at a
quarter of the pixels of the short runs they are chosen for: eight of a quarter of the steps, and
three of nine tenths of them, which decide. The test images are not used.
"""

from reproduction.cell import NORMED, Cell, at_scale, paper_cell
from reproduction.experiment import Entry, Experiment

# depth 8, one cycle, the mean over the batch: the protocol of the short runs
SHORT = paper_cell(
    reader="cifar-100",
    backbone="resnet-8",
    epochs=5,
    schedule="one-cycle",
    reduction="mean",
    lr=0.1,
    dim=100,
)
TRIAL = SHORT.but(image_size=16, train_examples=20_000, valid_examples=5_000, epochs=3)
LONG = SHORT.but(image_size=16, valid_examples=5_000, backbone_options=NORMED)
SOFTMAX, FULL, SPHERE = "Softmax CE", "Sphere, D = 100", "Sphere, D = {}"
FEW = (25, 10, 5)
TRIALS = 8  # for softmax, and for the sphere at each dimension
RATES = (0.2, 0.4)


def _cosine(cell: Cell, scale: float, lr: float) -> tuple[str, Cell]:
    """Return a trial of cosine softmax, and what it is called."""
    name = f"cosine softmax, scale {scale:g}, rate {lr:g}"
    return name, cell.but(loss="cosine_softmax", loss_options={"scale": scale}, lr=lr)


def _cauchy(cell: Cell, power: float, width: float, lr: float) -> tuple[str, Cell]:
    """Return a trial of Cauchy softmax, and what it is called."""
    name = f"Cauchy softmax, power {power:g}, width {width:g}, rate {lr:g}"
    return name, cell.but(
        loss="cauchy_softmax", loss_options={"power": power, "width": width}, lr=lr
    )


def trials() -> dict[tuple[str, str], Cell]:
    """Return eight trials for each row, by row and what is tried."""
    made: dict[tuple[str, str], Cell] = {}
    softmax = TRIAL.but(kind="conventional", dim=None)
    for lr in (0.1, 0.2, 0.4):
        made[SOFTMAX, f"rate {lr:g}"] = softmax.but(lr=lr)
        made[SOFTMAX, f"rate {lr:g}, features normed"] = softmax.but(lr=lr, backbone_options=NORMED)
    softmax = softmax.but(backbone_options=NORMED)
    made[SOFTMAX, "rate 0.3, features normed"] = softmax.but(lr=0.3)
    made[SOFTMAX, "rate 0.2, features normed, weight decay 5e-4"] = softmax.but(
        lr=0.2, weight_decay=5e-4
    )
    ours = TRIAL.but(prototypes="ours")
    name, cell = _cosine(ours, 16.0, 0.1)
    made[FULL, name] = cell
    for scale, lr in ((16.0, 0.1), (16.0, 0.2), (11.4, 0.1), (11.4, 0.2), (11.4, 0.4)):
        name, cell = _cosine(ours.but(backbone_options=NORMED), scale, lr)
        made[FULL, f"{name}, features normed"] = cell
    data_driven = TRIAL.but(prototypes="data-driven", backbone_options=NORMED)
    for name, cell in (_cauchy(data_driven, 4.0, 0.2, 0.3), _cosine(data_driven, 11.4, 0.2)):
        made[FULL, f"data-driven prior, {name}"] = cell
    for dim in FEW:
        few = data_driven.but(dim=dim)
        heavy = ((4.0, 0.2, 0.1), (4.0, 0.2, 0.3), (4.0, 0.05, 0.3), (8.0, 0.2, 0.3))
        made |= {
            (SPHERE.format(dim), name): cell
            for name, cell in (_cauchy(few, *values) for values in heavy)
        }
        for lr in (1.0, 0.3):
            made[SPHERE.format(dim), f"power 1/2, rate {lr:g}"] = few.but(
                loss="power_cosine", lr=lr
            )
        for name, cell in (_cosine(few, scale, 0.2) for scale in (8.0, 11.4)):
            made[SPHERE.format(dim), name] = cell
    return made


def long_trials() -> dict[tuple[str, str], Cell]:
    """Return three trials for each row, nearly as long as the runs: the best of the short ones, and
    free norm.
    """
    free = LONG.but(loss="free_norm_softmax")
    rows = {SOFTMAX: ("", LONG.but(kind="conventional", dim=None))}
    rows[FULL] = ("free norm, ", free.but(prototypes="ours"))
    for dim in FEW:
        rows[SPHERE.format(dim)] = (
            "projected prior, free norm, ",
            free.but(prototypes="projected", dim=dim),
        )
    made = {
        (row, f"5 epochs, {name}rate {lr:g}"): cell.but(lr=lr)
        for row, (name, cell) in rows.items()
        for lr in RATES
    }
    made[SOFTMAX, "5 epochs, rate 0.1"] = rows[SOFTMAX][1].but(lr=0.1)
    name, cell = _cosine(LONG.but(prototypes="ours"), 11.4, 0.2)
    made[FULL, f"5 epochs, {name}"] = cell
    for dim, lr in zip(FEW, (0.3, 0.1, 0.1), strict=True):
        cell = LONG.but(loss="cauchy_softmax", prototypes="data-driven", dim=dim, lr=lr)
        made[SPHERE.format(dim), f"5 epochs, data-driven prior, Cauchy softmax, rate {lr:g}"] = cell
    return made


def entries(scale: str) -> list[Entry]:
    """Return one row per trial; "full" and "cpu" are the same, 40 cells of 35 s and 15 of 130 s: 28
    minutes.
    """
    every = [
        (f"{row}: {trial}", cell) for (row, trial), cell in {**trials(), **long_trials()}.items()
    ]
    if scale == "smoke":
        every = [(row, at_scale(cell, scale)) for row, cell in every[::TRIALS]]
    return [Entry(row, "held out", cell, "class/accuracy", beyond=True) for row, cell in every]


EXPERIMENT = Experiment(
    name="beyond-tuning",
    title="Settings for short runs: accuracy (%) on 5,000 held-out training images of CIFAR-100",
    entries=entries,
    num_seeds=1,
    notes=(
        "Each row is one trial with one seed at 16 pixels: 20,000 images and 3 epochs, or, where it says so, 45,000 "
        "images and 5 epochs. Eleven trials for softmax, eleven for the sphere at each dimension.",
    ),
)
