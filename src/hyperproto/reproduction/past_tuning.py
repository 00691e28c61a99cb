"""Past the paper: how the settings of short runs were chosen, on training images that were held out.

Softmax and the sphere at each of its dimensions get the same number of trials, one seed each, at a quarter of the
pixels of the short runs they are chosen for: eight of a quarter of the steps, and three of nine tenths of them, which
decide. The test images are not looked at.
"""

from dataclasses import replace

from hyperproto.reproduction.experiment import Entry, Experiment
from hyperproto.reproduction.spec import Options, Spec

__all__ = ["EXPERIMENT", "NORMED", "SHORT"]

NORMED: Options = (("feature_norm", True),)
# depth 8, one cycle, the mean over the batch: the protocol of the short runs
SHORT = Spec(data="cifar-100", network="resnet-8", epochs=5, schedule="one-cycle", reduction="mean", lr=0.1, dim=100)
TRIAL = replace(SHORT, size=16, train_images=20_000, held_out=5_000, epochs=3)
SOFTMAX, FULL = "Softmax CE", "Sphere, D = 100"
FEW = (25, 10, 5)
TRIALS = 8  # for softmax, and for the sphere at each dimension
LONG = replace(SHORT, size=16, held_out=5_000, network_options=NORMED)
RATES = (0.2, 0.4)


def _heavy(power: float, width: float) -> Options:
    return (("power", power), ("width", width))


def trials() -> dict[tuple[str, str], Spec]:
    """Return eight trials for each row, by row and what is tried."""
    conventional = replace(TRIAL, space="conventional", dim=None)
    sphere = replace(TRIAL, prototypes="ours", loss="softmax")
    made = {}
    for lr in (0.1, 0.2, 0.4):
        for normed, told in ((False, ""), (True, ", features normed")):
            options: Options = NORMED if normed else ()
            made[SOFTMAX, f"rate {lr:g}{told}"] = replace(conventional, lr=lr, network_options=options)
    made[SOFTMAX, "rate 0.3, features normed"] = replace(conventional, lr=0.3, network_options=NORMED)
    made[SOFTMAX, "rate 0.2, features normed, weight decay 5e-4"] = replace(
        conventional, lr=0.2, weight_decay=5e-4, network_options=NORMED
    )
    for lr, scale, normed in (
        (0.1, 16.0, False),
        (0.1, 16.0, True),
        (0.2, 16.0, True),
        (0.1, 11.4, True),
        (0.2, 11.4, True),
        (0.4, 11.4, True),
    ):
        told = f"cosine softmax, scale {scale:g}, rate {lr:g}{', features normed' if normed else ''}"
        options = NORMED if normed else ()
        made[FULL, told] = replace(sphere, lr=lr, loss_scale=scale, network_options=options)
    looked = replace(sphere, prototypes="examples", network_options=NORMED)
    made[FULL, "examples, Cauchy softmax, power 4, width 0.2, rate 0.3"] = replace(
        looked, loss="cauchy", lr=0.3, loss_options=_heavy(4.0, 0.2)
    )
    made[FULL, "examples, cosine softmax, scale 11.4, rate 0.2"] = replace(looked, lr=0.2, loss_scale=11.4)
    for dim in FEW:
        few = replace(TRIAL, prototypes="examples", dim=dim, network_options=NORMED)
        for power, width, lr in ((4.0, 0.2, 0.1), (4.0, 0.2, 0.3), (4.0, 0.05, 0.3), (8.0, 0.2, 0.3)):
            told = f"Cauchy softmax, power {power:g}, width {width:g}, rate {lr:g}"
            made[f"Sphere, D = {dim}", told] = replace(few, loss="cauchy", lr=lr, loss_options=_heavy(power, width))
        made[f"Sphere, D = {dim}", "power 1/2, rate 1"] = replace(few, loss="power", lr=1.0)
        made[f"Sphere, D = {dim}", "power 1/2, rate 0.3"] = replace(few, loss="power", lr=0.3)
        for scale, lr in ((8.0, 0.2), (11.4, 0.2)):
            told = f"cosine softmax, scale {scale:g}, rate {lr:g}"
            made[f"Sphere, D = {dim}", told] = replace(few, loss="softmax", loss_scale=scale, lr=lr)
    return made


def long_trials() -> dict[tuple[str, str], Spec]:
    """Return three trials for each row, nearly as long as the runs: the best of the short ones, and free norm."""
    rows = {SOFTMAX: replace(LONG, space="conventional", dim=None)}
    rows[FULL] = replace(LONG, loss="free", prototypes="ours")
    rows |= {f"Sphere, D = {dim}": replace(LONG, loss="free", prototypes="projected", dim=dim) for dim in FEW}
    told = {SOFTMAX: "", FULL: "free norm, "}
    made = {
        (row, f"5 epochs, {told.get(row, 'projected examples, free norm, ')}rate {lr:g}"): replace(spec, lr=lr)
        for row, spec in rows.items()
        for lr in RATES
    }
    made[SOFTMAX, "5 epochs, rate 0.1"] = replace(rows[SOFTMAX], lr=0.1)
    made[FULL, "5 epochs, cosine softmax, scale 11.4, rate 0.2"] = replace(
        rows[FULL], loss="softmax", loss_scale=11.4, lr=0.2
    )
    for dim, lr in zip(FEW, (0.3, 0.1, 0.1), strict=True):
        row, spec = f"Sphere, D = {dim}", replace(LONG, loss="cauchy", prototypes="examples", dim=dim, lr=lr)
        made[row, f"5 epochs, examples, Cauchy softmax, rate {lr:g}"] = spec
    return made


def entries(scale: str) -> list[Entry]:
    """Return a row a trial; "full" and "cpu" are the same, 40 cells of 35 s and 15 of 130 s: 28 minutes."""
    every = [(f"{row}: {told}", spec) for (row, told), spec in {**trials(), **long_trials()}.items()]
    if scale == "smoke":
        every = [(row, spec.small()) for row, spec in every[::TRIALS]]
    return [Entry(row, "held out", spec, "class/accuracy", past=True) for row, spec in every]


EXPERIMENT = Experiment(
    name="past-tuning",
    title="Settings for short runs: accuracy (%) on 5,000 held-out training images of CIFAR-100",
    entries=entries,
    num_seeds=1,
    notes=(
        "Each row is one trial with one seed at 16 pixels: 20,000 images and 3 epochs, or, where it says so, 45,000 "
        "images and 5 epochs. Eleven trials for softmax, eleven for the sphere at each dimension.",
    ),
)
