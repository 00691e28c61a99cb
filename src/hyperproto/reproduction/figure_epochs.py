"""Appendix B: accuracy on CIFAR-100 after every epoch, with and without privileged information."""

from hyperproto.reproduction.cell import at_scale, paper_cell
from hyperproto.reproduction.experiment import Entry, Experiment, Printed
from hyperproto.reproduction.table3 import PAPER, WITH, WITHOUT

ROWS = {WITHOUT: "paper", WITH: "paper-prior"}
PAST = {"Our placement": "ours", "Our placement, w/ privileged info": "ours-prior"}
DIMS = {"full": (3, 5, 10, 25), "cpu": (5, 10, 25), "smoke": (3,)}


def entries(scale: str) -> list[Entry]:
    """Return one panel per column; at scale "cpu", 12 cells of 31 s x 2 seeds on 2 cores: 6
    minutes.
    """
    table = []
    for row, kind in (ROWS | PAST).items():
        for dim in DIMS.get(scale, ()):
            cell = at_scale(
                paper_cell(reader="cifar-100", backbone="resnet-32", dim=dim, prototypes=kind),
                scale,
            )
            printed = Printed.find(PAPER, row, dim)  # Table 3: the figure prints no numbers
            table.append(
                Entry(row, f"{dim} dimensions", cell, "class/accuracy", printed, past=row in PAST)
            )
    return table


EXPERIMENT = Experiment(
    name="figure-epochs",
    title="Appendix B: accuracy (%) on CIFAR-100 after every epoch, with and without privileged information",
    entries=entries,
    figure="curves",
    compare=(WITHOUT,),
)
