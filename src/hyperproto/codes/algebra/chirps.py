"""Codes of complex chirps, real dimension D = 2q, for an odd prime power q.

With ψ(y) = exp(2πi Tr(y) / p) the additive character of GF(q), the chirps

    i^e ψ(f(t)) / sqrt(q),   t in GF(q),   f a polynomial of degree at most n without constant term,

have inner products of modulus at most (n - 1)/sqrt(q) (Weil, for p > n). For n = 2 these are Gauss
sums, of modulus exactly 1/sqrt(q) or 0: with the basis they are q + 1 mutually unbiased bases
(Alltop 1980; Wootters, Fields 1989). A cosine is the real part of an inner product, so four phases
i^e come for free: their cosines are 0 and -1. Up to q = 9 five phases fit as well, and six for q =
3.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hyperproto.codes.algebra.fields import Integers, distinct, field
from hyperproto.codes.measure import Array

Complex = NDArray[np.complexfloating[Any, Any]]


class ChirpCode:
    """Chirps of degree at most ``degree`` over GF(order), each in ``phases`` phases; rows are made
    by index.

    The number of a point is ``f * phases + e``, where f spells the coefficients of t, t^2, ... in
    base q, that of t fastest; the signed basis comes last. A block of ``coset`` points is one
    orthonormal basis in all phases, with cosines up to ``inside``: 0 between its vectors,
    cos(2π/phases) between phases.
    """

    def __init__(self, order: int, degree: int = 2) -> None:
        """Count the points and give their largest cosine: exact for degree 2, else computed."""
        self.order, self.degree = order, degree
        self.dim = 2 * order
        self.max_cosine = (
            1 / math.sqrt(order) if degree == 2 else largest_character_sum(order) / order
        )
        # as many phases as keep the cosine of a point with itself turned below the rest
        self.phases = max(
            n for n in (4, 5, 6) if math.cos(2 * math.pi / n) < self.max_cosine or n == 4
        )
        self.inside = 0.0 if self.phases == 4 else math.cos(2 * math.pi / self.phases)
        self.coset = order * self.phases
        self.num_points = (order ** (degree - 1) + 1) * self.coset

    def rows(self, index: Integers, dtype: DTypeLike = np.float64) -> Array:
        """Return chosen points as unit rows: real parts, then imaginary parts. Shape (len(index),
        dim).

        Chirps of one basis differ by a character ψ(b t) and a phase; what they share is made once.
        """
        number, phase = np.divmod(index, self.phases)
        curve, b = np.divmod(number, self.order)
        used, which = distinct(curve)
        kind = np.result_type(dtype, np.complex64)
        points = self._curves(used).astype(kind)[which]
        points *= (_characters(self.order) / math.sqrt(self.order)).astype(kind)[b]
        basis = np.flatnonzero(curve == self.order ** (self.degree - 1))
        points[basis] = 0
        points[basis, b[basis]] = 1
        points *= _phases(self.phases).astype(kind)[phase][:, None]
        return np.concatenate([points.real, points.imag], axis=1)

    def _curves(self, numbers: Integers) -> Complex:
        """Return ψ(f(t)) for f without linear term, one row for each number that spells its
        coefficients.
        """
        gf = field(self.order)
        exponent = np.zeros((len(numbers), self.order), np.int64)
        for k in range(2, self.degree + 1):
            digit = numbers // self.order ** (k - 2) % self.order
            exponent = gf.add(exponent, gf.multiply(digit[:, None], gf.power(gf.elements, k)))
        return _phases(gf.characteristic)[gf.trace(exponent)]


@cache
def _characters(order: int) -> Complex:
    """Return ψ(b t), b down and t across."""
    gf = field(order)
    return _phases(gf.characteristic)[gf.trace(gf.multiply(gf.elements[:, None], gf.elements))]


@cache
def _phases(count: int) -> Complex:
    """Return the roots of unity exp(2πi e / count); ±1 and ±i exactly."""
    roots: Complex = np.exp(2j * np.pi * np.arange(count) / count)
    return np.asarray(roots.round() if count == 4 else roots)


@cache
def largest_character_sum(order: int) -> float:
    """Return max over c and a != 0 of |sum over t of ψ(a t^3 + b t^2 + c t)|, q a prime: at most 2
    sqrt(q), by Weil.

    Shifting t removes b (p > 3), scaling t leaves a = 1, g, g^2; one Fourier transform of ψ(a t^3)
    gives all c. Without b the sum is real (t -> -t conjugates it), so the cosine of two chirps
    attains the modulus.
    """
    gf = field(order)
    cubes, generator = gf.power(gf.elements, 3), gf.generator
    scales = (1, generator, generator**2)
    sums = [np.fft.fft(np.exp(2j * np.pi * (a * cubes % order) / order)) for a in scales]
    return float(np.abs(sums).max())
