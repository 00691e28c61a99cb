import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperproto.priors.names import joined_key, lacking_words, match, possible_words


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
        ("001.Black_footed_Albatross", {"black", "footed", "albatross"}, ("black", "footed", "albatross")),
        ("maple_tree", {"maple"}, ()),
        ("glasses", {"glass"}, ()),
        ("_", {"maple"}, ()),
        ("Ka\u0308se", {"k\u00e4se"}, ("k\u00e4se",)),
    ],
)
def test_a_name_is_matched_whole_before_in_parts(name, vocabulary, expected):
    assert match(name, vocabulary.__contains__) == expected


def test_a_name_that_stands_in_the_vocabulary_is_taken_as_it_stands():
    assert match("Maple_Tree", {"Maple_Tree", "maple_tree"}.__contains__) == ("Maple_Tree",)


def test_the_words_a_name_lacks_are_told():
    assert lacking_words("sweet_peper", {"sweet"}.__contains__) == ["peper"]


words = st.lists(st.text("abAB", min_size=1, max_size=3), min_size=1, max_size=3)


@given(words, st.sampled_from("_- /"), st.sets(st.text("abAB_- ", max_size=7)))
def test_no_word_is_asked_for_that_a_reader_leaves_out(parts, separator, vocabulary):
    name = separator.join(parts)
    kept = possible_words([name]) & vocabulary
    assert match(name, kept.__contains__) == match(name, vocabulary.__contains__)


@given(words)
def test_names_differing_in_case_and_separators_have_one_key(parts):
    assert len({joined_key(s.join(parts).lower()) for s in "_- /"} | {joined_key("_".join(parts).upper())}) == 1
