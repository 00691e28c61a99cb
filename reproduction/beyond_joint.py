"""Beyond the paper: a class and a number on one sphere, done in several ways, next to two heads
with a weight.

Near the poles of the number the direction of the class is undefined. A margin keeps numbers off the
poles; one point for both targets (:class:`~reproduction.composite.CompositeSpace`) replaces
the two targets; free axes give the classes more room than they need; and a class loss in which
lengths are free has no poles to avoid.
"""

from reproduction import figure_rotated_mnist, table6
from reproduction.cell import Cell, at_scale
from reproduction.experiment import Entry, Experiment, constant_entries

TWO, MARGIN, FREE, POINT, AXES, HEADS = (
    "Two targets (the paper)",
    "Two targets, margin 0.1",
    "Two targets, margin 0.1, free norm",
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
    DIGITS: figure_rotated_mnist.JOINT.but(backbone_options={"width": 8}),
    PAINTINGS: table6.JOINT,
}
HELD_OUT = 1_000  # training images that the weight of two heads and the rates are chosen on
MEASURES = {
    DIGITS: {"digit": "digit/accuracy", "degrees": "angle/mae"},
    PAINTINGS: {"style": "school/accuracy", "years": "year/mae"},
}
MORE_AXES = {DIGITS: 5, PAINTINGS: 57}


def _rows(data: str) -> dict[str, Cell]:
    """Return the ways to do both tasks on a data set."""
    paper = PAPER[data].but(prototypes="ours")
    point = paper.but(kind="composite", margin=0.1, reduction="mean", lr=RATE)
    heads = paper.but(kind="conventional", dim=None, prototypes=None, reduction="mean", lr=RATE)
    return {
        TWO: paper,
        MARGIN: paper.but(margin=0.1),
        FREE: paper.but(margin=0.1, loss="free_norm_softmax", reduction="mean", lr=RATE),
        POINT: point,
        AXES: point.but(dim=MORE_AXES[data]),
        **{HEADS.format(weight=weight): heads.but(task_weight=weight) for weight in WEIGHTS},
    }


def _trials(data: str) -> dict[str, Cell]:
    """Return what is measured on held-out images: three weights for two heads, two rates for the
    sphere.
    """
    rows = _rows(data)
    heads = {row: cell for row, cell in rows.items() if cell.run.space.task_weight is not None}
    rates = {f"{row}, rate {lr:g}": rows[row].but(lr=lr) for row in (FREE, POINT) for lr in RATES}
    return {row: cell.but(valid_examples=HELD_OUT) for row, cell in (rates | heads).items()}


def entries(scale: str) -> list[Entry]:
    """Return two measures of each run on each data set, and below them those on held-out images, of
    one seed.
    """
    tested = [(data, row, cell) for data in MEASURES for row, cell in _rows(data).items()]
    tried = [
        (f"{data} held out", row, cell) for data in MEASURES for row, cell in _trials(data).items()
    ]
    if scale == "smoke":
        kept = (FREE, POINT, HEADS.format(weight=0.5))
        tested, tried = [found for found in tested if found[1] in kept], []
    made = [
        Entry(
            row,
            f"{where}, {what}",
            at_scale(cell, scale),
            measure,
            beyond=True,
            num_seeds=num_seeds,
        )
        for every, num_seeds in ((tested, None), (tried, 1))
        for where, row, cell in every
        for what, measure in MEASURES[where.removesuffix(" held out")].items()
    ]
    for data, measures in MEASURES.items():
        columns = {f"{data}, {what}": measure for what, measure in measures.items()}
        made += constant_entries(PAPER[data].run.data.reader, scale, columns)
    return made


EXPERIMENT = Experiment(
    name="beyond-joint",
    title="A class and a number together: accuracy (%) and mean error, by how the two share the output",
    entries=entries,
    compare=(TWO,),
    notes=(
        "Two heads are softmax cross-entropy and squared error; their weight is that of the number. Losses of free "
        "norm, one point and two heads are averaged, at rate 0.1.",
        "Held out: 1,000 training images, one seed: weights of two heads, rates of the others.",
    ),
)
