"""Past the paper: five epochs on CIFAR-100, depth 8, and how much of softmax's accuracy a fixed sphere keeps.

The rows follow one rule, :func:`hyperproto.spaces.default.default_loss`; rates are those that
:mod:`~hyperproto.experiments.past_tuning` found on held-out images.
"""

from dataclasses import replace

from hyperproto.experiments.experiment import Entry, Experiment
from hyperproto.experiments.past_tuning import NORMED, SHORT
from hyperproto.experiments.spec import Spec

__all__ = ["EXPERIMENT"]

SOFTMAX, SPHERE = "Softmax CE", "Sphere, look at the examples"


def _rows() -> list[tuple[str, str, Spec]]:
    """Return row, column and cell of each entry, at the best of its trials."""
    normed = replace(SHORT, network_options=NORMED)
    looked = replace(normed, prototypes="examples")
    few = replace(looked, loss="cauchy")
    many = replace(normed, loss="softmax", loss_scale=11.4)
    return [
        (SOFTMAX, "100 outputs", replace(normed, space="conventional", dim=None, lr=0.2)),
        (SPHERE, "D = 10", replace(few, dim=10, lr=0.1)),
        (SPHERE, "D = 25", replace(few, dim=25, lr=0.3)),
        (SPHERE, "D = 5", replace(few, dim=5, lr=0.1)),
        (SPHERE, "D = 100", replace(many, prototypes="examples", lr=0.2)),
    ]


def entries(scale: str) -> list[Entry]:
    """Return the table; scales "full" and "cpu" are the same, 15 cells of 8 minutes of one core."""
    return [
        Entry(row, column, spec.small() if scale == "smoke" else spec, "class/accuracy", past=True)
        for row, column, spec in _rows()
    ]


EXPERIMENT = Experiment(
    name="past-short-runs",
    title="Short runs: accuracy (%) on CIFAR-100 after 5 epochs, ResNet depth 8, batch 128",
    entries=entries,
    num_seeds=3,
    compare=(SOFTMAX,),
    notes=(
        "Prototypes are placed with a look at the training images as a prior, and learned with CauchySoftmax below "
        "D = K - 1, with CosineSoftmax from there on. All networks norm their features.",
        "Rates were chosen on held-out training images, eight trials a row: `hyperproto reproduce past-tuning`.",
    ),
)
