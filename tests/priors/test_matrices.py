import numpy as np
import pytest
import torch

from hyperproto._core.errors import InputError
from hyperproto.priors import from_similarity
from tests.refusals import refuses


def test_similarities_are_kept_and_the_diagonal_is_not_read():
    matrix = np.array([[np.nan, 2.0, -1.0], [2.0, 0.0, 0.5], [-1.0, 0.5, -7.0]])
    prior = from_similarity(matrix)
    np.testing.assert_array_equal(prior.similarity, [[2, 2, -1], [2, 2, 0.5], [-1, 0.5, 2]])
    np.testing.assert_array_equal(
        from_similarity(torch.from_numpy(matrix)).similarity, prior.similarity
    )
    assert np.isnan(matrix[0, 0])
    assert prior.source == "similarity matrix (3 of 3 classes)"


def test_rounding_is_not_asymmetry():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20, 50)).astype(np.float32)
    matrix = table @ table.T
    matrix[3, 4] *= 1 + 2e-7
    prior = from_similarity(matrix)
    np.testing.assert_array_equal(prior.similarity, prior.similarity.T)


def test_a_matrix_that_is_not_symmetric_names_the_pair():
    matrix = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.5], [0.1, 0.25, 1.0]])
    with pytest.raises(
        InputError, match='"b" and "c" have 0.5 one way and 0.25 the other.*Average it with'
    ):
        from_similarity(matrix, ("a", "b", "c"))


def test_faulty_similarities_are_told():
    with pytest.raises(
        InputError, match=r'must be finite; the row of class "a" \(2 of 2 classes\)'
    ):
        from_similarity([[1, np.nan], [np.nan, 1]], ("a", "b"))
    with refuses("A similarity matrix", "shape (2, 3)"):
        from_similarity(np.ones((2, 3)))
    with refuses("A similarity matrix", "shape (4,)"):
        from_similarity(np.ones(4))
