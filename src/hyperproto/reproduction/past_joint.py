"""Past the paper: a class and a number on one sphere, done in several ways, beside two heads with a weight.

Near the poles of the number the direction of the class is undefined. A margin keeps numbers off the poles; one point
for both targets (:class:`~hyperproto.spaces.composite.CompositeSpace`) does away with the two wishes; free axes give
the classes more room than they need; and a class loss in which lengths are free has no poles to fear.
"""

from dataclasses import replace

from hyperproto.reproduction import figure_rotated_mnist, table6
from hyperproto.reproduction.experiment import Entry, Experiment
from hyperproto.reproduction.scales import at_scale
from hyperproto.reproduction.spec import Spec

__all__ = ["EXPERIMENT", "WEIGHTS"]

TWO, MARGIN, FREE, POINT, AXES, HEADS = (
    "Two wishes (the paper)",
    "Two wishes, margin 0.1",
    "Two wishes, margin 0.1, free norm",
    "One point, margin 0.1",
    "One point, margin 0.1, free axes",
    "Two heads, weight {weight:g}",
)
WEIGHTS = (0.1, 0.5, 0.9)  # of the number
RATE = 0.1  # of losses that are averaged
RATES = (0.1, 0.3)  # that those were chosen from on held-out images, one seed each
DIGITS, PAINTINGS = "MNIST", "paintings"
# a narrow network for the digits: seven ways, not two, in the same time
PAPER = {
    DIGITS: replace(figure_rotated_mnist.JOINT, network_options=(("width", 8),)),
    PAINTINGS: table6.JOINT,
}
HELD_OUT = 1_000  # training images that the weight of two heads and the rates are chosen on
MEASURES = {
    DIGITS: {"digit": "digit/accuracy", "degrees": "angle/mae"},
    PAINTINGS: {"style": "school/accuracy", "years": "year/mae"},
}
MORE_AXES = {DIGITS: 5, PAINTINGS: 57}


def _rows(data: str) -> dict[str, Spec]:
    """Return the ways to do both tasks on a data set."""
    paper = replace(PAPER[data], prototypes="ours")
    point = replace(paper, space="composite", margin=0.1, reduction="mean", lr=RATE)
    heads = replace(paper, space="conventional", dim=None, prototypes=None, reduction="mean", lr=RATE)
    return {
        TWO: paper,
        MARGIN: replace(paper, margin=0.1),
        FREE: replace(paper, margin=0.1, loss="free", reduction="mean", lr=RATE),
        POINT: point,
        AXES: replace(point, dim=MORE_AXES[data]),
        **{HEADS.format(weight=weight): replace(heads, task_weight=weight) for weight in WEIGHTS},
    }


def _trials(data: str) -> dict[str, Spec]:
    """Return what is measured on held-out images: three weights for two heads, two rates for the sphere."""
    rows = _rows(data)
    heads = {row: spec for row, spec in rows.items() if spec.task_weight is not None}
    rates = {f"{row}, rate {lr:g}": replace(rows[row], lr=lr) for row in (FREE, POINT) for lr in RATES}
    return {row: replace(spec, held_out=HELD_OUT) for row, spec in (rates | heads).items()}


def entries(scale: str) -> list[Entry]:
    """Return two measures of each run on each data set, and below them those on held-out images, of one seed."""
    tested = [(data, row, spec) for data in MEASURES for row, spec in _rows(data).items()]
    tried = [(f"{data} held out", row, spec) for data in MEASURES for row, spec in _trials(data).items()]
    if scale == "smoke":
        kept = (FREE, POINT, HEADS.format(weight=0.5))
        tested, tried = [found for found in tested if found[1] in kept], []
    return [
        Entry(row, f"{where}, {what}", at_scale(spec, scale), measure, past=True, num_seeds=num_seeds)
        for every, num_seeds in ((tested, None), (tried, 1))
        for where, row, spec in every
        for what, measure in MEASURES[where.removesuffix(" held out")].items()
    ]


EXPERIMENT = Experiment(
    name="past-joint",
    title="A class and a number together: accuracy (%) and mean error, by how the two share the output",
    entries=entries,
    compare=(TWO,),
    notes=(
        "Two heads are softmax cross-entropy and squared error; their weight is that of the number. Losses of free "
        "norm, one point and two heads are averaged, at rate 0.1.",
        "Held out: 1,000 training images, one seed: weights of two heads, rates of the others.",
    ),
)
