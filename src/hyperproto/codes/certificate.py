"""Lower bounds on the maximum cosine of K points in D dimensions, the codes that meet them in
closed form, and the certificate that says how good a code is: measured, bounded, and what is
proved.

References
----------
.. [1] Rankin. "The closest packing of spherical caps in n dimensions." 1955.
.. [2] Levenshtein. "Designs as maximum codes in polynomial metric spaces." 1992.
.. [3] Fejes Tóth. "Über die Abschätzung des kürzesten Abstandes zweier Punkte [...]." 1943.
"""

import itertools
import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hyperproto._core.checks import check_integer
from hyperproto._version import __version__
from hyperproto.codes.measure import Array, can_measure, max_cosine, sampled_max_cosine

MEETS = 1e-9  # a code this close to a lower bound or a proved optimum is optimal up to rounding
# up to here every pair is measured; beyond, a theorem is trusted and a sample checked
EXACT_POINTS = 20_000
SAMPLE = 128  # points whose cosines to all others are measured beyond that
ROUNDED = 1e-6  # what rounding to float32 may add to a cosine

# proved optima that no general bound reaches: (K, D) -> (maximum cosine, who proved it); without a
# closed form, to the digits of the polished contact graph
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


def separation_bound(num_points: int, dim: int) -> float:
    """Return the best known lower bound on the maximum cosine of ``num_points`` points on
    S^(dim-1).

    Rankin [1]_ for K <= 2D, equal arcs on the circle, else Levenshtein [2]_ and, for D = 3, Fejes
    Tóth [3]_, whichever is larger. It grows with K, falls with D, and is met by every sharp code.

    >>> round(separation_bound(16, 5), 12)
    0.2
    >>> round(separation_bound(240, 8), 12)
    0.5
    """
    check_integer(num_points, "num_points", at_least=2, reason="A cosine is between two points.")
    check_integer(dim, "dim", at_least=1)
    if num_points <= dim + 1:
        return -1 / (num_points - 1)
    if dim == 1:
        return 1.0
    if dim == 2:
        return math.cos(2 * math.pi / num_points)
    if num_points <= 2 * dim:
        return 0.0
    if dim == 3:
        return max(_levenshtein(num_points, dim), _fejes_toth(num_points))
    return _levenshtein(num_points, dim)


def random_max_cosine(num_points: int, dim: int) -> float:
    r"""Return the median of the maximum cosine of ``num_points`` random points on S^(dim-1).

    .. math:: \mathrm{cap}(s) = \frac{2 \ln 2}{K (K-1)}, \qquad
              \mathrm{cap}(s) = \tfrac12 I_{1-s^2}\bigl(\tfrac{D-1}2, \tfrac12\bigr) \quad (s \ge 0)

    The K(K-1)/2 pairs are taken as independent, which is close for all but the smallest K.

    >>> round(random_max_cosine(100, 10), 2)
    0.89
    """
    check_integer(num_points, "num_points", at_least=2, reason="A cosine is between two points.")
    from scipy.special import betaincinv

    check_integer(dim, "dim", at_least=2)
    cap = 2 * math.log(2) / (num_points * (num_points - 1))
    sine_squared = float(betaincinv((dim - 1) / 2, 0.5, 2 * min(cap, 1 - cap)))
    return math.copysign(math.sqrt(1 - sine_squared), 0.5 - cap)


def polygon(num_points: int) -> Array:
    """Return the regular polygon, ``(cos ψ, sin ψ)`` at angles of 2π/K (paper, section 2.1). Shape
    (K, 2).
    """
    angles = 2 * np.pi * np.arange(num_points) / num_points
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def simplex(num_points: int, dim: int) -> Array:
    """Return the regular simplex: every cosine is -1/(K-1). Needs K <= D+1; further axes are zero.

    Built row by row: point i has what it needs on axis i to be a unit vector, and all later points
    share the coordinate that gives them the right product with it.

    >>> points = simplex(4, 3)
    >>> (points @ points.T).round(6)[0, 1]
    np.float64(-0.333333)
    """
    points = np.zeros((num_points, dim))
    for i in range(num_points - 1):
        left = num_points - i  # points that still differ, with cosine -1/(left-1) between them
        radius = np.sqrt(num_points * (left - 1) / ((num_points - 1) * left))
        points[i, i] = radius
        points[i + 1 :, i] = -radius / (left - 1)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def cross_polytope(num_points: int, dim: int) -> Array:
    """Return K of the 2D points ±e_i: every cosine is 0 or -1. Needs K <= 2D; pairs are used up in
    order.
    """
    return np.concatenate([np.eye(dim), -np.eye(dim)])[:num_points]


def closed_form(num_points: int, dim: int) -> tuple[Array, str, str] | None:
    """Return (points, method, proof) where a code that meets the bound has a closed form, else
    None.
    """
    if num_points <= dim + 1:
        return (
            simplex(num_points, dim),
            "simplex",
            "Rankin (1955): K <= D+1 points have a cosine >= -1/(K-1)",
        )
    if dim == 2:
        return (
            polygon(num_points),
            "polygon",
            "pigeonhole: K arcs fill the circle, so one is <= 2π/K",
        )
    if num_points <= 2 * dim:
        points = cross_polytope(num_points, dim)
        return points, "cross-polytope", "Rankin (1955): K >= D+2 points have a cosine >= 0"
    return None


def closed_code(num_points: int, dim: int) -> "Code | None":
    """Return the code that has a closed form and meets the bound, certified, or None."""
    if (form := closed_form(num_points, dim)) is None:
        return None
    points, method, proof = form
    return certify(points, method=method, proof=proof)


