"""Running the cells of an experiment that are not done yet, here or on many machines."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import joblib
import torch

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import HyperprotoError, InputError, MissingDataError
from hyperproto._core.extras import require
from hyperproto._core.registry import choose
from hyperproto.experiments.cells import run_cell
from hyperproto.experiments.experiment import Experiment
from hyperproto.experiments.places import WORDY, Places, what_is_missing
from hyperproto.experiments.records import find_record, write_record
from hyperproto.experiments.scales import NUM_CLASSES
from hyperproto.experiments.spec import Spec

__all__ = ["Outcome", "Plan", "make_plan", "run_experiment"]

BACKENDS = {"processes": "loky", "dask": "dask"}
RANGES = {"omniart": ("year",), "rotated-mnist": ("angle",)}


@dataclass(frozen=True)
class Plan:
    """What is to be run, what is done already, and what cannot be run here and why."""

    todo: tuple[Spec, ...]
    done: tuple[Spec, ...]
    skipped: tuple[tuple[Spec, str], ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: "done" or "diverged"; or "left out" or "failed", and the sentence that says why."""

    spec: Spec
    state: str
    measures: dict[str, float]
    failure: str = ""


def make_plan(experiment: Experiment, scale: str, places: Places) -> Plan:
    """Look at the records and at what lies where."""
    todo, done, skipped = [], [], []
    for spec in experiment.cells(scale):
        record = find_record(places.results, spec, experiment.name)
        if record is not None:
            _check_words(record, spec, places)
            done.append(spec)
        elif (lacks := what_is_missing(spec, places, *_class_axes(spec))) is not None:
            skipped.append((spec, lacks))
        else:
            todo.append(spec)
    return Plan(tuple(todo), tuple(done), tuple(skipped))


def run_experiment(
    experiment: Experiment,
    scale: str,
    places: Places,
    *,
    jobs: int | None = None,
    backend: str = "processes",
    scheduler: str | None = None,
    say: Callable[[Outcome], None] | None = None,
) -> Plan:
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
    """
    plan = make_plan(experiment, scale, places)
    jobs = check_integer(jobs, "jobs", at_least=1) if jobs is not None else _jobs()
    choose(backend, BACKENDS, what="backend")
    failures = []
    for outcome in _outcomes(experiment.name, plan.todo, places, jobs, backend, scheduler):
        if say is not None:
            say(outcome)
        if outcome.state == "failed":
            failures.append(outcome.failure)
    if failures:
        raise InputError(
            f"{len(failures)} of {len(plan.todo)} cells could not be run, the first because: {failures[0]}"
        )
    return plan


def _outcomes(
    name: str, specs: Iterable[Spec], places: Places, jobs: int, backend: str, scheduler: str | None
) -> Iterator[Outcome]:
    """Yield what comes of cells, as they end."""
    todo = list(specs)
    if backend == "processes" and min(jobs, len(todo)) <= 1:
        yield from (_run_and_store(name, spec, places) for spec in todo)  # here: an interrupt ends at a checkpoint
        return
    with _workers(backend, scheduler):
        run = joblib.Parallel(n_jobs=-1 if backend == "dask" else jobs, return_as="generator_unordered")
        yield from cast(Iterator[Outcome], run(joblib.delayed(_run_and_store)(name, spec, places) for spec in todo))


@contextmanager
def _workers(backend: str, scheduler: str | None) -> Iterator[None]:
    if backend != "dask":
        with joblib.parallel_config(backend=BACKENDS[backend]):
            yield
        return
    distributed = require("distributed", extra="dask", purpose="Spreading cells with Dask")
    with distributed.Client(scheduler), joblib.parallel_config(backend="dask"):
        yield


def _run_and_store(name: str, spec: Spec, places: Places) -> Outcome:
    """Run a cell on one thread and write its record; a user's mistake does not stop the others."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        record = run_cell(spec, places)
        if spec.prototypes in WORDY:
            record["protocol"]["words"] = _words_name(places)
        write_record(places.results, name, record)
    except MissingDataError as error:  # seen only now: data may have fewer classes than are published
        return Outcome(spec, "left out", {}, str(error))
    except HyperprotoError as error:
        return Outcome(spec, "failed", {}, str(error))
    finally:
        torch.set_num_threads(threads)
    return Outcome(spec, record["state"], record["measures"])


def _class_axes(spec: Spec) -> tuple[int, int]:
    """Return how many classes a cell has, and how many axes they take, before any data are read."""
    ranges = [task for task in RANGES.get(spec.data, ()) if not spec.tasks or task in spec.tasks]
    return spec.classes or NUM_CLASSES.get(spec.data, 0), (spec.dim or 0) - len(ranges)


def _words_name(places: Places) -> str:
    return places.words.name if places.words is not None else "the authors' sem"


def _check_words(record: dict[str, Any], spec: Spec, places: Places) -> None:
    """Raise a sentence where a record was made with other word vectors than are given now."""
    before = record["protocol"].get("words")
    if spec.prototypes in WORDY and (places.words or places.authors) and before != _words_name(places):
        raise InputError(
            f'Records must be of the word vectors that are given; cell {spec.address} has "{before}", not '
            f'"{_words_name(places)}". Give --results another folder, or remove those records.'
        )


def _jobs() -> int:
    return 1 if torch.cuda.is_available() else os.cpu_count() or 1
