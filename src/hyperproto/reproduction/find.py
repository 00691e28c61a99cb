"""Experiments by name: every module of this folder that has an ``EXPERIMENT``, or a file of one's own."""

import importlib.util
from importlib import import_module
from pathlib import Path

from hyperproto._core.errors import InputError
from hyperproto._core.registry import unknown_choice
from hyperproto.reproduction.experiment import Experiment

__all__ = ["experiment_names", "find_experiment"]

STARTS = ("table", "figure_", "past_")


def experiment_names() -> list[str]:
    """Return what ``hyperproto reproduce`` takes, found by the names of the files; none is imported.

    >>> "table1" in experiment_names()
    True
    """
    found = [path.stem for path in Path(__file__).parent.glob("*.py") if path.stem.startswith(STARTS)]
    return sorted(stem.replace("_", "-") for stem in found)


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name, or from a Python file that has one as ``EXPERIMENT``."""
    if name.endswith(".py"):
        return _from_file(Path(name))
    if name not in experiment_names():
        raise unknown_choice(name, experiment_names(), what="table or figure")
    held: Experiment = import_module(f"hyperproto.reproduction.{name.replace('-', '_')}").EXPERIMENT
    return held


def _from_file(path: Path) -> Experiment:
    """Run a file of the user's own."""
    if not path.is_file():
        raise InputError(f'"{path}" must be a Python file with an EXPERIMENT; there is none. Check the path.')
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    held = getattr(module, "EXPERIMENT", None)
    if not isinstance(held, Experiment):
        raise InputError(f'"{path}" must have an EXPERIMENT, an Experiment; it has none. CONTRIBUTING.md shows one.')
    return held
