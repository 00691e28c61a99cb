"""Hyperspherical prototype networks: classify and regress on one sphere, laid out before training.

Mettes, van der Pol, Snoek. "Hyperspherical Prototype Networks." NeurIPS 2019.

>>> import hyperproto as hp
>>> space = hp.Space(3, digit=hp.Classes(5), angle=hp.Range(0, 180))
>>> space.dim
3

Names are loaded when first used, so importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperproto._version import __version__

if TYPE_CHECKING:
    from hyperproto import (
        baselines,
        codes,
        data,
        estimators,
        evaluation,
        losses,
        metrics,
        models,
        priors,
        prototypes,
        runtime,
        spaces,
        sphere,
        tasks,
        training,
    )
    from hyperproto.loading import load
    from hyperproto.prototypes import Prototypes, place
    from hyperproto.prototypes.explore import separation_bound, suggest_dim
    from hyperproto.spaces import OutputSpace, Space
    from hyperproto.tasks import Angle, Classes, Grades, Labels, Number, Range, Task, Tree
    from hyperproto.training import Run, TrainSettings, evaluate
    from hyperproto.training.fit import fit

_HOMES = {
    "loading": ("load",),
    "prototypes": ("Prototypes", "place"),
    "prototypes.explore": ("separation_bound", "suggest_dim"),
    "spaces": ("OutputSpace", "Space"),
    "tasks": ("Angle", "Classes", "Grades", "Labels", "Number", "Range", "Task", "Tree"),
    "training": ("Run", "TrainSettings", "evaluate", "fit"),
}

__all__ = [
    "Angle",
    "Classes",
    "Grades",
    "Labels",
    "Number",
    "OutputSpace",
    "Prototypes",
    "Range",
    "Run",
    "Space",
    "Task",
    "TrainSettings",
    "Tree",
    "__version__",
    "baselines",
    "codes",
    "data",
    "estimators",
    "evaluate",
    "evaluation",
    "fit",
    "load",
    "losses",
    "metrics",
    "models",
    "place",
    "priors",
    "prototypes",
    "runtime",
    "separation_bound",
    "spaces",
    "sphere",
    "suggest_dim",
    "tasks",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hyperproto' has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "")
    found = (
        getattr(import_module(f"hyperproto.{home}"), name)
        if home
        else import_module(f"hyperproto.{name}")
    )
    globals()[name] = found  # the next time nobody asks here
    return found


def __dir__() -> list[str]:
    return __all__
