"""Predict with exported models, without torch: numpy, onnxruntime, safetensors and Pillow.

>>> from hyperproto.runtime import Predictor
>>> predictor = Predictor("model/")  # doctest: +SKIP
>>> predictor.predict(["photo.jpg"])  # doctest: +SKIP
array(['cat'], dtype='<U5')

Names are loaded when first used, so importing the package is quick. Training prepares inputs by the
same functions, so that a model gets what it was trained on. Imports are relative, since the
distribution without torch builds this folder as ``hyperproto_runtime``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._version import __version__

if TYPE_CHECKING:
    from .._core.errors import HyperprotoError, InputError
    from .answers import TopK
    from .model import ModelError
    from .predictor import Predictor

_HOMES = {
    "HyperprotoError": ".._core.errors",
    "InputError": ".._core.errors",
    "ModelError": ".model",
    "Predictor": ".predictor",
    "TopK": ".answers",
}

__all__ = ["HyperprotoError", "InputError", "ModelError", "Predictor", "TopK", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
