import numpy as np
import pytest
import torch

from hyperproto.priors import as_prior, from_similarity
from hyperproto.priors.accept import read_matrix_table
from hyperproto_runtime.errors import InputError


def test_similarities_are_kept_and_the_diagonal_is_not_read():
    matrix = np.array([[np.nan, 2.0, -1.0], [2.0, 0.0, 0.5], [-1.0, 0.5, -7.0]])
    prior = from_similarity(matrix)
    np.testing.assert_array_equal(prior.similarity, [[2, 2, -1], [2, 2, 0.5], [-1, 0.5, 2]])
    np.testing.assert_array_equal(from_similarity(torch.from_numpy(matrix)).similarity, prior.similarity)
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
    with pytest.raises(InputError, match='"b" and "c" have 0.5 one way and 0.25 the other.*Average it with'):
        from_similarity(matrix, ("a", "b", "c"))


def test_faulty_similarities_are_told():
    with pytest.raises(InputError, match=r'must be finite; the row of class "a" is not \(2 of 2 rows\)'):
        from_similarity([[1, np.nan], [np.nan, 1]], ("a", "b"))
    with pytest.raises(InputError, match=r"must be square, classes by classes; got shape \(2, 3\)"):
        from_similarity(np.ones((2, 3)))
    with pytest.raises(InputError, match=r"A similarity matrix must be a matrix .*; got shape \(4,\)"):
        from_similarity(np.ones(4))


NAMES = ("cat", "dog", "car")
BARE = "1,.8,.1\n.8,1,.2\n.1,.2,1\n"
EDGED = ",dog,cat,car\ndog,1,.8,.2\ncat,.8,1,.1\ncar,.2,.1,1\n"


def write(tmp_path, text):
    path = tmp_path / "matrix.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_square_of_numbers_is_a_similarity_in_class_order(tmp_path):
    prior = as_prior(str(write(tmp_path, BARE)), NAMES, 3)
    assert prior.similarity[0, 1] == 0.8
    assert "similarity matrix matrix.csv" in prior.source


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_names_along_the_edges_put_it_into_the_order_asked_for(tmp_path, delimiter):
    prior = as_prior(write(tmp_path, EDGED.replace(",", delimiter)), NAMES, 3)
    assert (prior.similarity[0, 1], prior.similarity[0, 2], prior.similarity[1, 2]) == (0.8, 0.1, 0.2)


@pytest.mark.parametrize("text", ["dog,cat,car\n1,.8,.2\n.8,1,.1\n.2,.1,1\n", EDGED.replace(",dog,cat,car\n", "")])
def test_names_along_one_edge_are_enough(tmp_path, text):
    table, names = read_matrix_table(write(tmp_path, text))
    assert names == ("dog", "cat", "car")
    np.testing.assert_array_equal(table[0], [1, 0.8, 0.2])


def test_a_taxonomy_is_no_matrix(tmp_path):
    path = write(tmp_path, "cat,pet\ndog,pet\npet,thing\ncar,thing\n")
    assert read_matrix_table(path) is None
    assert as_prior(path, NAMES, 3).similarity[0, 1] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2,3\n4,5\n6,7,8\n", "row 2 has 2 cells"),
        ("1,2,3\n4,x,6\n7,8,9\n", "or text among them"),
        (EDGED.replace("cat,.8", "cow,.8"), "name its rows and columns alike"),
        ("1,.8,.1\n.7,1,.2\n.1,.2,1\n", "must be symmetric"),
    ],
)
def test_a_bad_matrix_gets_a_sentence(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_prior(write(tmp_path, text), NAMES, 3)
