"""Past the paper: a class and a number on one sphere, done in several ways, beside two heads with a weight.

Near the poles of the number the direction of the class is undefined. A margin keeps numbers off the poles; one point
for both targets (:class:`~hyperproto.spaces.composite.CompositeSpace`) does away with the two wishes; free axes give
the classes more room than they need.
"""

from dataclasses import replace

from hyperproto.experiments import figure_rotated_mnist, table6
from hyperproto.experiments.experiment import Entry, Experiment
from hyperproto.experiments.scales import at_scale
from hyperproto.experiments.spec import Spec

__all__ = ["EXPERIMENT", "WEIGHTS"]

TWO, MARGIN, POINT, AXES, HEADS = (
    "Two wishes (the paper)",
    "Two wishes, margin 0.1",
    "One point, margin 0.1",
    "One point, margin 0.1, free axes",
    "Two heads, weight {weight:g}",
)
WEIGHTS = (0.1, 0.5, 0.9)  # of the number
RATE = 0.1  # of losses that are averaged
DIGITS, PAINTINGS = "MNIST", "paintings"
# a narrow network for the digits: seven ways, not two, in the same time
PAPER = {
    DIGITS: replace(figure_rotated_mnist.JOINT, network_options=(("width", 8),)),
    PAINTINGS: table6.JOINT,
}
HELD_OUT = 1_000  # training images that the weight of two heads is chosen on
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
        POINT: point,
        AXES: replace(point, dim=MORE_AXES[data]),
        **{HEADS.format(weight=weight): replace(heads, task_weight=weight) for weight in WEIGHTS},
    }


def entries(scale: str) -> list[Entry]:
    """Return two measures of each run on each data set; of two heads on the digits also on held-out images."""
    return [
        Entry(row, f"{data}{told}, {what}", at_scale(spec, scale), measure, past=True)
        for data in (DIGITS, PAINTINGS)
        for row, test in _rows(data).items()
        for told, spec in (("", test), (" held out", replace(test, held_out=HELD_OUT)))
        for what, measure in MEASURES[data].items()
        if not told or (data == DIGITS and spec.task_weight is not None)
        if scale != "smoke" or row in (MARGIN, POINT, HEADS.format(weight=0.5))
    ]


EXPERIMENT = Experiment(
    name="past-joint",
    title="A class and a number together: accuracy (%) and mean error, by how the two share the output",
    entries=entries,
    compare=(TWO,),
    notes=(
        "Two heads are softmax cross-entropy and squared error; their weight is that of the number. Losses of one "
        "point and of two heads are averaged, at rate 0.1.",
    ),
)
