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
    from hyperproto import codes, data, estimators, evaluation, metrics, models, sphere
    from hyperproto.codes import Certificate
    from hyperproto.evaluation import add_classes, remove_classes, rename_classes
    from hyperproto.loading import load
    from hyperproto.prototypes import Prototypes, Suggestion, place, separation_bound, suggest_dim
    from hyperproto.spaces import (
        CauchySoftmax,
        Classes,
        CompositeSpace,
        ConventionalSpace,
        CosineSoftmax,
        DeepNCM,
        FreeNormSoftmax,
        OutputSpace,
        PowerCosine,
        Range,
        SampledCosineSoftmax,
        Space,
        SquaredCosine,
        squared_cosine_loss,
    )
    from hyperproto.training import Run, evaluate, fit

_HOMES = {
    "CauchySoftmax": "spaces",
    "Certificate": "codes",
    "Classes": "spaces",
    "CompositeSpace": "spaces",
    "ConventionalSpace": "spaces",
    "CosineSoftmax": "spaces",
    "DeepNCM": "spaces",
    "FreeNormSoftmax": "spaces",
    "OutputSpace": "spaces",
    "PowerCosine": "spaces",
    "Prototypes": "prototypes",
    "Range": "spaces",
    "Run": "training",
    "SampledCosineSoftmax": "spaces",
    "Space": "spaces",
    "SquaredCosine": "spaces",
    "Suggestion": "prototypes",
    "add_classes": "evaluation",
    "evaluate": "training",
    "fit": "training",
    "load": "loading",
    "place": "prototypes",
    "remove_classes": "evaluation",
    "rename_classes": "evaluation",
    "separation_bound": "prototypes",
    "suggest_dim": "prototypes",
    "squared_cosine_loss": "spaces",
}
_SHELVES = ("codes", "data", "estimators", "evaluation", "metrics", "models", "priors", "sphere")

__all__ = [
    "CauchySoftmax",
    "Certificate",
    "Classes",
    "CompositeSpace",
    "ConventionalSpace",
    "CosineSoftmax",
    "DeepNCM",
    "FreeNormSoftmax",
    "OutputSpace",
    "PowerCosine",
    "Prototypes",
    "Range",
    "Run",
    "SampledCosineSoftmax",
    "Space",
    "SquaredCosine",
    "Suggestion",
    "__version__",
    "add_classes",
    "codes",
    "data",
    "estimators",
    "evaluate",
    "evaluation",
    "fit",
    "load",
    "metrics",
    "models",
    "place",
    "priors",
    "remove_classes",
    "rename_classes",
    "separation_bound",
    "sphere",
    "squared_cosine_loss",
    "suggest_dim",
]


def __getattr__(name: str) -> Any:
    if name in _SHELVES:
        return import_module(f"hyperproto.{name}")
    if name in _HOMES:
        return getattr(import_module(f"hyperproto.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hyperproto' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
