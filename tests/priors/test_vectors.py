import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.priors import from_vectors
from hyperproto.priors.vectors import joined_key, match_words, possible_words
from tests.refusals import refuses

WORDS = {"maple": [1.0, 0.0], "tree": [1.0, 1.0], "fox": [0.0, 2.0]}


class KeyedVectors:
    """Answers as gensim's does, fastText's claim to contain every word included."""

    def __init__(self, words):
        self.key_to_index = {word: index for index, word in enumerate(words)}
        self.rows = np.array(list(words.values()), dtype=np.float32)

    def __contains__(self, word):
        return True

    def __getitem__(self, word):
        return self.rows[self.key_to_index[word]]


class Model:
    def __init__(self, words):
        self.wv = KeyedVectors(words)


class OldVectors:
    """An object that only answers ``in`` and ``[]``."""

    def __init__(self, words):
        self.words = words

    def __contains__(self, word):
        return word in self.words

    def __getitem__(self, word):
        return self.words[word]


@pytest.mark.parametrize("kind", [dict, KeyedVectors, Model, OldVectors])
def test_a_dict_and_gensims_objects_are_looked_up_by_name(kind):
    prior = from_vectors(kind(WORDS), ("maple_tree", "Fox"))
    assert prior.similarity[0, 1] == pytest.approx(
        0.5 / np.hypot(1, 0.5)
    )  # (1, 0.5) against (0, 2)
    with pytest.raises(InputError, match='1 of 2 are not: "oak_tree". "oak_tree" lacks "oak"'):
        from_vectors(kind(WORDS), ("oak_tree", "fox"))


def test_a_near_word_is_suggested():
    with pytest.raises(InputError, match=r'"mapel"\. Did you mean "maple"\?'):
        from_vectors(WORDS, ("mapel", "fox"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_tensor_gives_what_an_array_gives(dtype):
    table = torch.tensor([[1.0, 2.0, 0.5], [0.25, -1.0, 4.0]], dtype=dtype, requires_grad=True)
    np.testing.assert_array_equal(
        from_vectors(table).similarity, from_vectors(table.detach().double().numpy()).similarity
    )
    dictionary = {"a": table[0], "b": table[1]}
    np.testing.assert_array_equal(
        from_vectors(dictionary, ("a", "b")).similarity, from_vectors(table).similarity
    )


def test_the_caller_keeps_his_array():
    table = np.array([[3.0, 0.0], [0.0, 5.0]])
    from_vectors(table)
    assert table.tolist() == [[3, 0], [0, 5]]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_length_of_a_vector_does_not_matter(scale):
    prior = from_vectors(np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0]]) * scale)
    np.testing.assert_allclose(prior.similarity[0], [1, 0.96, -1], rtol=1e-12)


def test_duplicates_are_noted_and_not_refused():
    table = np.array([[1.0, 2.0], [0.0, 1.0], [2.0, 4.0]])
    prior = from_vectors(table, ("crane", "fox", "crane_bird"))
    assert prior.notes == (
        '1 pair of classes is identical to the prior, which cannot distinguish them: "crane" and "crane_bird".',
    )
    assert from_vectors(table[:2]).notes == ()
    assert from_vectors(np.ones((5, 2))).notes == (
        "10 pairs of classes are identical to the prior, which cannot distinguish them: "
        "0 and 1, 0 and 2, 0 and 3, 0 and 4, 1 and 2 and 5 more.",
        "The prior says nothing: every pair of classes is equally similar.",
    )


