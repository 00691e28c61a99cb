"""From points to a code: measure them, bound them, and say what is proved."""

import numpy as np

from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.code import Array, Certificate, Code
from hyperproto.codes.measure import can_measure, max_cosine, sampled_max_cosine

__all__ = ["EXACT_POINTS", "MEETS", "certify", "proved_optimum"]

MEETS = 1e-9  # a code this close to a lower bound or a proved optimum is optimal up to rounding
EXACT_POINTS = 20_000  # up to here every pair is measured; beyond, a theorem is trusted and a sample checked
SAMPLE = 128  # points whose cosines to all others are measured beyond that
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


def proved_optimum(num_points: int, dim: int) -> tuple[float, str] | None:
    """Return the best possible maximum cosine and who proved it, where it is known apart from the bounds."""
    return PROVED.get((num_points, dim))


def certify(
    points: Array,
    *,
    method: str,
    seed: int | None,
    proof: str = "",
    theorem: tuple[float, str] | None = None,
    remark: str = "",
) -> Code:
    """Return ``points`` with a certificate.

    Parameters
    ----------
    points : Array, shape (K, D)
        Unit rows.
    method, seed, remark
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
    optimum, author = proved_optimum(count, dim) or (-np.inf, "")
    if largest <= bound + MEETS:
        proof, proved = proof or "meets the lower bound", True
    elif largest <= optimum + MEETS:
        proof, proved = f"{author}: no better code exists", True
    elif proof:
        raise AssertionError(f"{method} claims to be optimal ({proof}) but has {largest} against {bound}")
    else:
        proof, proved = "the lower bound is not met, and no other proof is known", False
    return Code(points, Certificate(float(largest), bound, proved, proof, method, seed, measured, remark))
