"""Codes of sign vectors from binary quadratic forms.

Let Q run over a set of quadratic forms on F_2^m and w over all of F_2^m. The D = 2^m dimensional
vectors

    (-1)^(Q(x) + <w, x> + e) / sqrt(D),   x in F_2^m,   e in {0, 1},

have cosine 0 or ±2^(-r/2), where r is the rank of the alternating form B(x, y) = Q(x+y) + Q(x) +
Q(y) of the difference of two of the Q. So the code is as good as the smallest rank of a difference:

- **Kerdock** (1972), m even, on GF(2^(m-1)) x F_2: Q_a(x, e) = sum_{i=1}^{(m-2)/2} Tr((ax)^(2^i+1))
  + e
  Tr(ax). All differences have full rank m: cosine 1/sqrt(D), D/2 forms.
- **Delsarte-Goethals** (1975), m even: Q_a + sum_{i<=t} Tr(b_i x^(2^i+1)): rank >= m - 2t,
  (D/2)^(t+1) forms.
  With δ the difference of two a, the radical has the (x, e) with δ^2 x + u δ + L(x) = 0 for u = e +
  Tr(ax), where L, of the b, is linearized: at most 2^(2t) solutions x for either u, so its even
  dimension is <= 2t.
- **Dual BCH** (Gold 1968 for t = 1), on GF(2^m): sum_{i<=t} Tr(b_i x^(2^i+1)): the radical is the
  set of
  roots of a linearized polynomial of degree 2^(2t), so its dimension is at most 2t, and of the
  parity of m: rank >= m - 2t + (m odd). D^t forms.

The basis vectors ±e_x have cosine ±1/sqrt(D) with every one of these and may always join.

MacWilliams, Sloane, "The Theory of Error-Correcting Codes", chapters 9 and 15.
"""

from functools import cache

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray

from hyperproto.codes.algebra.fields import Integers, distinct, field
from hyperproto.codes.measure import Array


class FormSet:
    """A set of quadratic forms on F_2^bits: ``terms`` free coefficients, and the Kerdock form where
    ``kerdock``.

    With it they are Kerdock's forms for no terms, else those of Delsarte and Goethals; without it
    those of the dual of the BCH code for ``terms + 1`` errors, Gold's for one term.

    The number of a form spells its coefficients in base ``2^field_bits``, the last one (the Kerdock
    coefficient, where there is one) fastest. ``min_rank`` is the smallest rank of a difference, by
    the theorems above.
    """

    def __init__(self, bits: int, terms: int, *, kerdock: bool) -> None:
        """Count the forms; their values are made when asked for."""
        self.bits, self.terms, self.kerdock = bits, terms, kerdock
        self.field_bits = bits - kerdock
        self.num_forms = 1 << self.field_bits * (terms + kerdock)
        self.min_rank = bits - 2 * terms + (0 if kerdock else bits % 2)

    def values(self, forms: Integers) -> NDArray[np.int64]:
        """Return Q(x) in {0, 1} for each form and each x. Shape (len(forms), 2^bits)."""
        gf = field(1 << self.field_bits)
        low = gf.order - 1
        values = np.zeros((len(forms), gf.order), np.int64)
        for i in range(1, self.terms + 1):
            digit = forms >> self.field_bits * (i - 1 + self.kerdock) & low
            values ^= gf.trace(gf.multiply(digit[:, None], gf.power(gf.elements, 2**i + 1)))
        if not self.kerdock:
            return values
        ax = gf.multiply((forms & low)[:, None], gf.elements)
        for i in range(1, self.bits // 2):
            values ^= gf.trace(gf.power(ax, 2**i + 1))
        return np.concatenate([values, values ^ gf.trace(ax)], axis=1)


class SignCode:
    """The code of a :class:`FormSet`, shortened at ``shortened`` coordinates; its rows are made by
    index.

    Shortening keeps the points that are positive at x = 0, 1, 2, 4, ... and drops those
    coordinates: it fixes the sign, and one bit of w for each further coordinate. With k coordinates
    gone, s D turns into s D - k:

        K / 2^k points in D - k dimensions, cosine (s D - k) / (D - k).

    For k = 1 this is the derived code at the point e_0. The order is form by form, so that any
    whole number of forms is a union of cosets; antipodal points are neighbors in the order; the
    basis comes last.
    """

    def __init__(self, forms: FormSet, shortened: int = 0) -> None:
        """Count the points and give their largest cosine, which is exact."""
        self.forms, self.shortened = forms, shortened
        self.full_dim = 1 << forms.bits  # before shortening
        self.dim = self.full_dim - shortened
        self.coset = 2 * self.full_dim >> shortened  # points that share a form
        # the whole code has its signed basis, a shortened one has not
        self.num_points = forms.num_forms * self.coset + (0 if shortened else 2 * self.full_dim)
        self.max_cosine = (self.full_dim * 2 ** (-forms.min_rank / 2) - shortened) / self.dim
        self._dropped: Integers = (1 << np.arange(shortened)) >> 1  # coordinates 0, 1, 2, 4, ...

    def rows(self, index: Integers, dtype: DTypeLike = np.float64) -> Array:
        """Return chosen points as unit rows. Shape (len(index), dim)."""
        form, rest = np.divmod(index, self.coset)
        is_basis = form >= self.forms.num_forms
        if is_basis.any():
            return self._with_basis(index, is_basis, dtype)
        used, which = distinct(form)
        values = self.forms.values(used)
        walsh, sign = self._walsh_rows(values, which, rest)
        keep = np.setdiff1d(np.arange(self.full_dim), self._dropped)
        points: Array = hadamard(self.forms.bits)[:, keep].astype(dtype)[walsh]
        points *= ((1 - 2 * values[:, keep]) / np.sqrt(self.dim)).astype(dtype)[which]
        return points if sign is None else points * sign[:, None]

    def _walsh_rows(
        self, values: Integers, which: Integers, rest: Integers
    ) -> tuple[Integers, Array | None]:
        """Return w and the sign of each point; where shortened, the w that
        keeps it positive there.
        """
        if not self.shortened:
            return rest >> 1, (1 - 2 * (rest & 1)).astype(np.float32)
        walsh = rest << self.shortened - 1
        for bit, x in enumerate(self._dropped[1:]):
            walsh = walsh | values[which, x] << bit
        return walsh, None

    def _with_basis(self, index: Integers, is_basis: NDArray[np.bool_], dtype: DTypeLike) -> Array:
        """Return chosen points when some of them are ±e_x."""
        points: Array = np.zeros((len(index), self.dim), dtype)
        place = index[is_basis] - self.forms.num_forms * self.coset
        points[np.flatnonzero(is_basis), place >> 1] = 1 - 2 * (place & 1)
        if not is_basis.all():
            points[~is_basis] = self.rows(index[~is_basis], dtype)
        return points


@cache
def hadamard(bits: int) -> Array:
    """Return the Walsh functions (-1)^<w, x>, w down and x across. Shape
    (2^bits, 2^bits), float32.
    """
    return scipy.linalg.hadamard(1 << bits, np.float32)
