"""Shelf 2: K points on the sphere S^(D-1), as numpy arrays. Nothing here knows about classes, or torch."""

from hyperproto.codes.algebra.polytopes import closed_form, cross_polytope, polygon, simplex
from hyperproto.codes.best import MATRIX_POINTS, best_code, known_code, known_max_cosine
from hyperproto.codes.bounds import random_max_cosine, separation_bound
from hyperproto.codes.certificate import Certificate, Code, PriorAgreement, best_possible, certify
from hyperproto.codes.extend import extend_code, extend_ranked
from hyperproto.codes.large import many_ranked_points, tiled_descent
from hyperproto.codes.measure import Separation, farthest_first, max_cosine, row_blocks, separation, spread_order
from hyperproto.codes.paper import paper_descent
from hyperproto.codes.search import WORK, Effort, optimize

__all__ = [
    "MATRIX_POINTS",
    "WORK",
    "Certificate",
    "Code",
    "Effort",
    "PriorAgreement",
    "Separation",
    "best_code",
    "best_possible",
    "certify",
    "closed_form",
    "cross_polytope",
    "extend_code",
    "extend_ranked",
    "farthest_first",
    "known_code",
    "known_max_cosine",
    "many_ranked_points",
    "max_cosine",
    "optimize",
    "paper_descent",
    "polygon",
    "random_max_cosine",
    "row_blocks",
    "separation",
    "separation_bound",
    "simplex",
    "spread_order",
    "tiled_descent",
]
