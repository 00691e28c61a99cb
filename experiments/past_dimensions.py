"""Beyond the paper: does a quarter of the dimensions suffice? Runs of other tables, next to softmax."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hyperproto.reproduction import table1, table3
from hyperproto.reproduction.experiment import Entry, Experiment, find_experiment

SOFTMAX = "Softmax CE"
PAPER, PRIOR = "Equation 1, this paper's prototypes", "Equation 1, ours with the data-driven prior"
DEFAULT, RANK = "Free norm, axes of the prior (the default)", "Softmax CE behind D learned dimensions"
DIMS = (3, 5, 10, 25, 100)


def entries(scale: str) -> list[Entry]:
    """Return what other tables ask for: heads by dimensions, then 25 dimensions from scratch by epochs."""
    if scale != "head":
        return []
    first, medium = _by_place(table1.entries(scale)), _by_place(table3.entries("medium"))
    losses, short, longer = (
        _by_place(find_experiment(str(Path(__file__).with_name(f"past_{name}.py"))).entries(at))
        for name, at in (("losses", scale), ("short_runs", "cpu"), ("long", "medium"))
    )
    placed = {(SOFTMAX, f"D = {dim}"): first[table1.SOFTMAX, f"{table1.CIFAR} {dim}"] for dim in DIMS}
    placed |= {(PAPER, f"D = {dim}"): first["This paper", f"{table1.CIFAR} {dim}"] for dim in DIMS}
    placed |= {(PRIOR, column): entry for (row, column), entry in losses.items() if row == "Equation 1"}
    placed |= {(DEFAULT, column): entry for (row, column), entry in losses.items() if row.startswith("Free norm,")}
    placed |= {(DEFAULT, "D = 100"): losses["Free norm", "D = 100"]}  # a simplex, which has no axes to choose
    placed |= {(RANK, column): entry for (row, column), entry in losses.items() if row == RANK}
    placed |= {
        (SOFTMAX, "5 epochs"): short["Softmax CE, 100 outputs", "D = 25"],
        (DEFAULT, "5 epochs"): short["Sphere, free norm", "D = 25"],
        (SOFTMAX, "30 epochs"): medium[table3.SOFTMAX, "25"],
        (PAPER, "30 epochs"): medium[table3.WITHOUT, "25"],
        (PRIOR, "30 epochs"): medium["Our placement, data-driven prior", "25"],
        (SOFTMAX, "100 epochs"): longer["Softmax CE", "100 epochs"],
        (PAPER, "100 epochs"): longer["Equation 1, D = 25", "100 epochs"],
        (DEFAULT, "100 epochs"): longer["Free norm, axes of the data-driven prior, D = 25", "100 epochs"],
    }
    seeds = {"5 epochs": 3, "30 epochs": 3, "100 epochs": 1}
    return [
        replace(entry, row=row, column=column, paper=None, past=True, num_seeds=seeds.get(column))
        for (row, column), entry in placed.items()
    ]


def _by_place(entries: Sequence[Entry]) -> dict[tuple[str, str], Entry]:
    return {(entry.row, entry.column): entry for entry in entries}


EXPERIMENT = Experiment(
    name="past-dimensions",
    title="Does a quarter of the dimensions suffice? Accuracy (%) on CIFAR-100, next to softmax",
    entries=entries,
    figure="shares",
    notes=(
        "By dimensions: heads on frozen features, five seeds. By epochs: D = 25 from scratch, ResNet-8; 5 epochs are "
        "one cycle at 32 pixels, three seeds; 30 and 100 epochs are the paper's schedule at 16 pixels, three seeds "
        "and one.",
    ),
)
