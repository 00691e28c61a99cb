"""Codes found once by long searches, stored with the package.

``python -m hyperproto.codes.make_zoo`` makes the files again, or continues where it was stopped.
"""

from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from hyperproto.codes.certify import certify
from hyperproto.codes.code import Array, Code

__all__ = ["ZOO", "from_zoo", "zoo_shapes"]

ZOO = Path(__file__).with_name("zoo")


def zoo_shapes() -> list[tuple[int, int]]:
    """Return the (K, D) of every stored code, in order."""
    return sorted((int(k), int(d)) for k, d in (path.stem.split("x") for path in ZOO.glob("*x*.safetensors")))


@cache
def from_zoo(num_points: int, dim: int) -> Code | None:
    """Return the stored code of K points in D dimensions, measured anew, or None where there is none."""
    path = ZOO / f"{num_points}x{dim}.safetensors"
    if not path.is_file():
        return None
    points: Array = load_file(path)["points"].astype(np.float64)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return certify(points, method="zoo: smooth-max search, stored with the package", seed=None)
