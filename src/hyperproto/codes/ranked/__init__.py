"""Points whose order of nearness is asked for: Equation 6, and placements that weigh it against separation."""

from hyperproto.codes.ranked.assignment import assign
from hyperproto.codes.ranked.joint import (
    auto_weight,
    positive_part,
    ranked_points,
    separate_points,
    spectral_layout,
    target_cosine,
)
from hyperproto.codes.ranked.ranking import Ranking, agreement

__all__ = [
    "Ranking",
    "agreement",
    "assign",
    "auto_weight",
    "positive_part",
    "ranked_points",
    "separate_points",
    "spectral_layout",
    "target_cosine",
]
