"""Shelf 1: the sphere S^(D-1), as pure functions on plain tensors of any float dtype and device."""

from hyperproto.sphere.geometry import (
    angle,
    cosine,
    exp,
    log,
    normalize,
    pairwise_cosine,
    sample_uniform,
    sample_von_mises_fisher,
    tangent,
    working_dtype,
)

__all__ = [
    "angle",
    "cosine",
    "exp",
    "log",
    "normalize",
    "pairwise_cosine",
    "sample_uniform",
    "sample_von_mises_fisher",
    "tangent",
    "working_dtype",
]
