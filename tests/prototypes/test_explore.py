import pytest

import hyperproto as hp
from hyperproto.prototypes import explore
from hyperproto.prototypes.explore import compare_dims


def test_the_bound_is_public_and_checked():
    assert hp.separation_bound(240, 8) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="`num_classes` must be at least 2; got 1"):
        hp.separation_bound(1, 8)
    with pytest.raises(ValueError, match="`dim` must be at least 2; got 1"):
        hp.separation_bound(10, 1)


@pytest.mark.parametrize(
    ("classes", "wished", "dim"),
    [(100, 0.0, 50), (100, -1 / 99, 99), (240, 0.5, 8), (5, 0.5, 2), (100, 1 / 11, 22)],
)
def test_the_smallest_dimension_is_found(classes, wished, dim):
    found = hp.suggest_dim(classes, max_cosine=wished)
    assert found.dim == int(found) == dim
    assert found.max_cosine <= wished + 1e-9
    assert hp.separation_bound(classes, found.at_least) <= wished + 1e-9
    assert found.at_least == 2 or hp.separation_bound(classes, found.at_least - 1) > wished
    assert hp.Space(found, hp.Classes(classes)).dim == dim


def test_a_dimension_is_suggested_without_a_search(monkeypatch):
    monkeypatch.setattr(explore, "place", None)
    found = hp.suggest_dim(150, max_cosine=0.1)
    assert (found.at_least, found.dim) == (27, 41)
    assert found.max_cosine <= 0.1
    assert hp.suggest_dim(20, max_cosine=0.31).dim == 5  # a stored code


def test_impossible_wishes_get_a_sentence():
    with pytest.raises(
        ValueError, match=r"`max_cosine` must lie in \[-0.111111, 1\) for 10 classes; got -0.2"
    ):
        hp.suggest_dim(10, max_cosine=-0.2)


def test_comparing_dimensions_puts_ours_between_the_bound_and_the_paper():
    for row in compare_dims(20, (2, 4, 10), effort="fast"):
        assert row.bound - 1e-12 <= row.ours <= row.paper + 1e-12
        assert (
            row.dim == 2 or row.paper < row.random
        )  # on the circle Eq. 5 leaves coinciding points together
