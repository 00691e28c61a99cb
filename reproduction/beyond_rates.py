"""How learning rates were chosen at the scales "medium" and "head": a few for every loss, on
held-out images.
"""

from pathlib import Path

from hyperproto.report.pages import new_picture
from reproduction.cell import TUNED, Cell, at_scale
from reproduction.descents import DESCENTS
from reproduction.experiment import ALL, RATES, Entry, Experiment, find_experiment
from reproduction.figures import COLORS
from reproduction.grid import Grid
from reproduction.rates import MARGINS, SEARCHED, loss_of, trials

TASKS = {"omniart": ("year", "school"), "rotated-mnist": ("digit", "angle")}


def entries(scale: str) -> list[Entry]:
    """Return a row per search: at scale "medium" 37 cells of 2 minutes of one core, at "head" 270
    of 18 s or less.
    """
    if scale in TUNED:
        tables = [find_experiment(name) for name in ALL[scale] if name != RATES]
        searched = [entry.cell for table in tables for entry in table.entries(scale)]
        made = [_entries(cell) for cell in searched if cell.job == "train"]
        return list(
            {(entry.row, entry.column): entry for found in made for entry in found}.values()
        )
    if scale != "smoke":
        return []
    made = [_entries(at_scale(cell, "medium")) for cell, _ in SEARCHED.values()]
    return [
        Entry(first.row, first.column, at_scale(first.cell, scale), first.measure)
        for first, *_ in made
    ]


def _entries(cell: Cell) -> list[Entry]:
    """Return the trials for a cell's rate, with every measure that decides."""
    made = []
    for trial in trials(cell):
        for task in trial.run.data.tasks or TASKS.get(trial.run.data.reader, ("class",)):
            measure = f"{task}/{'mae' if task in ('year', 'angle') else 'accuracy'}"
            made.append(
                Entry(
                    f"{_name(trial)}: {measure}",
                    f"rate {trial.run.train.lr:g}",
                    trial,
                    measure,
                    beyond=True,
                )
            )
    return made


def _name(trial: Cell) -> str:
    """Return which search a trial is of."""
    data, space = trial.run.data, trial.run.space
    few = f", {data.train_examples:,} images" if data.train_examples else ""
    weight = "" if space.task_weight is None else f", weight {space.task_weight:g}"
    late = ", clamped in training" if space.clamp == "train" else ""
    width = f", {space.width} axes" if space.width > 1 else ""
    rank = trial.run.network.backbone_options.get("bottleneck")
    tasks = f", {' and '.join(data.tasks)} alone" if data.tasks else ""
    dim = f", D = {space.dim or rank}" if space.dim or rank else ""
    placed = f", {space.prototypes} prototypes" if space.prototypes in DESCENTS else ""
    normed = ", output batch norm" if trial.run.network.output_norm else ""
    margin = ""
    if space.loss in MARGINS:
        margin = "".join(f", {name} {value:g}" for name, value in space.loss_options.items())
    loss = f"{loss_of(trial)}{margin}{placed}{normed}{_more(trial)}"
    return f"{data.reader}{few}{tasks}, {loss}{dim}{weight}{late}{width}"


def _more(trial: Cell) -> str:
    """Return what else is searched, or is not as in other rows."""
    train, space = trial.run.train, trial.run.space
    if space.number_loss == "auto":
        return ""
    reduced = "summed" if train.reduction == "sum" else "averaged"
    return f", {space.number_loss}, {reduced}, {train.epochs} epochs, decay {train.weight_decay:g}"


DRAWN = {
    "Equation 1, summed": "cifar-100, Equation 1, D = 100: class/accuracy",
    "softmax, averaged": "cifar-100, Softmax CE: class/accuracy",
}
PRINTED = 0.01  # the paper's rate of both


def draw_rates(grid: Grid, path: Path) -> None:
    """Draw accuracy on held-out images against the learning rate, for the losses that the paper
    compares.
    """
    with new_picture(path, 6, 4) as figure:
        axes = figure.subplots()
        for (label, row), color in zip(DRAWN.items(), COLORS, strict=False):
            found = {
                entry.cell.run.train.lr: grid.cells[place].mean
                for place in grid.cells
                if place[0] == row
                for entry in (grid.cells[place].entry,)
            }
            shown = sorted(
                (rate, mean) for rate, mean in found.items() if rate and mean is not None
            )
            if shown:
                axes.plot(*zip(*shown, strict=True), marker="o", color=color, label=label)
        axes.axvline(PRINTED, color="#888888", linestyle=":", label="the paper's rate")
        axes.set(xscale="log", xlabel="learning rate", ylabel="accuracy on held-out images, %")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    name="beyond-rates",
    title="Learning rates: accuracy (%) or mean error on held-out training images",
    entries=entries,
    num_seeds=1,
    figure=draw_rates,
    notes=(
        "One seed; from scratch 10 of 30 epochs, of heads half of the epochs. The best rate of a search is that of "
        "every cell it was made for: from scratch of the loss, on frozen features of the loss on these data and in "
        "these dimensions, searched on our prototypes or those with the data-driven prior. Where a run predicts "
        "a year and a style, a year counts as much as a point of accuracy.",
    ),
)
