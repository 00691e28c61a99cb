"""``hyperproto reproduce``: rebuild a table or figure of the paper."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.reproduction.experiment import Experiment
    from hyperproto.reproduction.places import Places
    from hyperproto.reproduction.plan import Plan
    from hyperproto.reproduction.runner import Outcome

__all__ = ["Reproduce"]


@dataclass
class Reproduce:
    """Rebuild a table or figure of the paper: run what is not done yet, then print ours beside the paper's."""

    name: Annotated[Positional[str], arg(metavar="NAME")]
    """table1 to table7, figure-deepncm, figure-rotated-mnist, figure-epochs, figure-idea; or a .py file of yours."""

    scale: Literal["full", "cpu", "smoke"] = "cpu"
    """The paper's protocol to the letter; one of at most 20 minutes on 2 cores; or seconds, on tiny data."""

    data: Annotated[Path | None, arg(metavar="DIR")] = None
    """Holds the data sets in their publishers' layouts; cells without data are left out."""

    words: Annotated[Path | None, arg(metavar="FILE")] = None
    """Word vectors (word2vec, GloVe), for the baseline and for privileged information."""

    authors: Annotated[Path | None, arg(metavar="DIR")] = None
    """The authors' prototypes folder, with sgd, sgd-sem and sem; also stands in for word vectors."""

    results: Annotated[Path, arg(metavar="DIR")] = Path("results")
    """Records go to cells/ below, reports to reports/."""

    runs: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """Checkpoints and weights go here; an interrupted cell resumes from it."""

    jobs: Annotated[int | None, arg(metavar="N")] = None
    """Cells at a time; all cores unless given. Results do not depend on it."""

    backend: Literal["processes", "dask"] = "processes"
    """How cells are spread: processes here, or Dask."""

    scheduler: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """Of Dask, whose workers must see the same folders; it starts workers here unless given."""

    dry_run: bool = False
    """Print the cells, the protocol and an estimate of the time, and run nothing."""

    report_only: bool = False
    """Run nothing; read the records and write the report."""

    def run(self) -> None:
        """Plan, run, report; cells that failed are named at the end, and the exit code is 1."""
        from hyperproto._core.errors import InputError
        from hyperproto.reproduction.find import find_experiment
        from hyperproto.reproduction.places import Places
        from hyperproto.reproduction.plan import make_plan

        experiment = find_experiment(self.name)
        failed: list[Outcome] = []
        if not self.report_only:
            self._check_paths()
            places = Places(self.data, self.words, self.authors, self.results, self.runs)
            plan = make_plan(experiment, self.scale, places)
            _print_skipped(plan)
            if self.dry_run:
                _print_plan(experiment, plan, self.scale, self.jobs)
                return
            if not plan.todo and not plan.done:
                raise InputError(
                    f"None of the {len(plan.skipped)} cells of {experiment.name} can be run here, see above. "
                    "Give --data DIR, and what else they ask for."
                )
            failed = self._run_cells(experiment, places, len(plan.todo))
        if not failed or _has_records(experiment, self.scale, self.results):
            _show_report(experiment, self.scale, self.results)
        if failed:
            _print_failed(failed)
            sys.exit(1)

    def _run_cells(self, experiment: "Experiment", places: "Places", cells: int) -> "list[Outcome]":
        """Run what is to be done and return what failed."""
        from hyperproto.reproduction.runner import run_experiment

        ended = run_experiment(
            experiment,
            self.scale,
            places,
            jobs=self.jobs,
            backend=self.backend,
            scheduler=self.scheduler,
            say=_Teller(cells),
            on_wish=_say_ending,
        )
        return [outcome for outcome in ended if outcome.state == "failed"]

    def _check_paths(self) -> None:
        from hyperproto._core.errors import MissingDataError

        for option, path in (("--data", self.data), ("--words", self.words), ("--authors", self.authors)):
            if path is not None and not path.exists():
                raise MissingDataError(f'{option} must be there; "{path}" is not. Check the path.')


class _Teller:
    """Prints a line for each cell that ends."""

    def __init__(self, cells: int) -> None:
        self.cells, self.ended = cells, 0

    def __call__(self, outcome: "Outcome") -> None:
        """Say what came of a cell."""
        self.ended += 1
        measures = ", ".join(f"{name} {value:.4g}" for name, value in outcome.measures.items() if value is not None)
        told = outcome.failure or measures or outcome.state
        print(f"[{self.ended}/{self.cells}] {_describe(outcome.spec)}: {told}", flush=True)


