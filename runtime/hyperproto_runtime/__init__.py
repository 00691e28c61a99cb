"""Predict with exported models, without torch: numpy, onnxruntime, safetensors and Pillow.

>>> from hyperproto_runtime import Predictor
>>> predictor = Predictor("model/")  # doctest: +SKIP
>>> predictor.predict(["photo.jpg"])  # doctest: +SKIP
array(['cat'], dtype='<U5')

The modules are those of ``hyperproto.runtime``, built under this name for machines without torch.
Names are loaded when first used.
"""

from typing import Any

from . import runtime
from ._version import __version__

__all__ = ["HyperprotoError", "InputError", "ModelError", "Predictor", "TopK", "__version__"]


def __getattr__(name: str) -> Any:
    return getattr(runtime, name)
