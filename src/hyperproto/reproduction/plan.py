"""What of an experiment is to be run, what is done, and what cannot be run here."""

from dataclasses import dataclass
from typing import Any

from hyperproto._core.errors import InputError
from hyperproto.reproduction.experiment import Experiment
from hyperproto.reproduction.places import WORDY, Places, what_is_missing
from hyperproto.reproduction.records import find_record
from hyperproto.reproduction.scales import NUM_CLASSES
from hyperproto.reproduction.spec import Spec

__all__ = ["Plan", "make_plan", "words_name"]

RANGES = {"omniart": ("year",), "rotated-mnist": ("angle",)}


@dataclass(frozen=True)
class Plan:
    """What is to be run, what is done already, and what cannot be run here and why."""

    todo: tuple[Spec, ...]
    done: tuple[Spec, ...]
    skipped: tuple[tuple[Spec, str], ...]


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


def words_name(places: Places) -> str:
    """Return what a record knows word vectors by."""
    return places.words.name if places.words is not None else "the authors' sem"


def _class_axes(spec: Spec) -> tuple[int, int]:
    """Return how many classes a cell has, and how many axes they take, before any data are read."""
    ranges = [task for task in RANGES.get(spec.data, ()) if not spec.tasks or task in spec.tasks]
    return spec.classes or NUM_CLASSES.get(spec.data, 0), (spec.dim or 0) - len(ranges)


def _check_words(record: dict[str, Any], spec: Spec, places: Places) -> None:
    """Raise a sentence where a record was made with other word vectors than are given now."""
    before = record["protocol"].get("words")
    if spec.prototypes in WORDY and (places.words or places.authors) and before != words_name(places):
        raise InputError(
            f'Records must be of the word vectors that are given; cell {spec.address} has "{before}", not '
            f'"{words_name(places)}". Give --results another folder, or remove those records.'
        )
