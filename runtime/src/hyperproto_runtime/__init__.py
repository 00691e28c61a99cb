"""Predict with exported models, without torch: numpy, onnxruntime, safetensors and Pillow.

>>> from hyperproto_runtime import Predictor
>>> predictor = Predictor("model/")  # doctest: +SKIP
>>> predictor.predict(["photo.jpg"])  # doctest: +SKIP
array(['cat'], dtype='<U5')

Names are loaded when first used, so importing the package is quick. ``hyperproto`` prepares inputs for training by
the same functions, so that a model gets what it was trained on.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperproto_runtime._version import __version__

if TYPE_CHECKING:
    from hyperproto_runtime.errors import HyperprotoError, InputError
    from hyperproto_runtime.model import ModelError
    from hyperproto_runtime.predictor import Predictor, TopK

_HOMES = {"HyperprotoError": "errors", "InputError": "errors", "ModelError": "model", "Predictor": "predictor"}
_HOMES |= {"TopK": "predictor"}

__all__ = ["HyperprotoError", "InputError", "ModelError", "Predictor", "TopK", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hyperproto_runtime' has no attribute {name!r}")
    return getattr(import_module(f"hyperproto_runtime.{_HOMES[name]}"), name)
