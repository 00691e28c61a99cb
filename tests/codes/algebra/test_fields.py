import numpy as np
import pytest

from hyperproto.codes.algebra.fields import field, is_prime_power, prime_power

ORDERS = [2, 3, 4, 5, 8, 9, 16, 25, 27, 49, 128]


@pytest.mark.parametrize("order", ORDERS)
def test_multiplication_distributes_over_addition(order):
    gf = field(order)
    a, b, c = np.random.default_rng(0).integers(0, order, (3, 500))
    left = gf.multiply(a, gf.add(b, c))
    assert np.array_equal(left, gf.add(gf.multiply(a, b), gf.multiply(a, c)))


@pytest.mark.parametrize("order", ORDERS)
def test_every_element_but_zero_is_a_power_of_the_generator(order):
    gf = field(order)
    powers, value = set(), 1
    for _ in range(order - 1):
        value = int(gf.multiply(value, gf.generator))
        powers.add(value)
    assert powers == set(range(1, order))


@pytest.mark.parametrize("order", ORDERS)
def test_trace_takes_each_value_of_the_prime_field_equally_often(order):
    gf = field(order)
    counts = np.bincount(gf.trace(gf.elements))
    assert counts.tolist() == [order // gf.characteristic] * gf.characteristic


def test_half_of_the_units_of_an_odd_field_are_squares():
    gf = field(27)
    squares = np.unique(gf.power(gf.elements[1:], 2))
    assert np.array_equal(np.flatnonzero(gf.is_square(gf.elements)), squares)


def test_prime_powers_are_recognised():
    known = [q for q in range(40) if is_prime_power(q)]
    assert known == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37]
    assert prime_power(343) == (7, 3)
