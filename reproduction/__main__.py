"""``python -m reproduction``: rebuild a table or figure of the paper."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.markdown import Markdown
from tyro.conf import DisallowNone, FlagCreatePairsOff, Positional, arg

from hyperproto._core.errors import (
    SPELLING,
    HyperprotoError,
    InputError,
    MissingDataError,
    python_name,
)
from hyperproto.cli.console import table_console
from reproduction.cell import Cell
from reproduction.experiment import Experiment, find_experiments
from reproduction.grid import differences
from reproduction.placements import Places
from reproduction.records import find_record
from reproduction.reports import to_markdown, write_report
from reproduction.runner import Outcome, Plan, make_plan, run_plan


@dataclass
class Reproduce:
    """Rebuild a table or figure of the paper: run what is not done yet, then print ours next to the
    paper's.
    """

    name: Annotated[Positional[str], arg(metavar="NAME")]
    """table1 to table7, figure-deepncm, figure-rotated-mnist, figure-epochs, figure-idea; or a .py
    file with an EXPERIMENT; or all. What goes beyond the paper is called beyond-losses, ...
    """

    scale: Literal["full", "medium", "head", "cpu", "smoke"] = "cpu"
    """The paper's protocol to the letter; all of CIFAR-100 in small, hours, or heads on
    frozen features; at most 20 minutes on 2 cores; or seconds, on tiny data."""

    data: Annotated[Path | None, arg(metavar="DIR")] = None
    """Data sets in their publishers' layouts; cells without data are left out."""

    words: Annotated[Path | None, arg(metavar="FILE")] = None
    """Word vectors (word2vec, GloVe), for the baseline and for privileged information."""

    authors: Annotated[Path | None, arg(metavar="DIR")] = None
    """The authors' prototypes folder, with sgd, sgd-sem and sem; also replaces word vectors."""

    results: Annotated[Path, arg(metavar="DIR")] = Path("reproduction")
    """Records go to records/ below, reports to reports/."""

    runs: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """Checkpoints and weights go here; an interrupted cell resumes from it."""

    jobs: Annotated[int | None, arg(metavar="N")] = None
    """Cells at a time; results do not depend on it. (default: one per core)"""

    dask: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """Scheduler of Dask workers that see the same folders, or "local". (default: processes here,
    without Dask)
    """

    dry_run: FlagCreatePairsOff[bool] = False
    """Print the cells that are to do and done, and what is missing; run nothing."""

    report_only: FlagCreatePairsOff[bool] = False
    """Run nothing; read the records and write the report."""

    def run(self) -> None:
        """Plan, run, report; cells that failed are named at the end, and the exit code is 1."""
        failed = []
        for experiment in find_experiments(self.name, self.scale):
            try:
                failed += self._run_one(experiment)
            except InputError as error:
                if self.name != "all":
                    raise
                print(f"{experiment.name}: {error}", file=sys.stderr)
        if failed:
            what = "1 cell failed" if len(failed) == 1 else f"{len(failed)} cells failed"
            print(
                f"reproduction: {what}; the others are reported. Run the command again to retry.",
                file=sys.stderr,
            )
            for outcome in failed:
                print(f"  {_describe(outcome.cell)}: {outcome.error}", file=sys.stderr)
            sys.exit(1)

    def _run_one(self, experiment: Experiment) -> list[Outcome]:
        """Run the trials for its learning rates, then its cells; report, and return what failed."""
        failed = []
        if not self.report_only:
            searches = experiment.searches(self.scale)
            failed += self._run_cells(searches) if searches.entries(self.scale) else []
            failed += self._run_cells(experiment)
            if self.dry_run:
                return []
        cells = experiment.cells(self.scale, self.results)
        if any(find_record(self.results, cell, experiment.name) is not None for cell in cells):
            self._show_report(experiment)
        elif not failed:
            raise InputError(
                f'"{self.results / "records"}"',
                f"hold records of {experiment.name} at scale {self.scale}",
                "none",
                "Give --results the folder of records, such as reproduction in a clone of the repository, or run "
                f"python -m reproduction {experiment.name if self.name == 'all' else self.name} --scale {self.scale} "
                "--data DIR first.",
            )
        return failed

    def _run_cells(self, experiment: Experiment) -> list[Outcome]:
        """Run what is to be done and return what failed."""
        for option, path in (("data", self.data), ("words", self.words), ("authors", self.authors)):
            if path is not None and not path.exists():
                raise MissingDataError(option, "exist", f'"{path}"', "Check the path.")
        places = Places(self.data, self.words, self.authors, self.results, self.runs)
        plan = make_plan(experiment, self.scale, places)
        for reason, count in Counter(str(error) for _, error in plan.skipped).items():
            print(f"{count} cell{'s'[: count > 1]} left out: {reason}")
        if self.dry_run:
            _print_plan(experiment, plan, self.scale)
            return []
        if not plan.todo and not plan.done:
            raise InputError(
                f"None of the {len(plan.skipped)} cells of {experiment.name} can be run here; the reasons are above."
            )
        failed = []
        for ended, outcome in enumerate(
            run_plan(plan, places, jobs=self.jobs, dask=self.dask), start=1
        ):
            failed += [outcome] if outcome.state == "failed" else []
            measures = (
                f"{name} {value:.4g}"
                for name, value in outcome.measures.items()
                if value is not None
            )
            result = str(outcome.error or ", ".join(measures) or outcome.state)
            print(f"[{ended}/{len(plan.todo)}] {_describe(outcome.cell)}: {result}", flush=True)
        return failed

    def _show_report(self, experiment: Experiment) -> None:
        """Print the table and say what was written."""
        folder = self.results / "reports"
        grid, written = write_report(experiment, self.scale, self.results, folder)
        table_console().print(Markdown(to_markdown(grid)))
        print(f"Written to {folder}: " + ", ".join(path.name for path in written))