def _fejes_toth(num_points: int) -> float:
    """Return c / (1 - c) with c = cos(πK / (3K - 6)): equilateral triangles cannot be larger than
    this.
    """
    c = math.cos(math.pi * num_points / (3 * num_points - 6))
    return c / (1 - c)


def _levenshtein(num_points: int, dim: int) -> float:
    """Return the root of L(s) = K, for K > 2D, where L is the Levenshtein function of the degree K
    asks for.

    L_{2k-1} serves 2C(D+k-2, k-1) <= K <= C(D+k-1, k) + C(D+k-2, k-1), and L_{2k} from there to
    2C(D+k-1, k). The root lies between the largest zeros of the Jacobi polynomials that belong to
    those ends, and on a switch point, such as (27, 6) or (240, 8), it is that zero itself.
    """
    k = next(k for k in itertools.count(1) if num_points <= 2 * math.comb(dim + k - 1, k))
    odd = num_points <= math.comb(dim + k - 1, k) + math.comb(dim + k - 2, k - 1)
    low = _largest_jacobi_zero(k - 1, dim, beta=1) if odd else _largest_jacobi_zero(k, dim, beta=0)
    high = _largest_jacobi_zero(k, dim, beta=0 if odd else 1)
    level = _odd_level if odd else _even_level

    def excess(s: float) -> float:
        return level(s, k, dim) / num_points - 1

    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    from scipy.optimize import brentq

    return float(brentq(excess, low, high, xtol=1e-16, rtol=1e-15))


def _odd_level(s: float, k: int, dim: int) -> float:
    """Return L_{2k-1}(s) = C(k+D-3, k-1) [(2k+D-3)/(D-1) - (P_{k-1} - P_k) / ((1-s) P_k)]."""
    before, at, _ = _gegenbauer(s, k, dim)
    ratio = (before - at) / ((1 - s) * at)
    return math.comb(k + dim - 3, k - 1) * ((2 * k + dim - 3) / (dim - 1) - ratio)


def _even_level(s: float, k: int, dim: int) -> float:
    """Return L_{2k}(s) = C(k+D-2, k) [(2k+D-1)/(D-1) - (1+s)(P_k - P_{k+1}) / ((1-s)(P_k +
    P_{k+1}))].
    """
    _, at, after = _gegenbauer(s, k, dim)
    ratio = (1 + s) * (at - after) / ((1 - s) * (at + after))
    return math.comb(k + dim - 2, k) * ((2 * k + dim - 1) / (dim - 1) - ratio)


def _gegenbauer(s: float, k: int, dim: int) -> tuple[float, float, float]:
    """Return P_{k-1}, P_k, P_{k+1} at s, with P(1) = 1: (j+D-2) P_{j+1} = (2j+D-2) s P_j - j
    P_{j-1}.
    """
    before, at = 1.0, s
    for j in range(1, k):
        before, at = at, ((2 * j + dim - 2) * s * at - j * before) / (j + dim - 2)
    return before, at, ((2 * k + dim - 2) * s * at - k * before) / (k + dim - 2)


def _largest_jacobi_zero(k: int, dim: int, *, beta: int) -> float:
    """Return the largest zero of the Jacobi polynomial of degree k, parameters (D-3)/2 + (1, beta).

    Golub and Welsch: it is the largest eigenvalue of the matrix of the three-term recurrence.
    SciPy's `roots_jacobi` finds all zeros, which takes minutes at the degrees of a billion points
    on S².
    """
    if k == 0:
        return -1.0
    from scipy.linalg import eigvalsh_tridiagonal

    a, b = (dim - 1) / 2, (dim - 3) / 2 + beta
    total = 2 * np.arange(k) + a + b
    diagonal = (b * b - a * a) / (total * (total + 2))
    n, total = np.arange(1, k), total[1:]
    squares = 4 * n * (n + a) * (n + b) * (n + a + b) / (total**2 * (total + 1) * (total - 1))
    return float(
        eigvalsh_tridiagonal(diagonal, np.sqrt(squares), select="i", select_range=(k - 1, k - 1))[0]
    )


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
        Share of the triplets (i, j, k) with different similarities whose cosines have the same
        order, by more than .01: less tells nobody anything.
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
        """Rebuild a certificate from :meth:`to_dict`; what other versions have in addition is left
        out.
        """
        from hyperproto._core.schema import from_plain

        return from_plain(cls, values, newer=True)


@dataclass(frozen=True)
class Code:
    """K points on the sphere S^(D-1), ``points`` of shape (K, D) with unit rows, and their
    certificate.
    """

    points: Array
    certificate: Certificate


def best_possible(num_points: int, dim: int) -> float:
    """Return the largest known lower bound on the maximum cosine: a general bound, or a proved
    optimum.
    """
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
        The maximum cosine a construction has, and the citation: used beyond 20,000 points, where a
        sample is checked against it instead of measuring every pair.
    """
    count, dim = points.shape
    measured = "all pairs"
    if count > EXACT_POINTS and theorem is not None:
        largest, citation = theorem
        seen = sampled_max_cosine(points, SAMPLE, seed=0)
        if seen > largest + ROUNDED:
            raise AssertionError(
                f"{method} claims {largest} ({citation}), but two of its points have {seen}"
            )
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
        raise AssertionError(
            f"{method} claims to be optimal ({proof}) but has {largest} against {bound}"
        )
    else:
        proof, proved = "the lower bound is not met, and no other proof is known", False
    return Code(
        points, Certificate(float(largest), bound, proved, proof, method, seed, measured, note)
    )
