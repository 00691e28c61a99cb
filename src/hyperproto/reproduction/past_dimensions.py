"""Beyond the paper: does a quarter of the dimensions suffice? Runs of other tables, next to softmax."""

from dataclasses import replace

from hyperproto.reproduction import past_long, past_losses, past_short_runs, table1, table3
from hyperproto.reproduction.experiment import Entry, Experiment

SOFTMAX = "Softmax CE"
PAPER, PRIOR = "Equation 1, this paper's prototypes", "Equation 1, ours with the data-driven prior"
DEFAULT, RANK = "Free norm, axes of the prior (the default)", past_losses.RANK
DIMS = (3, 5, 10, 25, 100)


def entries(scale: str) -> list[Entry]:
    """Return what other tables ask for: heads by dimensions, then 25 dimensions from scratch by epochs."""
    if scale != "head":
        return []
    losses, first = (_by_place(table.entries(scale)) for table in (past_losses, table1))
    medium, short = _by_place(table3.entries("medium")), _by_place(past_short_runs.entries("cpu"))
    longer = {row: entry for (row, _), entry in _by_place(past_long.entries("medium")).items()}
    placed = {(SOFTMAX, f"D = {dim}"): first[table1.SOFTMAX, f"{table1.CIFAR} {dim}"] for dim in DIMS}
    placed |= {(PAPER, f"D = {dim}"): first["This paper", f"{table1.CIFAR} {dim}"] for dim in DIMS}
    placed |= {(PRIOR, column): entry for (row, column), entry in losses.items() if row == "Equation 1"}
    placed |= {(DEFAULT, column): entry for (row, column), entry in losses.items() if row.startswith("Free norm,")}
    placed |= {(DEFAULT, "D = 100"): losses["Free norm", "D = 100"]}  # a simplex, which has no axes to choose
    placed |= {(RANK, column): entry for (row, column), entry in losses.items() if row == RANK}
    placed |= {
        (SOFTMAX, "5 epochs"): short[past_short_runs.SOFTMAX, "D = 25"],
        (DEFAULT, "5 epochs"): short[past_short_runs.SPHERE, "D = 25"],
        (SOFTMAX, "30 epochs"): medium[table3.SOFTMAX, "25"],
        (PAPER, "30 epochs"): medium[table3.WITHOUT, "25"],
        (PRIOR, "30 epochs"): medium["Our placement, data-driven prior", "25"],
        (SOFTMAX, "100 epochs"): longer["Softmax CE"],
        (PAPER, "100 epochs"): longer["Equation 1, D = 25"],
        (DEFAULT, "100 epochs"): longer["Free norm, axes of the data-driven prior, D = 25"],
    }
    seeds = {"5 epochs": 3, "30 epochs": 3, "100 epochs": 1}
    return [
        replace(entry, row=row, column=column, paper=None, past=True, num_seeds=seeds.get(column))
        for (row, column), entry in placed.items()
    ]


def _by_place(entries: list[Entry]) -> dict[tuple[str, str], Entry]:
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