def test_a_zero_vector_names_the_class():
    with pytest.raises(InputError, match=r'class "b" \(1 of 2 classes\)'):
        from_vectors(np.array([[1.0, 0.0], [0.0, 0.0]]), ("a", "b"))
    with pytest.raises(InputError, match='class "up_down"'):
        from_vectors({"up": [1.0], "down": [-1.0], "side": [2.0]}, ("up_down", "side"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_names_the_class(bad):
    table = np.array([[1.0, 0.0], [0.0, bad]])
    with pytest.raises(InputError, match="must be finite; that of class 1 "):
        from_vectors(table)
    with pytest.raises(InputError, match='must be finite; that of class "b" '):
        from_vectors(table, ("a", "b"))


def test_faulty_vectors_are_told():
    with pytest.raises(
        InputError, match='`vectors` must have one dimension; "maple" has 2 numbers and "oak" has 3'
    ):
        from_vectors(WORDS | {"oak": [1, 2, 3]}, ("maple", "oak"))
    with refuses('The vector of "oak"', "shape (1, 2)"):
        from_vectors(WORDS | {"oak": [[1, 2]]}, ("maple", "oak"))
    with refuses('The vector of "oak"', "list (values of <U1)", InputTypeError):
        from_vectors(WORDS | {"oak": ["a", "b"]}, ("maple", "oak"))
    with refuses(
        "vectors",
        "list (setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part.)",
        InputTypeError,
    ):
        from_vectors([[1, 2], [3]])
    with refuses("vectors", "shape (2,)"):
        from_vectors(np.ones(2))
    with refuses("names", "3 names"):
        from_vectors(np.eye(2), ("a", "b", "c"))
    with refuses("names", "only the number of classes"):
        from_vectors(WORDS)
    with pytest.raises(
        InputError, match='Unknown choice for missing classes "fre".*Did you mean "free"'
    ):
        from_vectors(WORDS, ("maple",), missing="fre")


def test_equal_vectors_are_equally_similar_to_every_other():
    vectors = np.random.default_rng(0).standard_normal((100, 100))
    vectors[93] = 3 * vectors[50]  # rounding must not put the two into an order
    similarity = np.delete(from_vectors(vectors).similarity, [50, 93], axis=0)
    np.testing.assert_array_equal(similarity[:, 93], similarity[:, 50])


@pytest.mark.parametrize(
    ("name", "vocabulary", "expected"),
    [
        ("apple", {"apple", "Apple"}, ("apple",)),
        ("Apple", {"apple"}, ("apple",)),
        ("paris", {"Paris"}, ("Paris",)),
        ("usa", {"USA"}, ("USA",)),
        ("maple_tree", {"maple_tree", "maple", "tree"}, ("maple_tree",)),
        ("Maple-Tree", {"maple tree", "mapletree"}, ("maple tree",)),
        ("lawn/mower", {"lawnmower", "lawn", "mower"}, ("lawnmower",)),
        ("new_york", {"New_York"}, ("New_York",)),
        ("sweet pepper", {"sweet", "Pepper"}, ("sweet", "Pepper")),
        (
            "001.Black_footed_Albatross",
            {"black", "footed", "albatross"},
            ("black", "footed", "albatross"),
        ),
        ("maple_tree", {"maple"}, ()),
        ("glasses", {"glass"}, ()),
        ("_", {"maple"}, ()),
        ("Ka\u0308se", {"k\u00e4se"}, ("k\u00e4se",)),
    ],
)
def test_a_name_is_matched_whole_before_in_parts(name, vocabulary, expected):
    assert match_words(name, vocabulary.__contains__) == expected


def test_a_name_that_stands_in_the_vocabulary_is_taken_as_it_stands():
    assert match_words("Maple_Tree", {"Maple_Tree", "maple_tree"}.__contains__) == ("Maple_Tree",)


def test_the_words_a_name_lacks_are_told():
    with pytest.raises(InputError, match='"sweet_peper" lacks "peper"'):
        from_vectors({"sweet": [1.0], "apple": [1.0]}, ("sweet_peper", "apple"))


words = st.lists(st.text("abAB", min_size=1, max_size=3), min_size=1, max_size=3)


@given(words, st.sampled_from("_- /"), st.sets(st.text("abAB_- ", max_size=7)))
def test_no_word_is_asked_for_that_a_reader_leaves_out(parts, separator, vocabulary):
    name = separator.join(parts)
    kept = possible_words([name]) & vocabulary
    assert match_words(name, kept.__contains__) == match_words(name, vocabulary.__contains__)


@given(words)
def test_names_differing_in_case_and_separators_have_one_key(parts):
    assert (
        len(
            {joined_key(s.join(parts).lower()) for s in "_- /"}
            | {joined_key("_".join(parts).upper())}
        )
        == 1
    )
