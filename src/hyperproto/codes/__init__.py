"""Shelf 2: K points on the sphere S^(D-1), as numpy arrays. Nothing here knows about classes, or
torch.
"""

from hyperproto.codes.best import best_code, known_max_cosine
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
