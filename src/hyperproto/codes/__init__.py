"""Shelf 2: K points on the sphere S^(D-1), as numpy arrays. Nothing here knows about classes, or
torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperproto.codes.certificate import (
    Certificate,
    Code,
    PriorAgreement,
    cross_polytope,
    polygon,
    random_max_cosine,
    simplex,
)
from hyperproto.codes.measure import Separation, max_cosine, separation

if TYPE_CHECKING:
    from hyperproto.codes.best import best_code, known_max_cosine

__all__ = [
    "Certificate",
    "Code",
    "PriorAgreement",
    "Separation",
    "best_code",
    "cross_polytope",
    "known_max_cosine",
    "max_cosine",
    "polygon",
    "random_max_cosine",
    "separation",
    "simplex",
]


def __getattr__(name: str) -> Any:
    if name not in ("best_code", "known_max_cosine"):
        raise AttributeError(f"module 'hyperproto.codes' has no attribute {name!r}")
    return getattr(import_module("hyperproto.codes.best"), name)
