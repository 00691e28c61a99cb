"""A table or figure of the paper: its cells, and next to each what the paper prints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any, Self, TypeAlias

from hyperproto._core.checks import unknown_choice
from hyperproto._core.errors import InputError
from reproduction.cell import Cell, at_scale, paper_cell
from reproduction.rates import trials, with_best_rate

# mean and spread, by row and column
PrintedTable: TypeAlias = Mapping[Any, Mapping[Any, Sequence[float | None]]]

# paper: three seeds. On a small machine two, the fewest that have a spread.
SEEDS = {
    "full": (0, 1, 2),
    "medium": (0, 1, 2),
    "head": (0, 1, 2, 3, 4),
    "cpu": (0, 1),
    "smoke": (0, 1),
}
PREFIXES = ("table", "figure_", "beyond_")  # of modules that have an EXPERIMENT
RATES = "beyond-rates"
ALL = {  # that a scale was made for, what is asked first at the front; other scales have everything
    "medium": (
        "table1",
        "table3",
        "table4",
        "table5",
        "table6",
        "beyond-long",
        "figure-rotated-mnist",
        RATES,
    ),
    "head": (
        "beyond-losses",
        "table4",
        "table5",
        "table6",
        "figure-deepncm",
        "table1",
        "table3",
        "beyond-birds",
        "beyond-successors",
        RATES,
    ),
}


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it; it never stands in for a run of ours."""

    mean: float
    std: float | None = None

    @classmethod
    def find(cls, table: "PrintedTable", row: Any, column: Any) -> "Printed | None":
        """Look up a mean, and a spread where there is one, by row and column; None where the paper
        has nothing.
        """
        values = table.get(row, {}).get(column)
        return None if values is None else cls(*values)  # type: ignore[arg-type]  # a mean is never None


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    row, column : str
        Headings.
    cell : Cell
        Of the first seed.
    measure : str
        What is shown of a run, such as "class/accuracy".
    paper : Printed or None
        What the paper prints there.
    beyond : bool
        Whether the row goes beyond the paper.
    num_seeds : int, optional
        Other than the table's.
    """

    row: str
    column: str
    cell: Cell
    measure: str
    paper: Printed | None = None
    beyond: bool = False
    num_seeds: int | None = None

    def cells(self, seeds: Sequence[int]) -> dict[int, Cell]:
        """Return its cell of each seed."""
        asked = seeds if self.num_seeds is None else range(self.num_seeds)
        return {seed: self.cell.with_seed(seed) for seed in asked}

    @property
    def percent(self) -> bool:
        """Whether the measure is a share, printed times 100."""
        return self.measure.endswith("/accuracy")

    @property
    def sign(self) -> int:
        """What the measure is multiplied by, for more to be better: -1 for an error, else 1."""
        return -1 if self.measure.endswith(("/mae", "/rmse")) else 1


def constant_entries(
    reader: str, scale: str, measures: Mapping[str, str], row: str = "Constant answer"
) -> list[Entry]:
    """Return the row that every other has to beat: the training median, or the most frequent class,
    for all images.

    ``measures`` has one for each column; they are all of one run.
    """
    options = {"seed": 0} if reader == "rotated-mnist" else {}
    cell = at_scale(
        paper_cell(job="constant", reader=reader, options=options, kind="conventional"), scale
    )
    return [
        Entry(row, column, cell, measure, beyond=True, num_seeds=1)
        for column, measure in measures.items()
    ]


@dataclass(frozen=True)
class Experiment:
    """A table or figure by name.

    Attributes
    ----------
    name : str
        What ``python -m reproduction`` takes.
    title : str
        A line above it.
    entries : callable
        From a scale to the entries, row by row.
    decimals : int
        Printed digits after the point.
    notes : tuple of str
        Printed below.
    figure : str or callable
        "" for a table, else what to draw: "curves", "sphere" or "idea", or a function that draws a
        Grid to a path.
    compare : tuple of str
        Rows that every other one of the same measure is tested against, in pairs of equal seeds;
        empty tests none.
    num_seeds : int, optional
        How many, where the scale does not decide it: one where nothing is trained.
    """

    name: str
    title: str
    entries: Callable[[str], Sequence[Entry]]
    decimals: int = 1
    notes: tuple[str, ...] = ()
    figure: str | Callable[[Any, Path], None] = ""
    compare: tuple[str, ...] = ()
    num_seeds: int | None = None

    def seeds(self, scale: str) -> tuple[int, ...]:
        """Return the seeds of a scale."""
        if self.num_seeds is not None and (scale != "smoke" or self.num_seeds == 1):
            return tuple(range(self.num_seeds))
        return SEEDS[scale]

    def tuned_entries(self, scale: str, results: Path) -> list[Entry]:
        """Return the entries of a scale, with learning rates, those that are searched from records
        in ``results``.
        """
        entries = [
            replace(entry, cell=with_best_rate(entry.cell, results))
            for entry in self.entries(scale)
        ]
        if not entries:
            raise InputError("scale", f"be one that {self.name} has cells of", f'"{scale}"')
        return entries

    def searches(self, scale: str) -> Self:
        """Return the trials that decide its learning rates, recorded with those of other tables; it
        may have none.
        """

        def entries(scale: str) -> list[Entry]:
            untuned = [entry for entry in self.entries(scale) if entry.cell.run.train.lr is None]
            trained = (entry for entry in untuned if entry.cell.job == "train")
            return [
                replace(entry, cell=trial, num_seeds=1)
                for entry in trained
                for trial in trials(entry.cell)
            ]

        return replace(self, name=RATES, entries=entries, num_seeds=1)

    def cells(self, scale: str, results: Path = Path("reproduction")) -> list[Cell]:
        """Return the cells of a scale, each once: by data set, so that one reading serves many,
        then by entry.

        All seeds of an entry follow each other: a run that is cut off leaves entries that are
        complete.
        """
        seeds = self.seeds(scale)
        specs = [
            cell
            for entry in self.tuned_entries(scale, results)
            for cell in entry.cells(seeds).values()
        ]
        every = {cell.address: cell for cell in specs}.values()
        return sorted(every, key=lambda cell: cell.run.data.reader)


def experiment_names() -> list[str]:
    """Return what ``python -m reproduction`` takes, found by the names of the files; none is
    imported.

    >>> "table1" in experiment_names()
    True
    """
    stems = [
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem.startswith(PREFIXES)
    ]
    return sorted(stem.replace("_", "-") for stem in stems)


def find_experiments(name: str, scale: str) -> list[Experiment]:
    """Return an experiment by its name, or for "all" those of a scale."""
    names = ALL.get(scale, tuple(experiment_names())) if name == "all" else (name,)
    return [find_experiment(each) for each in names]


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name, or from a Python file that has one as ``EXPERIMENT``."""
    if not name.endswith(".py"):
        if name not in experiment_names():
            raise unknown_choice(name, experiment_names(), what="table or figure")
        experiment = import_module(f"reproduction.{name.replace('-', '_')}").EXPERIMENT
    elif not Path(name).is_file():
        raise InputError(
            f'"{name}"', "be a Python file with an EXPERIMENT", "no file", "Check the path."
        )
    else:
        experiment = run_path(name).get("EXPERIMENT")
    if not isinstance(experiment, Experiment):
        raise InputError(
            f'"{name}"',
            "have an EXPERIMENT, an Experiment",
            experiment,
            "CONTRIBUTING.md shows one.",
        )
    return experiment