def _describe(spec: object) -> str:
    from hyperproto.reproduction.spec import Spec

    assert isinstance(spec, Spec)
    kind = {"deep-ncm": f"deep NCM, {spec.mean}", "conventional": "conventional"}.get(spec.space, "")
    loss = {"softmax": "cosine softmax", "free": "free norm", "cauchy": "Cauchy softmax", "power": "power"}
    kind = kind or ", ".join(filter(None, (spec.prototypes, loss.get(spec.loss, ""))))
    weight = "" if spec.task_weight is None else f", w = {spec.task_weight:g}"
    space = f"{kind or 'sphere'}{f', D = {spec.dim}' if spec.dim else ''}{weight}"
    trained = f"{spec.data}, {spec.network}, " if spec.kind == "train" else ""
    return f"{spec.address} {trained}{space}, seed {spec.seed}"


def _say_ending() -> None:
    print("Ending at a checkpoint of each cell; press Ctrl-C again to end at once.", file=sys.stderr, flush=True)


def _print_failed(failed: "list[Outcome]") -> None:
    """Name the cells that failed, and why."""
    what = "1 cell failed" if len(failed) == 1 else f"{len(failed)} cells failed"
    print(f"hyperproto: {what}; what is done is reported. Run the command again to try once more.", file=sys.stderr)
    for outcome in failed:
        print(f"  {_describe(outcome.spec)}: {outcome.failure}", file=sys.stderr)


def _print_skipped(plan: "Plan") -> None:
    reasons: dict[str, int] = {}
    for _, reason in plan.skipped:
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in reasons.items():
        print(f"{count} cell{'s'[: count > 1]} left out: {reason}.")


def _print_plan(experiment: "Experiment", plan: "Plan", scale: str, jobs: int | None) -> None:
    """Print every cell and how long it will take here, then the protocol."""
    import os

    from hyperproto.reproduction.estimate import estimate_seconds

    print(experiment.title)
    total = 0.0
    for spec in plan.todo:
        seconds = estimate_seconds(spec)
        total += seconds
        print(f"  to do  {_describe(spec)}: {spec.epochs} epochs, about {_duration(seconds)}")
    for spec in plan.done:
        print(f"  done   {_describe(spec)}")
    _print_protocol(experiment, plan, scale)
    workers = jobs or os.cpu_count() or 1
    print(
        f"{len(plan.todo)} cells to do, {len(plan.done)} done, {len(plan.skipped)} left out; about "
        f"{_duration(total / workers)} with {workers} at a time, by a step measured on this machine."
    )


def _print_protocol(experiment: "Experiment", plan: "Plan", scale: str) -> None:
    """Print the settings of the cells, and what of them is not the paper's."""
    from hyperproto.reproduction.summary import differences

    settings = {
        f"{spec.data}: {spec.network}, {spec.epochs} epochs, batch {spec.batch_size}, rate {spec.lr:g} "
        f"({spec.schedule}, loss {spec.reduction})"
        for spec in (*plan.todo, *plan.done)
        if spec.kind == "train"
    }
    print("Protocol, seeds " + ", ".join(map(str, experiment.seeds(scale))) + ":")
    for line in sorted(settings) + [f"differs from the paper's: {line}" for line in differences(experiment, scale)]:
        print(f"  {line}")


def _duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> _duration(40), _duration(600), _duration(10000), _duration(400000)
    ('40 s', '10 min', '2.8 h', '4.6 days')
    """
    for limit, unit, name in ((100, 1, "s"), (6000, 60, "min")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 3600:.1f} h" if seconds < 200_000 else f"{seconds / 86_400:.1f} days"


def _has_records(experiment: "Experiment", scale: str, results: Path) -> bool:
    """Whether any cell is done."""
    from hyperproto.reproduction.records import find_record

    return any(find_record(results, spec, experiment.name) is not None for spec in experiment.cells(scale))


def _show_report(experiment: "Experiment", scale: str, results: Path) -> None:
    """Print the table and say what was written."""
    from hyperproto._core.errors import InputError
    from hyperproto.cli.console import table_console
    from hyperproto.reproduction.terminal import print_grid
    from hyperproto.reproduction.write import write_report

    if not _has_records(experiment, scale, results):
        raise InputError(
            f'"{results / "cells"}"',
            f"hold records of {experiment.name} at scale {scale}",
            "none",
            f"Run hyperproto reproduce {experiment.name} --scale {scale} --data DIR first.",
        )
    grid, written = write_report(experiment, scale, results, results / "reports")
    print_grid(grid, table_console())
    print(f"Written to {results / 'reports'}: " + ", ".join(path.name for path in written))
