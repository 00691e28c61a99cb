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
        spaces,
        sphere,
        training,
    )
    from hyperproto.loading import load
    from hyperproto.prototypes import Prototypes, place, separation_bound, suggest_dim
    from hyperproto.spaces import Classes, CompositeSpace, OutputSpace, Range, Space
    from hyperproto.training import Run, TrainSettings, evaluate, fit

_HOMES = {
    "Classes": "spaces",
    "CompositeSpace": "spaces",
    "OutputSpace": "spaces",
    "Prototypes": "prototypes",
    "Range": "spaces",
    "Run": "training",
    "Space": "spaces",
    "TrainSettings": "training",
    "evaluate": "training",
    "fit": "training",
    "load": "loading",
    "place": "prototypes",
    "separation_bound": "prototypes",
    "suggest_dim": "prototypes",
}

__all__ = [
    "Classes",
    "CompositeSpace",
    "OutputSpace",
    "Prototypes",
    "Range",
    "Run",
    "Space",
    "TrainSettings",
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
    "separation_bound",
    "spaces",
    "sphere",
    "suggest_dim",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"hyperproto.{_HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"hyperproto.{name}")
    raise AttributeError(f"module 'hyperproto' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
