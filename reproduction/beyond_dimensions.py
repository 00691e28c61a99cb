"""Beyond the paper: does a quarter of the dimensions suffice? Runs of other tables, next to
softmax.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hyperproto.report.pages import new_picture
from reproduction import table1, table3
from reproduction.experiment import Entry, Experiment, find_experiment
from reproduction.figures import COLORS
from reproduction.grid import Grid

SOFTMAX = "Softmax CE"
PAPER, PRIOR = "Equation 1, this paper's prototypes", "Equation 1, ours with the data-driven prior"
DEFAULT, RANK = (
    "Free norm, axes of the prior (the default from scratch)",
    "Softmax CE behind D learned dimensions",
)
FROZEN = "1 - cos, or its root, order of the prior (the default on frozen features)"
POWERS = {"D = 25": "1 - cos", "D = 10": "Root of 1 - cos", "D = 5": "Root of 1 - cos"}
DIMS = (3, 5, 10, 25, 100)


def entries(scale: str) -> list[Entry]:
    """Return what other tables ask for: heads by dimensions, then 25 dimensions from scratch by
    epochs.
    """
    if scale != "head":
        return []
    first, medium = _by_place(table1.entries(scale)), _by_place(table3.entries("medium"))
    losses, short, longer = (
        _by_place(find_experiment(f"beyond-{name}").entries(at))
        for name, at in (("losses", scale), ("short-runs", "cpu"), ("long", "medium"))
    )
    placed = {
        (SOFTMAX, f"D = {dim}"): first[table1.SOFTMAX, f"{table1.CIFAR} {dim}"] for dim in DIMS
    }
    placed |= {(PAPER, f"D = {dim}"): first["This paper", f"{table1.CIFAR} {dim}"] for dim in DIMS}
    placed |= {
        (PRIOR, column): entry for (row, column), entry in losses.items() if row == "Equation 1"
    }
    placed |= {
        (DEFAULT, column): entry
        for (row, column), entry in losses.items()
        if row.startswith("Free norm,")
    }
    placed |= {
        (DEFAULT, "D = 100"): losses["Free norm", "D = 100"]
    }  # a simplex, which has no axes to choose
    placed |= {(FROZEN, column): losses[row, column] for column, row in POWERS.items()}
    placed |= {(RANK, column): entry for (row, column), entry in losses.items() if row == RANK}
    placed |= {
        (SOFTMAX, "5 epochs"): short["Softmax CE, 100 outputs", "D = 25"],
        (DEFAULT, "5 epochs"): short["Sphere, free norm", "D = 25"],
        (SOFTMAX, "30 epochs"): medium[table3.SOFTMAX, "25"],
        (PAPER, "30 epochs"): medium[table3.WITHOUT, "25"],
        (PRIOR, "30 epochs"): medium["Our placement, data-driven prior", "25"],
        (DEFAULT, "30 epochs"): medium[table3.DEFAULT, "25"],
        (SOFTMAX, "100 epochs"): longer["Softmax CE", "100 epochs"],
        (PAPER, "100 epochs"): longer["Equation 1, D = 25", "100 epochs"],
        (DEFAULT, "100 epochs"): longer[
            "Free norm, axes of the data-driven prior, D = 25", "100 epochs"
        ],
    }
    seeds = {"5 epochs": 3, "30 epochs": 3, "100 epochs": 1}
    return [
        replace(entry, row=row, column=column, paper=None, beyond=True, num_seeds=seeds.get(column))
        for (row, column), entry in placed.items()
    ]


def _by_place(entries: Sequence[Entry]) -> dict[tuple[str, str], Entry]:
    return {(entry.row, entry.column): entry for entry in entries}


def draw_shares(grid: Grid, path: Path) -> None:
    """Draw each accuracy as a share of softmax's, by dimensions and by epochs."""
    panels = {
        "dimensions; heads on frozen features": "D = {}",
        "epochs from scratch, D = 25": "{} epochs",
    }
    with new_picture(path, 11, 5) as figure:
        for axes, (label, column) in zip(
            figure.subplots(1, 2, sharey=True), panels.items(), strict=True
        ):
            asked = sorted(
                int(text)
                for name in grid.columns
                for text in re.findall(column.format(r"(\d+)"), name)
            )
            for row, color in zip(grid.rows, COLORS, strict=False):
                found = {x: share(grid, row, column.format(x)) for x in asked}
                shown = {x: value for x, value in found.items() if value is not None}
                if shown:
                    means, errors = zip(*shown.values(), strict=True)
                    axes.errorbar(
                        list(shown),
                        means,
                        yerr=errors,
                        marker="o",
                        color=color,
                        label=row,
                        capsize=2.5,
                    )
            for x in asked:
                if share(grid, grid.rows[0], column.format(x)) is None:
                    spot = {"xycoords": ("data", "axes fraction"), "ha": "center", "fontsize": 8}
                    axes.annotate("not run", (x, 0.02), **spot, color="#888888")
            axes.set_xscale("log")
            axes.set_xticks(asked, [str(x) for x in asked])
            axes.minorticks_off()
            axes.set(xlabel=label, xlim=(min(asked) / 1.3, max(asked) * 1.3), ylim=(0, 108))
            axes.grid(alpha=0.3)
        figure.axes[0].set_ylabel("share of softmax's accuracy, %")
        figure.suptitle(grid.experiment.title.partition("?")[0] + "?", fontsize=11)
        lines = {
            name: line
            for axes in figure.axes
            for line, name in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        if lines:
            style = {"loc": "outside lower center", "ncols": 2, "fontsize": 8, "frameon": False}
            figure.legend(list(lines.values()), list(lines), **style)


def share(grid: Grid, row: str, column: str) -> tuple[float, float] | None:
    """Return a row's mean in percent of the first row's in the same column, and its error; None
    where one lacks.
    """
    summary, whole = grid.cells.get((row, column)), grid.cells.get((grid.rows[0], column))
    if summary is None or whole is None or not summary.mean or not whole.mean:
        return None
    return 100 * summary.mean / whole.mean, 100 * (summary.error or 0.0) / whole.mean


EXPERIMENT = Experiment(
    name="beyond-dimensions",
    title="Does a quarter of the dimensions suffice? Accuracy (%) on CIFAR-100, next to softmax",
    entries=entries,
    figure=draw_shares,
    notes=(
        "By dimensions: heads on frozen features, five seeds. By epochs: D = 25 from scratch, ResNet-8; 5 epochs are "
        "one cycle at 32 pixels, three seeds; 30 and 100 epochs are the paper's schedule at 16 pixels, three seeds "
        "and one.",
    ),
)
