import numpy as np
import pytest
from algebra_helpers import assert_is_code

from hyperproto.codes.algebra.quadratic import FormSet, SignCode, hadamard


def alternating_forms(values, bits):
    """Return the matrices B(x, y) = Q(x+y) + Q(x) + Q(y) on the unit vectors as one integer per
    row.
    """
    units = 1 << np.arange(bits)
    sums = units[:, None] ^ units
    matrix = values[:, sums] ^ values[:, units][:, :, None] ^ values[:, units][:, None, :]
    matrix[:, range(bits), range(bits)] = 0
    return (matrix << np.arange(bits)).sum(axis=2)


def ranks(rows):
    """Return the rank over GF(2) of each matrix whose rows are spelled as integers."""
    rows = rows.copy()
    rank = np.zeros(len(rows), np.int64)
    for i in range(rows.shape[1]):
        pivot = rows[:, i]
        low = pivot & -pivot
        rank += pivot != 0
        hit = (rows[:, i + 1 :] & low[:, None]) != 0
        rows[:, i + 1 :] ^= np.where(hit, pivot[:, None], 0)
    return rank


def min_rank(forms, pairs):
    """Return the smallest rank of Q - Q' over pairs of form numbers."""
    used, which = np.unique(pairs, return_inverse=True)
    rows = alternating_forms(forms.values(used), forms.bits)
    first, second = which.reshape(pairs.shape).T
    return int(ranks(rows[first] ^ rows[second]).min())


def kerdock_pairs(forms):
    """Return pairs that stand for all: x -> cx scales the Kerdock coefficients, so one is 1 or both
    are 0.
    """
    low, rest = 1 << forms.field_bits, forms.num_forms >> forms.field_bits
    first = np.stack([np.zeros(low * rest, np.int64) + 1, np.arange(low * rest)], axis=1)
    both_zero = np.stack([np.zeros(rest, np.int64), np.arange(rest) * low], axis=1)
    pairs = np.concatenate([first, both_zero])
    return pairs[pairs[:, 0] != pairs[:, 1]]


@pytest.mark.parametrize(
    ("bits", "terms"), [(4, 0), (6, 0), (8, 0), (10, 0), (4, 1), (6, 1), (8, 1), (6, 2)]
)
def test_every_difference_of_kerdock_and_delsarte_goethals_forms_has_the_rank_of_the_theorem(
    bits, terms
):
    forms = FormSet(bits, terms, kerdock=True)
    assert min_rank(forms, kerdock_pairs(forms)) == forms.min_rank == bits - 2 * terms


@pytest.mark.parametrize(
    ("bits", "terms"),
    [(3, 1), (5, 1), (7, 1), (9, 1), (5, 2), (7, 2), (4, 1), (6, 1), (6, 2), (8, 1)],
)
def test_every_dual_bch_form_has_the_rank_of_the_theorem(bits, terms):
    forms = FormSet(bits, terms, kerdock=False)  # a linear set: differences are members
    pairs = np.stack(
        [np.zeros(forms.num_forms - 1, np.int64), np.arange(1, forms.num_forms)], axis=1
    )
    assert min_rank(forms, pairs) == forms.min_rank


def test_rank_helper_can_fail():
    assert ranks(np.array([[2, 1], [0, 0], [3, 3]])).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("forms", "num_points", "cosine"),
    [
        (FormSet(2, 0, kerdock=True), 24, 1 / 2),
        (FormSet(4, 0, kerdock=True), 288, 1 / 4),
        (FormSet(6, 0, kerdock=True), 4224, 1 / 8),
        (FormSet(3, 1, kerdock=False), 144, 1 / 2),
        (FormSet(5, 1, kerdock=False), 2112, 1 / 4),
        (FormSet(4, 1, kerdock=True), 2080, 1 / 2),
    ],
)
def test_whole_sign_code_has_its_size_and_cosine(forms, num_points, cosine):
    code = SignCode(forms)
    points = code.rows(np.arange(code.num_points))
    assert_is_code(points, num_points, 1 << forms.bits, cosine)
    assert code.max_cosine == cosine


@pytest.mark.parametrize("shortened", range(1, 6))
def test_shortened_kerdock_code_follows_the_law(shortened):
    code = SignCode(FormSet(6, 0, kerdock=True), shortened)
    points = code.rows(np.arange(code.num_points))
    assert_is_code(points, 4096 >> shortened, 64 - shortened, (8 - shortened) / (64 - shortened))


@pytest.mark.parametrize(("code", "cosine"), [
    (SignCode(FormSet(7, 1, kerdock=False)), 1 / 8),
    (SignCode(FormSet(7, 2, kerdock=False)), 1 / 4),
    (SignCode(FormSet(6, 1, kerdock=True)), 1 / 4),
    (SignCode(FormSet(8, 0, kerdock=True)), 1 / 16),
    (SignCode(FormSet(8, 1, kerdock=True)), 1 / 8),
    (SignCode(FormSet(10, 0, kerdock=True)), 1 / 32),
    (SignCode(FormSet(7, 2, kerdock=False), 2), 15 / 63),
])  # fmt: skip
def test_sampled_rows_of_large_codes_stay_below_the_cosine(code, cosine):
    rng = np.random.default_rng(0)
    starts = rng.integers(0, code.num_points // code.coset, 6) * code.coset
    index = np.unique(
        np.concatenate([*(start + np.arange(200) for start in starts), [code.num_points - 1]])
    )
    points = code.rows(index)
    assert np.abs(np.linalg.norm(points, axis=1) - 1).max() < 1e-15
    products = points @ points.T
    np.fill_diagonal(products, -1)
    assert products.max() <= cosine + 1e-12
    assert code.max_cosine == pytest.approx(cosine, abs=1e-15)


def test_rows_do_not_depend_on_what_else_is_asked_for():
    code = SignCode(FormSet(5, 1, kerdock=False))
    every = code.rows(np.arange(code.num_points))
    index = np.array([2111, 5, 700, 1999, 5])
    assert np.array_equal(code.rows(index), every[index])


def test_kerdock_bases_are_mutually_unbiased():
    points = SignCode(FormSet(4, 0, kerdock=True)).rows(np.arange(288))
    bases = points.reshape(9, 32, 16)[:, ::2]
    for i in range(9):
        assert np.allclose(bases[i] @ bases[i].T, np.eye(16))
        for j in range(i):
            assert np.allclose(np.abs(bases[i] @ bases[j].T), 1 / 4)


def test_hadamard_rows_are_orthogonal():
    assert np.array_equal(hadamard(4) @ hadamard(4).T, 16 * np.eye(16))
