"""The word2vec baseline: principal components as prototypes."""

import numpy as np
import pytest
import torch

from hyperproto import Classes, Space
from reproduction.word_vectors import principal_components, word_vector_prototypes
from tests.reference.baselines import principal_axes

NAMES = ("cat", "dog", "oak", "elm", "fox", "ivy")
TABLE = np.random.default_rng(0).normal(size=(6, 9)) * np.arange(1, 10)


def test_components_equal_those_of_the_covariance():
    expected, found = principal_axes(TABLE, 4), principal_components(TABLE, 4)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_fewer_dimensions_are_the_first_of_more():
    np.testing.assert_allclose(
        principal_components(TABLE, 2), principal_components(TABLE, 5)[:, :2]
    )


def test_dimensions_beyond_the_rank_are_zero_and_directions_stay():
    full, wide = word_vector_prototypes(TABLE, None, 5), word_vector_prototypes(TABLE, None, 8)
    assert not wide.vectors[:, 5:].any()
    torch.testing.assert_close(wide.vectors[:, :5], full.vectors)


def test_a_file_a_dict_and_a_matrix_say_the_same(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text(
        "".join(
            f"{n} {' '.join(repr(x) for x in row.tolist())}\n"
            for n, row in zip(NAMES, TABLE, strict=True)
        )
    )
    of_matrix = word_vector_prototypes(TABLE, NAMES, 3)
    of_dict = word_vector_prototypes(dict(zip(NAMES, TABLE, strict=True)), list(NAMES), 3)
    of_file = word_vector_prototypes(path, NAMES, 3)
    assert torch.equal(of_matrix.vectors, of_dict.vectors)
    torch.testing.assert_close(of_matrix.vectors, of_file.vectors)
    assert of_file.names == NAMES
    assert of_file.certificate.method == "principal components of word vectors words.txt"


def test_they_stand_in_a_space_as_any_prototypes():
    space = Space(3, Classes(word_vector_prototypes(TABLE, NAMES, 3)))
    assert space.predict(space.prototypes.vectors).tolist() == list(range(6))


def test_columns_that_do_not_vary_say_nothing():
    table = np.column_stack([TABLE, np.full(6, 0.1)])
    np.testing.assert_allclose(
        principal_components(table, 3), principal_components(TABLE, 3), atol=1e-12
    )


def test_classes_that_share_a_vector_are_noted():
    table = TABLE.copy()
    table[4] = table[1]
    assert (
        "1 pairs of classes share a prototype"
        in word_vector_prototypes(table, NAMES, 4).certificate.note
    )


def test_what_cannot_be_gets_a_sentence():
    with pytest.raises(
        ValueError,
        match='Every class must be in the vectors; 1 of 2 are not: "cta". .*Did you mean "cat"',
    ):
        word_vector_prototypes(dict(zip(NAMES, TABLE, strict=True)), ["cta", "dog"], 2)
    with pytest.raises(ValueError, match="`names` must name each of the 6 prototypes; got 2 names"):
        word_vector_prototypes(TABLE, ["cat", "dog"], 2)
    with pytest.raises(ValueError, match="`dim` must be at least 2; got 1"):
        word_vector_prototypes(TABLE, NAMES, 1)
    middle = np.vstack([TABLE, TABLE.mean(axis=0)])
    with pytest.raises(
        ValueError, match='average of all in the first 3 components; class "ash" does not .1 of 7'
    ):
        word_vector_prototypes(middle, [*NAMES, "ash"], 3)
