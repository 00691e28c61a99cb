"""Figures 1 and 2: the idea. Prototypes on the sphere; one output that moves toward its own, or
toward a circle.
"""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment

STEPS, RATE = 200, 1.0
ROWS = {"Classification": ("classes",), "Regression": ("range",)}
COLUMNS = {"cosine before": "cosine/first", "cosine after": "cosine/last"}


def entries(scale: str) -> list[Entry]:
    """Return the two pictures: an output drawn at random, moved by the gradient of Equation 1 or of
    Equation 7.
    """
    table = []
    for row, tasks in ROWS.items():
        cell = paper_cell(
            job="idea",
            tasks=tasks,
            first_classes=12,
            dim=3,
            prototypes="ours",
            epochs=STEPS,
            lr=RATE,
        )
        table += [
            Entry(row, column, at_scale(cell, scale), measure)
            for column, measure in COLUMNS.items()
        ]
    return table


EXPERIMENT = Experiment(
    name="figure-idea",
    title="Figures 1 and 2: an output moves to its prototype (cosine 1), or to the circle of its value (cosine 0)",
    entries=entries,
    decimals=3,
    figure="idea",
    num_seeds=1,
)
