import sys
import types
import warnings

import numpy as np
import pytest

from hyperproto.priors import as_prior, from_wordnet
from hyperproto_runtime.errors import InputError, MissingDataError, MissingExtraError

OFFSETS = {"dog": 2084071, "cat": 2121620, "carnivore": 2075296, "fish": 2512053, "animal": 15388}
ABOVE = {"dog": ["carnivore"], "cat": ["carnivore"], "carnivore": ["animal"], "fish": ["animal"], "animal": []}


NO_WORDNET = (
    "nltk with WordNet's data is not installed: Debian's wordnet-base has the data but for the file lexnames, "
    "without which nltk does not open them and whose rows are on its man page alone"
)


class Synset:
    def __init__(self, word):
        self.word = word

    def __eq__(self, other):
        return self.word == other.word

    def __hash__(self):
        return hash(self.word)

    def hypernyms(self):
        return [Synset(word) for word in ABOVE[self.word]]

    def instance_hypernyms(self):
        return []


class WordNet:
    """Answers as nltk's corpus reader does, from five nouns."""

    def ensure_loaded(self):
        pass

    def get_version(self):
        return "3.0"

    def synsets(self, lemma, pos):
        assert pos == "n"
        return [Synset(lemma), Synset("animal")] if lemma in ABOVE else []

    def synset_from_pos_and_offset(self, pos, offset):
        found = [word for word, at in OFFSETS.items() if at == offset]
        if not found:
            warnings.warn(f"No WordNet synset found for pos={pos} at offset={offset}.", stacklevel=2)
        return Synset(found[0]) if found else None


@pytest.fixture
def wordnet(monkeypatch):
    corpus = types.ModuleType("nltk.corpus")
    corpus.wordnet = WordNet()
    monkeypatch.setitem(sys.modules, "nltk", types.ModuleType("nltk"))
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)
    return corpus.wordnet


def test_names_and_imagenets_identifiers_give_path_similarity(wordnet):
    prior = from_wordnet(("Dog", "n02121620", "fish"))
    np.testing.assert_allclose(prior.similarity, 1 / np.array([[1, 3, 4], [3, 1, 4], [4, 4, 1]]))
    assert prior.source == "WordNet 3.0 (3 of 3 classes)"
    np.testing.assert_array_equal(as_prior("wordnet", ("dog", "cat", "fish"), 3).similarity, prior.similarity)


def test_a_compound_that_wordnet_lacks_is_its_last_word(wordnet):
    prior = from_wordnet(("aquarium_fish", "dog"))
    assert prior.similarity[0, 1] == pytest.approx(1 / 4)
    assert prior.notes == ('1 of 2 names are found by their last word: "aquarium_fish".',)


def test_names_not_in_wordnet_are_listed_or_free(wordnet):
    with pytest.raises(InputError, match='must be in WordNet; 2 of 3 are not: "zzz", "n00000007"'):
        from_wordnet(("zzz", "n00000007", "dog"))
    assert from_wordnet(("zzz", "cat", "dog"), missing="free").known.tolist() == [False, True, True]


@pytest.mark.parametrize("error", [LookupError("Resource wordnet not found."), OSError("No such file: lexnames")])
def test_missing_data_are_answered_by_the_line_to_type(wordnet, monkeypatch, error):
    def absent():
        raise error

    monkeypatch.setattr(wordnet, "ensure_loaded", absent)
    with pytest.raises(MissingDataError, match="must be among nltk.s data.* Type: python -m nltk.downloader wordnet"):
        from_wordnet(("dog", "cat"))


def test_a_missing_package_is_answered_by_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(MissingExtraError, match=r'needs nltk, .*pip install "hyperproto\[wordnet\]"'):
        from_wordnet(("dog", "cat"))


def test_the_installed_wordnet_agrees_with_nltks_own_similarity():
    corpus = pytest.importorskip("nltk.corpus", reason=NO_WORDNET, exc_type=ImportError)
    try:
        corpus.wordnet.ensure_loaded()
    except (LookupError, OSError):
        pytest.skip(NO_WORDNET)
    names = ("dog", "cat", "goldfish", "streetcar", "tulip")
    synsets = [corpus.wordnet.synsets(name, pos="n")[0] for name in names]
    expected = [[a.path_similarity(b) for b in synsets] for a in synsets]
    np.testing.assert_allclose(from_wordnet(names).similarity, expected)
