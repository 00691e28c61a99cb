"""Running the cells of an experiment that are not done yet, here or on many machines.

Cells need no care when they are interrupted: a run that is killed resumes from its last checkpoint.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import joblib
import torch

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import HyperprotoError, InputError, MissingDataError, require
from hyperproto._core.processes import Task, run_tasks
from reproduction.cell import NUM_CLASSES, Cell
from reproduction.experiment import Experiment
from reproduction.placements import (
    FILES,
    WITH_WORDS,
    Places,
    authors_file,
    check_available,
)
from reproduction.records import find_record, write_record
from reproduction.run_cell import features_folder, read_cell_data, run_cell


@dataclass(frozen=True)
class Plan:
    """What of an experiment is to be run, what is done already, and what cannot be run here and
    why.
    """

    name: str
    todo: tuple[Cell, ...]
    done: tuple[Cell, ...]
    skipped: tuple[tuple[Cell, MissingDataError], ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: "done" or "diverged"; or "failed", and the error that says why."""

    cell: Cell
    state: str
    measures: dict[str, float]
    error: Exception | None = None


def make_plan(experiment: Experiment, scale: str, places: Places) -> Plan:
    """Find out which cells have a record, and which have their data here."""
    todo, done, skipped = [], [], []
    for cell in experiment.cells(scale, places.results):
        record = find_record(places.results, cell, experiment.name)
        if record is not None:
            _check_words(record, cell, places)
            done.append(cell)
            continue
        try:
            check_available(cell, places)
            _check_authors(cell, places)
            todo.append(cell)
        except MissingDataError as error:
            skipped.append((cell, error))
    return Plan(experiment.name, tuple(todo), tuple(done), tuple(skipped))


def _check_authors(cell: Cell, places: Places) -> None:
    """Raise where the authors have no file of the size that a cell needs."""
    data, axes = cell.run.data, cell.run.space.dim or 0
    num_classes = data.first_classes or NUM_CLASSES.get(data.reader)
    if (
        num_classes is None and cell.run.space.prototypes in FILES
    ):  # as many styles as the paintings at hand have
        source = read_cell_data(cell, places)
        (num_classes,) = source.class_counts
        axes -= len(source.targets) - 1
    if num_classes is not None:
        authors_file(cell, num_classes, axes, places)


def _check_words(record: dict[str, Any], cell: Cell, places: Places) -> None:
    """Raise where a record was made with other word vectors than are given now."""
    before = record["protocol"].get("words")
    if (
        cell.run.space.prototypes in WITH_WORDS
        and (places.words or places.authors)
        and before != places.words_name
    ):
        raise InputError(
            f"The record of cell {cell.address}",
            f'be of the word vectors "{places.words_name}"',
            f'"{before}"',
            "Give --results another folder, or remove those records.",
        )


def run_plan(
    plan: Plan,
    places: Places,
    *,
    jobs: int | None = None,
    dask: str | None = None,
) -> Iterator[Outcome]:
    """Run every cell that is not done and can be run, and yield each as it ends, its record
    written.

    Parameters
    ----------
    jobs : int, optional
        Cells at a time, each on one thread, so that results do not depend on it (default: one per
        core, or one where there is a GPU).
    dask : str, optional
        Address of a Dask scheduler, whose workers must see the same folders; or "local": Dask
        starts workers here (default: processes of this machine, without Dask).

    Yields
    ------
    Outcome
        One for each cell that was run. A user's mistake in one, "failed", does not stop the others.

    Raises
    ------
    KeyboardInterrupt
        With a sentence that says how to go on.
    """
    automatic = 1 if torch.cuda.is_available() else os.cpu_count() or 1
    jobs = check_integer(jobs, "jobs", at_least=1) if jobs is not None else automatic
    ended = 0
    try:
        for outcome in _outcomes(plan, places, jobs, dask):
            ended += 1
            yield outcome
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted with {ended} of {len(plan.todo)} cells ended; run the same command again to go on: "
            "cells resume from their checkpoints."
        ) from None


def _outcomes(plan: Plan, places: Places, jobs: int, dask: str | None) -> Iterator[Outcome]:
    """Yield what comes of cells, as they end: first one of each data set whose features others need
    as well.
    """
    by_folder = {features_folder(cell, places): cell for cell in reversed(plan.todo)}
    first = [cell for folder, cell in by_folder.items() if folder is not None]
    for cells in (first, [cell for cell in plan.todo if cell not in first]):
        tasks: list[Task] = [(_run_and_store, (plan.name, cell, places)) for cell in cells]
        yield from _run_tasks(tasks, jobs, dask) if tasks else ()


def _run_tasks(tasks: list[Task], jobs: int, dask: str | None) -> Iterator[Outcome]:
    if dask is not None:
        distributed = require("distributed", extra="dask", purpose="Spreading cells with Dask")
        delayed = [joblib.delayed(run)(*arguments) for run, arguments in tasks]
        with (
            distributed.Client(None if dask == "local" else dask),
            joblib.parallel_config(backend="dask"),
        ):
            yield from joblib.Parallel(n_jobs=-1, batch_size=1, return_as="generator_unordered")(
                delayed
            )
        return
    with (
        _exit_on_sigterm(),
        closing(run_tasks(tasks, min(jobs, len(tasks)), in_order=False)) as ended,
    ):
        yield from ended


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Leave no worker behind when the block is ended by SIGTERM."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_and_store(name: str, cell: Cell, places: Places) -> Outcome:
    """Run a cell on one thread and write its record; a user's mistake does not stop the others."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        record = run_cell(cell, places)
        if cell.run.space.prototypes in WITH_WORDS:
            record["protocol"]["words"] = places.words_name
        write_record(places.results, name, record)
    except (HyperprotoError, OSError) as error:
        return Outcome(cell, "failed", {}, error)
    finally:
        torch.set_num_threads(threads)
    return Outcome(cell, record["state"], record["measures"])
