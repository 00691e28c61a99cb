"""The rotated-MNIST figure: which digit and how far it is turned, on one S²."""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, constant_entries
from reproduction.rates import with_cosine_softmax

# five classes as equal slices of the xy-plane, the closed form that every placement finds; the
# rotation along z
JOINT = paper_cell(
    reader="rotated-mnist", options={"seed": 0}, backbone="rotated-mnist", dim=3, prototypes="ours"
)
ROWS = {"This paper": JOINT, "Our placement, cosine softmax": with_cosine_softmax(JOINT)}
COLUMNS = {"digit, accuracy": "digit/accuracy", "angle, mean error": "angle/mae"}


def entries(scale: str) -> list[Entry]:
    """Return two measures of each run; at scale "cpu", 2 cells of 150 s x 2 seeds on 2 cores: 5
    minutes.
    """
    table = [
        Entry(row, column, at_scale(cell, scale), measure, beyond=row != "This paper")
        for row, cell in ROWS.items()
        for column, measure in COLUMNS.items()
    ]
    return table + constant_entries("rotated-mnist", scale, COLUMNS)


EXPERIMENT = Experiment(
    name="figure-rotated-mnist",
    title="Rotated MNIST: digit (accuracy, %) and rotation (mean error in degrees) on one sphere",
    entries=entries,
    figure="sphere",
    compare=("This paper",),
    notes=("The paper shows this experiment as a picture and prints no numbers.",),
)
