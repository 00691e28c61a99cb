"""Finite fields GF(p^k), small enough for tables.

An element is an integer in [0, p^k): its base-p digits are the coefficients of a polynomial in a
primitive element g. Adding digits modulo p adds; logarithms to the base g multiply. For p = 2
addition is XOR.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError

Integers = NDArray[np.int64]


class Field:
    """Arithmetic of GF(q) on integer arrays of any shape, by tables of logarithms.

    >>> gf4 = field(4)
    >>> [int(gf4.multiply(2, 3)), int(gf4.add(2, 3)), int(gf4.trace(2))]
    [1, 1, 1]
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self.elements: Integers = np.arange(order)  # 0 first
        self.characteristic, self.degree = prime_power(order)
        powers = _primitive_powers(self.characteristic, self.degree)
        self._exp: Integers = np.concatenate([powers, powers])
        self._log: Integers = np.zeros(order, np.int64)
        self._log[powers] = np.arange(order - 1)

    @property
    def generator(self) -> int:
        """A primitive element: its powers are all elements but 0."""
        return int(self._exp[1])

    def add(self, a: Integers | int, b: Integers | int) -> Integers:
        """Return a + b, digit by digit."""
        a, b = np.asarray(a), np.asarray(b)
        if self.characteristic == 2:
            return a ^ b
        if self.degree == 1:
            return (a + b) % self.order
        p = self.characteristic
        digits = [(a // p**i + b // p**i) % p * p**i for i in range(self.degree)]
        return np.asarray(sum(digits))

    def multiply(self, a: Integers | int, b: Integers | int) -> Integers:
        """Return a * b."""
        a, b = np.asarray(a), np.asarray(b)
        product = self._exp[self._log[a] + self._log[b]]
        return np.where((a == 0) | (b == 0), 0, product)

    def power(self, a: Integers | int, exponent: int) -> Integers:
        """Return a ** exponent for an exponent >= 1."""
        a = np.asarray(a)
        return np.where(a == 0, 0, self._exp[self._log[a] * exponent % (self.order - 1)])

    def trace(self, a: Integers | int) -> Integers:
        """Return the trace a + a^p + a^(p^2) + ... in the prime field, as an integer in [0, p)."""
        conjugate = total = np.asarray(a)
        for _ in range(self.degree - 1):
            conjugate = self.power(conjugate, self.characteristic)
            total = self.add(total, conjugate)
        return total

    def is_square(self, a: Integers | int) -> NDArray[np.bool_]:
        """Return where ``a`` is a non-zero square. Odd order only: with even order everything is
        one.
        """
        a = np.asarray(a)
        return np.asarray((a != 0) & (self._log[a] % 2 == 0))


@cache
def field(order: int) -> Field:
    """Return GF(order), built once."""
    return Field(order)


@cache
def prime_power(order: int) -> tuple[int, int]:
    """Return (p, k) with order = p^k; (order, 0) where there is no such pair.

    >>> prime_power(81), prime_power(12)
    ((3, 4), (12, 0))
    """
    p = next((p for p in range(2, int(order**0.5) + 1) if order % p == 0), order)
    degree, rest = 0, order
    while p > 1 and rest % p == 0:
        degree, rest = degree + 1, rest // p
    return (p, degree) if rest == 1 and order > 1 else (order, 0)


def is_prime_power(order: int) -> bool:
    """Return whether a field of this order exists."""
    return prime_power(order)[1] > 0


def distinct(values: Integers) -> tuple[Integers, Integers]:
    """Return the values that occur, or a range if that is no longer, and the place of each given
    one.
    """
    first, last = int(values.min()), int(values.max())
    if last - first < len(values):
        return np.arange(first, last + 1), values - first
    used, which = np.unique(values, return_inverse=True)
    return used, which


def _primitive_powers(p: int, degree: int) -> Integers:
    """Return g^0, g^1, ..., g^(q-2) for the first monic polynomial whose root g has order q - 1."""
    order = p**degree
    for low_digits in range(1, order):
        powers = _powers_of_x(p, degree, low_digits)
        if len(powers) == order - 1:
            return np.array(powers)
    raise InputError("order", "be a power of a prime", order)


def _powers_of_x(p: int, degree: int, tail: int) -> list[int]:
    """Return the powers of x modulo x^degree = tail, from 1 until 1 or 0 comes back."""
    top, powers = p ** (degree - 1), [1]
    tail_digits = [tail // p**i % p for i in range(degree)]
    while len(powers) < p**degree:
        lead, value = powers[-1] // top, powers[-1] % top * p
        value = sum((value // p**i + lead * t) % p * p**i for i, t in enumerate(tail_digits))
        if value in (0, 1):
            break
        powers.append(value)
    return powers
