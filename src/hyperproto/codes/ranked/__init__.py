"""Points whose order of nearness is asked for: Equation 6, and placements that weigh it against separation."""

from hyperproto.codes.ranked.agreement import agreement
from hyperproto.codes.ranked.apart import apart_points, wished_cosine
from hyperproto.codes.ranked.assignment import assign
from hyperproto.codes.ranked.beside import ranked_beside
from hyperproto.codes.ranked.joint import auto_weight, ranked_points
from hyperproto.codes.ranked.paper import paper_descent
from hyperproto.codes.ranked.ranking import Ranking

__all__ = [
    "Ranking",
    "agreement",
    "apart_points",
    "assign",
    "auto_weight",
    "paper_descent",
    "ranked_beside",
    "ranked_points",
    "wished_cosine",
]
