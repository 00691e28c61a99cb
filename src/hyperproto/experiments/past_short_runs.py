"""Past the paper: five epochs on CIFAR-100, depth 8, and how much of softmax's accuracy a fixed sphere keeps.

The rows follow one rule, :func:`hyperproto.spaces.default.default_loss`; rates are those that
:mod:`~hyperproto.experiments.past_tuning` found on held-out images.
"""

from dataclasses import replace

from hyperproto.experiments.experiment import Entry, Experiment
from hyperproto.experiments.past_tuning import NORMED, SHORT
from hyperproto.experiments.spec import Spec

__all__ = ["EXPERIMENT"]

SOFTMAX, SPHERE, PAPER = "Softmax CE", "Sphere, default rule", "Sphere, Equation 1"


def _rows() -> list[tuple[str, str, Spec]]:
    """Return row, column and cell of each entry."""
    simplex = replace(SHORT, prototypes="ours", loss="softmax", lr=0.1)
    few = replace(SHORT, prototypes="examples", loss="cauchy", lr=0.3, network_options=NORMED)
    return [
        (SOFTMAX, "100 outputs", replace(SHORT, space="conventional", dim=None, lr=0.2)),
        *((SPHERE, f"D = {dim}", replace(few, dim=dim)) for dim in (10, 25, 5)),
        (SPHERE, "D = 100", simplex),
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
        "Below D = K - 1 prototypes are placed with a look at the training images as a prior, and learned with "
        "CauchySoftmax; from D = K - 1 on they are a simplex, learned with CosineSoftmax.",
        "Rates are chosen on held-out training images, six trials for each row: `hyperproto reproduce past-tuning`.",
    ),
)
