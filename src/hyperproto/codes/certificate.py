"""A spherical code and the certificate that says how good it is: measured, bounded, and what is proved."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hyperproto._core.schema import from_plain
from hyperproto._version import __version__
from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.measure import Array, can_measure, max_cosine, sampled_max_cosine

MEETS = 1e-9  # a code this close to a lower bound or a proved optimum is optimal up to rounding
EXACT_POINTS = 20_000  # up to here every pair is measured; beyond, a theorem is trusted and a sample checked
SAMPLE = 128  # points whose cosines to all others are measured beyond that
OLD_NAMES = {"remark": "note", "meaning": "prior_agreement"}  # in files written up to version 0.1
ROUNDED = 1e-6  # what rounding to float32 may add to a cosine

# proved optima that no general bound reaches: (K, D) -> (maximum cosine, who proved it); without a closed form,
# to the digits of the polished contact graph
PROVED: dict[tuple[int, int], tuple[float, str]] = {
    (7, 3): (0.210138312730603, "Schütte and van der Waerden 1951"),
    (8, 3): ((2 * 2**0.5 - 1) / 7, "Schütte and van der Waerden 1951"),
    (9, 3): (1 / 3, "Schütte and van der Waerden 1951"),
    (10, 3): (0.404394325216251, "Danzer 1963"),
    (11, 3): (5**-0.5, "Danzer 1963"),
    (13, 3): (0.542636486829639, "Musin and Tarasov 2012"),
    (14, 3): (0.563950300360505, "Musin and Tarasov 2015"),
    (24, 3): (0.723078468333509, "Robinson 1961"),
    (10, 4): (1 / 6, "Bachoc and Vallentin 2009"),
    (120, 4): ((1 + 5**0.5) / 4, "Böröczky 1978"),
}


@dataclass(frozen=True)
class PriorAgreement:
    """How far the order of the cosines agrees with the order of similarities a prior asks for.

    Attributes
    ----------
    prior : str
        Where the similarities come from.
    weight : float
        λ, the weight of Equation 6 next to separation; 0 where the placement did not use the prior.
    loss : float
        Equation 6.
    ranked_by_margin : float
        Share of the triplets (i, j, k) with different similarities whose cosines have the same order, by more than
        .01: less tells nobody anything.
    spearman : float
        Rank correlation of similarities and cosines over all pairs; 0 where one side is constant.
    measured : str
        Over what: all triplets, or those of classes drawn at random.
    """

    prior: str
    weight: float
    loss: float
    ranked_by_margin: float
    spearman: float
    measured: str = "all triplets"


@dataclass(frozen=True)
class Certificate:
    """How well K points are separated, how well they could be, and who says so.

    Attributes
    ----------
    max_cosine : float
        Largest cosine between two different points.
    bound : float
        No K points in this dimension can have a smaller maximum cosine.
    proved : bool
        Whether the points are known to be optimal, with the reason in ``proof``.
    proof : str
        The theorem behind ``proved``, or the reason why there is none.
    method : str
        The construction or search that produced the points.
    seed : int or None
        The seed that makes them again; None where chance had no part.
    measured : str
        How ``max_cosine`` is known: over all pairs, or by a theorem and a sample.
    note : str
        What else one should know, such as a search that the clock ended early.
    version : str
        Version of hyperproto that placed them.
    prior_agreement : PriorAgreement or None
        Where a prior was given, how far the order of the cosines agrees with it.
    gap : float
        ``max_cosine - bound``; what is left to gain at most.
    """

    max_cosine: float
    bound: float
    proved: bool
    proof: str
    method: str
    seed: int | None
    measured: str = "all pairs"
    note: str = ""
    version: str = __version__
    prior_agreement: PriorAgreement | None = None
    gap: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.max_cosine - self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """Rebuild a certificate from :meth:`to_dict`; what other versions have besides is left out.

        Up to version 0.1 ``note`` was called "remark" and ``prior_agreement`` "meaning".
        """
        if isinstance(values, dict):
            values = {OLD_NAMES.get(key, key): value for key, value in values.items()}
            if isinstance(agreement := values.get("prior_agreement"), dict):
                values["prior_agreement"] = from_plain(PriorAgreement, agreement, newer=True)
        return from_plain(cls, values, newer=True)


@dataclass(frozen=True)
class Code:
    """K points on the sphere S^(D-1), ``points`` of shape (K, D) with unit rows, and their certificate."""

    points: Array
    certificate: Certificate


def best_possible(num_points: int, dim: int) -> float:
    """Return the largest known lower bound on the maximum cosine: a general bound, or a proved optimum."""
    return max(separation_bound(num_points, dim), PROVED.get((num_points, dim), (-1.0, ""))[0])


def certify(
    points: Array,
    *,
    method: str,
    seed: int | None = None,
    proof: str = "",
    theorem: tuple[float, str] | None = None,
    note: str = "",
) -> Code:
    """Return ``points`` with a certificate.

    Parameters
    ----------
    points : Array, shape (K, D)
        Unit rows.
    method, seed, note
        As in :class:`Certificate`.
    proof : str
        The theorem that makes this construction optimal, where there is one.
    theorem : (float, str), optional
        The maximum cosine a construction has, and the citation: used beyond 20,000 points, where a sample is
        checked against it instead of measuring every pair.
    """
    count, dim = points.shape
    measured = "all pairs"
    if count > EXACT_POINTS and theorem is not None:
        largest, citation = theorem
        seen = sampled_max_cosine(points, SAMPLE, seed=0)
        if seen > largest + ROUNDED:
            raise AssertionError(f"{method} claims {largest} ({citation}), but two of its points have {seen}")
        measured = f"by theorem ({citation}); {SAMPLE} x {count} pairs checked"
    elif not can_measure(count, dim):
        largest = sampled_max_cosine(points, SAMPLE, seed=0)
        measured = f"{SAMPLE} x {count} pairs only: the largest cosine of all may be larger"
    else:
        largest = max_cosine(points)
    bound = separation_bound(count, dim)
    optimum, author = PROVED.get((count, dim), (-np.inf, ""))
    if largest <= bound + MEETS:
        proof, proved = proof or "meets the lower bound", True
    elif largest <= optimum + MEETS:
        proof, proved = f"{author}: no better code exists", True
    elif proof:
        raise AssertionError(f"{method} claims to be optimal ({proof}) but has {largest} against {bound}")
    else:
        proof, proved = "the lower bound is not met, and no other proof is known", False
    return Code(points, Certificate(float(largest), bound, proved, proof, method, seed, measured, note))
