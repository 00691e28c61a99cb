"""Appendix B: accuracy on CIFAR-100 after every epoch, with and without privileged information."""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, Printed
from reproduction.table3 import PAPER, WITH, WITHOUT

ROWS = {WITHOUT: "paper", WITH: "paper-prior"}
BEYOND = {"Our placement": "ours", "Our placement, w/ privileged info": "ours-prior"}
DIMS = {"full": (3, 5, 10, 25), "cpu": (5, 10, 25), "smoke": (3,)}


def entries(scale: str) -> list[Entry]:
    """Return one panel per column; at scale "cpu", 12 cells of 31 s x 2 seeds on 2 cores: 6
    minutes.
    """
    table = []
    for row, kind in (ROWS | BEYOND).items():
        for dim in DIMS.get(scale, ()):
            cell = at_scale(
                paper_cell(reader="cifar-100", backbone="resnet-32", dim=dim, prototypes=kind),
                scale,
            )
            printed = Printed.find(PAPER, row, dim)  # Table 3: the figure prints no numbers
            table.append(
                Entry(
                    row, f"{dim} dimensions", cell, "class/accuracy", printed, beyond=row in BEYOND
                )
            )
    return table


EXPERIMENT = Experiment(
    name="figure-epochs",
    title="Appendix B: accuracy (%) on CIFAR-100 after every epoch, with and without privileged information",
    entries=entries,
    figure="curves",
    compare=(WITHOUT,),
)
