"""Shelf 2: K points on the sphere S^(D-1), as numpy arrays. Nothing here knows about classes, or torch."""

from hyperproto.codes.best import best_code, known_code, known_max_cosine
from hyperproto.codes.bounds import random_max_cosine, separation_bound
from hyperproto.codes.certify import certify
from hyperproto.codes.closed_forms import closed_form, cross_polytope, polygon, simplex
from hyperproto.codes.code import Certificate, Code
from hyperproto.codes.descent import separation_descent
from hyperproto.codes.effort import Effort
from hyperproto.codes.extend import extend_code
from hyperproto.codes.measure import Separation, max_cosine, separation
from hyperproto.codes.order import farthest_first, spread_order
from hyperproto.codes.starts import optimise
from hyperproto.codes.tiled import tiled_descent

__all__ = [
    "Certificate",
    "Code",
    "Effort",
    "Separation",
    "best_code",
    "certify",
    "closed_form",
    "cross_polytope",
    "extend_code",
    "farthest_first",
    "known_code",
    "known_max_cosine",
    "max_cosine",
    "optimise",
    "polygon",
    "random_max_cosine",
    "separation",
    "separation_bound",
    "separation_descent",
    "simplex",
    "spread_order",
    "tiled_descent",
]
