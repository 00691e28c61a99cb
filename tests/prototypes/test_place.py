import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from hyperproto import place
from hyperproto._core.errors import InputError

VECTORS = np.random.default_rng(1).standard_normal((150, 211))


@pytest.mark.parametrize(("classes", "dim"), [(2, 2), (3, 2), (4, 3), (10, 9), (10, 30), (100, 99)])
def test_few_classes_form_a_simplex(classes, dim):
    certificate = place(classes, dim).certificate
    assert certificate.max_cosine == pytest.approx(-1 / (classes - 1), abs=1e-14)
    assert certificate.proved
    assert "Rankin" in certificate.proof
    assert certificate.gap == pytest.approx(0, abs=1e-14)
    assert certificate.seed is None


@pytest.mark.parametrize("classes", [4, 5, 7, 100])
def test_classes_on_the_circle_are_equal_slices(classes):
    certificate = place(classes, 2).certificate
    assert certificate.max_cosine == pytest.approx(math.cos(2 * math.pi / classes), abs=1e-14)
    assert certificate.proved


@pytest.mark.parametrize(("classes", "dim"), [(5, 3), (6, 3), (20, 10), (150, 100)])
def test_up_to_two_per_axis_form_a_cross_polytope(classes, dim):
    certificate = place(classes, dim).certificate
    assert certificate.max_cosine == 0
    assert certificate.proved


def test_the_certificate_states_what_is_measured():
    placed = place(21, 4, seed=3, effort="fast")
    products = placed.vectors @ placed.vectors.T
    products.fill_diagonal_(-2)
    assert placed.certificate.max_cosine == pytest.approx(products.max().item(), abs=1e-15)
    assert placed.certificate.bound < placed.certificate.max_cosine
    assert placed.certificate.gap == placed.certificate.max_cosine - placed.certificate.bound
    assert placed.certificate.version


def test_the_papers_method_separates_better_than_chance():
    paper, chance = place(50, 5, method="paper"), place(50, 5, method="random")
    assert paper.certificate.max_cosine < chance.certificate.max_cosine - 0.2
    assert "Eq. 5" in paper.certificate.method
    # it descends even where a closed form is known, and ends near it: a fixed rate keeps it
    # swinging
    assert place(4, 3, method="paper").certificate.max_cosine == pytest.approx(-1 / 3, abs=0.05)


def test_the_papers_method_takes_the_steps_of_the_authors_files():
    """Table 2 prints 0.95 for 100 classes in 100 dimensions, which 10,000 steps exceed."""
    default = place(100, 100, method="paper")
    assert torch.equal(default.vectors, place(100, 100, method="paper", steps=1_000).vectors)
    assert round(default.separation().min, 2) == 0.95
    assert default.certificate.method == "paper (Eq. 5, 1,000 steps)"
    assert place(4, 3, method="paper").certificate.method == "paper (Eq. 5, 10,000 steps)"
    with pytest.raises(
        ValueError,
        match='`steps` must be left out unless method="paper" descends step by step; got 3',
    ):
        place(4, 3, steps=3)
    with pytest.raises(ValueError, match="`steps` must be"):
        place(4, 3, method="paper", steps=-1)


@pytest.mark.parametrize("method", ["auto", "optimize", "paper", "random"])
def test_a_seed_fixes_the_result_bit_for_bit(method):
    first, second = (place(20, 4, method=method, effort="fast", seed=5) for _ in range(2))
    assert torch.equal(first.vectors, second.vectors)


@pytest.mark.parametrize(
    ("classes", "dim", "options"),
    [
        (40, 7, {"effort": "fast"}),  # a search
        (700, 105, {"method": "codes"}),  # made by a QR decomposition
        (150, 8, {"method": "project", "prior": VECTORS}),  # laid out by singular vectors
    ],
)
def test_the_number_of_threads_and_workers_changes_nothing(classes, dim, options):
    with threadpool_limits(limits=1):
        one = place(classes, dim, seed=1, workers=1, **options)
    with threadpool_limits(limits=2):
        two = place(classes, dim, seed=1, workers=2, **options)
    assert torch.equal(one.vectors, two.vectors)
    assert one.certificate == two.certificate


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        (
            (1, 3),
            ValueError,
            "`classes` must be at least 2; got 1. A single class needs no prototype",
        ),
        ((3, 1), ValueError, "`dim` must be at least 2; got 1"),
        ((3.5, 2), TypeError, "`classes` must be a whole number; got 3.5"),
        ((True, 2), TypeError, "`classes` must be a whole number; got True"),
        (
            ("cats", 2),
            TypeError,
            '`classes` must be a number or a list of names; got one string, "cats"',
        ),
    ],
)
def test_impossible_requests_get_a_sentence(arguments, kind, sentence):
    with pytest.raises(kind, match=sentence):
        place(*arguments)


def test_an_unknown_method_gets_a_suggestion():
    with pytest.raises(ValueError, match='Unknown placement method "papr".*Did you mean "paper"?'):
        place(3, 2, method="papr")


@pytest.mark.parametrize(
    ("classes", "dim"),
    [(2**63, 3), (10**30, 3), (3, 2**40), (10**12, 128), (10**9, 3), (3, 2**31), (10**5, 10**5)],
)
def test_what_no_memory_holds_is_said_before_it_is_allocated(classes, dim, monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=16e9))
    with pytest.raises(
        InputError,
        match=r"classes x dim must fit into the 16 GB of memory that are free; got .* GB",
    ):
        place(classes, dim)
