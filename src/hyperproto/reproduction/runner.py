"""Running the cells of an experiment that are not done yet, here or on many machines."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import joblib
import torch

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import HyperprotoError, MissingDataError
from hyperproto._core.extras import require
from hyperproto._core.registry import choose
from hyperproto.reproduction.cells import run_cell
from hyperproto.reproduction.experiment import Experiment
from hyperproto.reproduction.interrupts import Spreading, is_ending, running_a_cell, starting_workers
from hyperproto.reproduction.places import WORDY, Places
from hyperproto.reproduction.plan import make_plan, words_name
from hyperproto.reproduction.records import write_record
from hyperproto.reproduction.spec import Spec

__all__ = ["Outcome", "run_experiment"]

BACKENDS = dict.fromkeys(("processes", "dask"))


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: "done" or "diverged"; or "left out" or "failed", and the sentence that says why."""

    spec: Spec
    state: str
    measures: dict[str, float]
    failure: str = ""


def run_experiment(
    experiment: Experiment,
    scale: str,
    places: Places,
    *,
    jobs: int | None = None,
    backend: str = "processes",
    scheduler: str | None = None,
    say: Callable[[Outcome], None] | None = None,
    on_wish: Callable[[], None] | None = None,
) -> list[Outcome]:
    """Run every cell that is not done and can be run; each writes its record when it ends.

    Parameters
    ----------
    jobs : int, optional
        Cells at a time, each on one thread, so that results do not depend on it; all cores unless given, or one
        where there is a GPU.
    backend : {"processes", "dask"}
        Of joblib. Workers of Dask must see the same folders.
    scheduler : str, optional
        Address of a Dask scheduler; without one, Dask starts workers here.
    say : callable, optional
        Is told of each cell that ends.
    on_wish : callable, optional
        Called at the first interrupt of cells that are spread over processes: these then end at a checkpoint.

    Returns
    -------
    list of Outcome
        One for each cell that was run. A user's mistake in one, "failed", does not stop the others.

    Raises
    ------
    KeyboardInterrupt
        With a sentence that says how to go on.
    """
    plan = make_plan(experiment, scale, places)
    jobs = check_integer(jobs, "jobs", at_least=1) if jobs is not None else _jobs()
    choose(backend, BACKENDS, what="backend")
    ended = []
    try:
        for outcome in _outcomes(experiment.name, plan.todo, places, jobs, backend, scheduler, on_wish):
            ended.append(outcome)
            if say is not None:
                say(outcome)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted with {len(ended)} of {len(plan.todo)} cells ended; run the same command again to go on, "
            "where those that were begun resume from their checkpoints."
        ) from None
    return ended


def _outcomes(
    name: str,
    specs: Iterable[Spec],
    places: Places,
    jobs: int,
    backend: str,
    scheduler: str | None,
    on_wish: Callable[[], None] | None,
) -> Iterator[Outcome]:
    """Yield what comes of cells, as they end."""
    todo = list(specs)
    if backend == "dask":
        with _dask(scheduler):
            run = joblib.Parallel(n_jobs=-1, batch_size=1, return_as="generator_unordered")
            yield from cast(
                Iterator[Outcome], run(joblib.delayed(_run_and_store)(name, spec, places) for spec in todo)
            )
    elif min(jobs, len(todo)) <= 1:
        yield from (_run_and_store(name, spec, places) for spec in todo)  # here: an interrupt ends at a checkpoint
    else:
        yield from _in_processes(name, todo, places, jobs, on_wish)


def _in_processes(
    name: str, todo: Sequence[Spec], places: Places, jobs: int, on_wish: Callable[[], None] | None
) -> Iterator[Outcome]:
    """Yield what comes of cells that are run by processes here, none of which outlives an interrupt."""
    with Spreading(on_wish) as spreading, joblib.parallel_config(backend="loky"):
        run = joblib.Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        waiting = (spec for spec in todo if not spreading.asked)
        with starting_workers():
            ended = cast(
                Iterator[Outcome], run(joblib.delayed(_run_in_worker)(name, spec, places) for spec in waiting)
            )
        try:
            yield from (outcome for outcome in ended if outcome.state != "interrupted")
        except joblib.externals.loky.process_executor.TerminatedWorkerError:
            if not spreading.asked:
                raise
    if spreading.asked:
        joblib.externals.loky.get_reusable_executor(max_workers=jobs, reuse=True).shutdown(
            wait=True, kill_workers=True
        )
        if spreading.asked == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        raise KeyboardInterrupt


@contextmanager
def _dask(scheduler: str | None) -> Iterator[None]:
    distributed = require("distributed", extra="dask", purpose="Spreading cells with Dask")
    with distributed.Client(scheduler), joblib.parallel_config(backend="dask"):
        yield


def _run_in_worker(name: str, spec: Spec, places: Places) -> Outcome:
    """Run a cell in a process of its own, unless it has been asked to end."""
    if is_ending():
        return Outcome(spec, "interrupted", {})
    try:
        with running_a_cell():
            return _run_and_store(name, spec, places)
    except (KeyboardInterrupt, SystemExit):  # SystemExit: training that ended at a checkpoint because of SIGTERM
        return Outcome(spec, "interrupted", {})


def _run_and_store(name: str, spec: Spec, places: Places) -> Outcome:
    """Run a cell on one thread and write its record; a user's mistake does not stop the others."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        record = run_cell(spec, places)
        if spec.prototypes in WORDY:
            record["protocol"]["words"] = words_name(places)
        write_record(places.results, name, record)
    except MissingDataError as error:  # seen only now: data may have fewer classes than are published
        return Outcome(spec, "left out", {}, str(error))
    except (HyperprotoError, OSError) as error:
        return Outcome(spec, "failed", {}, str(error))
    finally:
        torch.set_num_threads(threads)
    return Outcome(spec, record["state"], record["measures"])


def _jobs() -> int:
    return 1 if torch.cuda.is_available() else os.cpu_count() or 1
