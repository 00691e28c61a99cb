from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.priors import Prior, as_prior, from_similarity, from_vectors
from tests.refusals import refuses

NAMES = ("cat", "dog", "fox")
TABLE = np.array([[1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 2.0, 0.0], [0.0, 3.0, 0.5, 0.0]])
TREE = {"cat": "pet", "dog": "pet", "pet": "animal", "fox": "animal"}


def vector_file(folder: Path) -> Path:
    path = folder / "words.txt"
    path.write_text(
        "".join(f"{n} {' '.join(map(str, row))}\n" for n, row in zip(NAMES, TABLE, strict=True))
    )
    return path


def array_file(folder: Path) -> Path:
    np.save(folder / "table.npy", TABLE)
    return folder / "table.npy"


def named_array_file(folder: Path) -> Path:
    (folder / "table.txt").write_text("fox\ncat\ndog\n")
    np.save(folder / "table.npy", TABLE[[2, 0, 1]])
    return folder / "table.npy"


VECTORS = {
    "file": vector_file,
    "file by its name": lambda p: str(vector_file(p)),
    "array file": array_file,
    "array file with names": named_array_file,
    "array": lambda _: TABLE,
    "tensor": lambda _: torch.from_numpy(TABLE),
    "lists": lambda _: TABLE.tolist(),
    "dict": lambda _: dict(zip(NAMES, TABLE, strict=True)),
    "similarity": lambda _: from_vectors(TABLE).similarity,
    "prior": lambda _: from_vectors(TABLE),
    "prior of other order": lambda _: from_vectors(TABLE[::-1], NAMES[::-1]),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_in_any_form_give_one_prior(tmp_path, kind):
    prior = as_prior(VECTORS[kind](tmp_path), NAMES, 3)
    np.testing.assert_allclose(prior.similarity, from_vectors(TABLE).similarity, rtol=1e-12)
    assert isinstance(prior, Prior)
    assert prior.known.tolist() == [True, True, True]


def csv_file(folder: Path) -> Path:
    (folder / "tree.csv").write_text(
        "".join(f"{child},{parent}\n" for child, parent in TREE.items())
    )
    return folder / "tree.csv"


@pytest.mark.parametrize("make", [csv_file, lambda _: TREE, lambda _: list(TREE.items())])
def test_a_taxonomy_in_any_form_gives_one_prior(tmp_path, make):
    prior = as_prior(make(tmp_path), NAMES, 3)
    np.testing.assert_allclose(prior.similarity, 1 / np.array([[1, 3, 4], [3, 1, 4], [4, 4, 1]]))


def test_a_nested_dict_is_a_taxonomy():
    prior = as_prior({"pet": ["cat", "dog"], "wild": {"canine": ["fox"]}}, NAMES, 3)
    np.testing.assert_allclose(prior.similarity, 1 / np.array([[1, 3, 6], [3, 1, 6], [6, 6, 1]]))
    assert as_prior({"pet": ["cat", "dog"], "wild": ["fox"]}, NAMES, 3).similarity[0, 2] == 1 / 5


def test_the_rows_of_a_data_frame_are_aligned_by_their_labels():
    pandas = pytest.importorskip("pandas")
    similarity = pandas.DataFrame(
        [[1, 0.9, 0.2], [0.9, 1, 0.1], [0.2, 0.1, 1]], index=NAMES, columns=NAMES
    )
    expected = as_prior(similarity.to_numpy(), NAMES, 3).similarity
    shuffled = similarity.loc[["fox", "cat", "dog"], ["dog", "fox", "cat"]]
    np.testing.assert_array_equal(as_prior(shuffled, NAMES, 3).similarity, expected)
    vectors = pandas.DataFrame(TABLE, index=NAMES).loc[["fox", "cat", "dog"]]
    np.testing.assert_allclose(
        as_prior(vectors, NAMES, 3).similarity, from_vectors(TABLE).similarity
    )
    with pytest.raises(InputError, match='1 of 3 are not in it: "bus"'):
        as_prior(similarity, ("cat", "dog", "bus"), 3)
    with pytest.raises(InputError, match="must name its rows and columns alike"):
        from_similarity(similarity.rename(columns={"fox": "wolf"}))


def test_distances_are_not_taken_for_similarities():
    distances = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    with refuses("A similarity matrix", "zeros on the diagonal, as distances have"):
        as_prior(distances, NAMES, 3)
    assert as_prior(-distances, NAMES, 3).similarity[0, 1] == -1


def test_arrays_need_no_names(tmp_path):
    for prior in (
        TABLE,
        from_vectors(TABLE).similarity,
        array_file(tmp_path),
        from_vectors(TABLE, NAMES),
    ):
        assert as_prior(prior, None, 3).num_classes == 3


@pytest.mark.parametrize(
    "prior", [TABLE, TABLE @ TABLE.T, from_vectors(TABLE)], ids=["vectors", "matrix", "prior"]
)
@pytest.mark.parametrize("names", [None, ("a", "b", "c", "d")])
def test_a_prior_for_another_number_of_classes_is_told(prior, names):
    with pytest.raises(InputError, match="must be for the 4 classes to place; got one for 3"):
        as_prior(prior, names, 4)


def test_a_prior_for_other_classes_is_told():
    asked = ("cat", "dog", "bus")
    with pytest.raises(
        InputError, match='1 of 3 are not in it: "bus". It is for "cat", "dog", "fox"'
    ):
        as_prior(from_similarity(TABLE @ TABLE.T, NAMES), asked, 3)
    with pytest.raises(
        InputError, match='Every class must be in the vectors; 1 of 3 are not: "bus"'
    ):
        as_prior(dict(zip(NAMES, TABLE, strict=True)), asked, 3)
    with pytest.raises(InputError, match="none of the 2 is in the vectors"):
        as_prior(dict(zip(NAMES, TABLE, strict=True)), ("bus", "tram"), 2)


def test_a_prior_can_be_used_for_some_of_its_classes():
    prior = as_prior(from_vectors(TABLE, NAMES), ("fox", "cat"), 2)
    assert prior.similarity[0, 1] == from_vectors(TABLE).similarity[2, 0]
    assert prior.names == ("fox", "cat")


def test_a_square_array_of_vectors_is_pointed_to_its_constructor():
    with pytest.raises(
        InputError, match="must be symmetric; .*priors.from_vectors for one vector per class"
    ):
        as_prior(np.array([[1.0, 2.0], [0.0, 1.0]]), None, 2)


def test_what_needs_names_asks_for_them(tmp_path):
    for prior in ({"cat": [1.0]}, TREE, vector_file(tmp_path), "wordnet"):
        with refuses("names", "only the number of classes"):
            as_prior(prior, None, 3)


def test_missing_is_passed_on(tmp_path):
    asked = ("cat", "dog", "bus")
    for prior in (
        TREE,
        csv_file(tmp_path),
        vector_file(tmp_path),
        dict(zip(NAMES, TABLE, strict=True)),
    ):
        assert as_prior(prior, asked, 3, missing="free").known.tolist() == [True, True, False]
    with pytest.raises(InputError, match="Unknown choice for missing classes"):
        as_prior(TABLE, None, 3, missing="skip")


def test_what_is_no_prior_is_told():
    with refuses("prior", "int", InputTypeError):
        as_prior(7, None, 3)


def test_a_prior_made_by_hand_is_checked():
    with refuses("known", "shape (3,) of bool"):
        Prior(np.eye(2), np.ones(3, dtype=bool), "by hand")
    with pytest.raises(InputError, match="must be symmetric"):
        Prior(np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2, dtype=bool), "by hand")


@given(arrays(np.float64, (4, 3), elements=st.floats(0.5, 2)), st.permutations(range(4)))
def test_permuting_classes_permutes_the_prior(table, order):
    names = ("a", "b", "c", "d")
    prior = as_prior(dict(zip(names, table, strict=True)), tuple(names[i] for i in order), 4)
    expected = from_vectors(table).similarity[np.ix_(order, order)]
    np.testing.assert_allclose(prior.similarity, expected, atol=1e-12)
    assert (prior.similarity == prior.similarity.T).all()
    assert (prior.similarity <= np.diag(prior.similarity)).all()