def _describe(cell: Cell) -> str:
    run, space = cell.run, cell.run.space
    kind = {"deep-ncm": f"deep NCM, {space.mean}", "conventional": "conventional"}.get(
        space.kind or "", ""
    )
    loss = "" if space.loss == "squared_cosine" else space.loss.replace("_", " ")
    kind = kind or ", ".join(filter(None, (space.prototypes, loss))) or "sphere"
    weight = "" if space.task_weight is None else f", w = {space.task_weight:g}"
    trained = f"{run.data.reader}, {run.network.backbone}, " if cell.job == "train" else ""
    return f"{cell.address} {trained}{kind}{f', D = {space.dim}' if space.dim else ''}{weight}, seed {cell.seed}"


def _print_plan(experiment: Experiment, plan: Plan, scale: str) -> None:
    """Print every cell, and what of the protocol is not the paper's."""
    print(experiment.title)
    for cell in plan.todo:
        print(f"  to do  {_describe(cell)}")
    for cell in plan.done:
        print(f"  done   {_describe(cell)}")
    for line in differences(experiment, scale):
        print(f"  differs from the paper's protocol: {line}")
    print(f"{len(plan.todo)} cells to do, {len(plan.done)} done, {len(plan.skipped)} left out.")


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command. A user's mistake prints one sentence and exits with 2."""
    before = SPELLING.set(_spell)
    try:
        command = "python -m reproduction"
        tyro.cli(Reproduce, prog=command, args=argv, config=[DisallowNone]).run()
    except (HyperprotoError, OSError) as error:
        print(f"reproduction: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as error:
        print(f"reproduction: {str(error) or 'interrupted'}", file=sys.stderr)
        sys.exit(130)
    finally:
        SPELLING.reset(before)


def _spell(name: str, value: str) -> str:
    """Return how a sentence mentions an argument: as an option where it is one."""
    if name not in {option.name for option in fields(Reproduce)}:
        return python_name(name, value)
    return f"--{name.replace('_', '-')} {value}".rstrip()


if __name__ == "__main__":
    main()
