import shutil
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from hyperproto._core.errors import InputError, MissingDataError, MissingExtraError
from hyperproto.priors import as_prior, from_wordnet

OFFSETS = {"dog": 2084071, "cat": 2121620, "carnivore": 2075296, "fish": 2512053, "animal": 15388}
ABOVE = {
    "dog": ["carnivore"],
    "cat": ["carnivore"],
    "carnivore": ["animal"],
    "fish": ["animal"],
    "animal": [],
}

DEBIANS = Path(
    "/usr/share/wordnet"
)  # where the packages wordnet-base and wordnet-sense-index put the data
# the rows of the file "lexnames", which these packages leave out and nltk wants: lexnames(5WN) has
# them
NOUNS = (
    "Tops act animal artifact attribute body cognition communication event feeling food group location motive object "
    "person phenomenon plant possession process quantity relation shape state substance time"
)
VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather"
)
LEXNAMES = [
    ("adj.all", 3),
    ("adj.pert", 3),
    ("adv.all", 4),
    *((f"noun.{name}", 1) for name in NOUNS.split()),
    *((f"verb.{name}", 2) for name in VERBS.split()),
    ("adj.ppl", 3),
]


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
            warnings.warn(
                f"No WordNet synset found for pos={pos} at offset={offset}.", stacklevel=2
            )
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
    np.testing.assert_array_equal(
        as_prior("wordnet", ("dog", "cat", "fish"), 3).similarity, prior.similarity
    )


def test_a_compound_that_wordnet_lacks_is_its_last_word(wordnet):
    prior = from_wordnet(("aquarium_fish", "dog"))
    assert prior.similarity[0, 1] == pytest.approx(1 / 4)
    assert prior.notes == ('1 of 2 names are found by their last word: "aquarium_fish".',)


def test_names_not_in_wordnet_are_listed_or_free(wordnet):
    with pytest.raises(InputError, match='must be in WordNet; 2 of 3 are not: "zzz", "n00000007"'):
        from_wordnet(("zzz", "n00000007", "dog"))
    assert from_wordnet(("zzz", "cat", "dog"), missing="free").known.tolist() == [False, True, True]


@pytest.mark.parametrize(
    "error",
    [
        LookupError("Resource wordnet not found."),
        OSError("No such file: lexnames"),
        ValueError("Security Violation: data.adj is a link that escapes root"),
    ],
)
def test_missing_data_are_answered_by_the_line_to_type(wordnet, monkeypatch, error):
    def absent():
        raise error

    monkeypatch.setattr(wordnet, "ensure_loaded", absent)
    with pytest.raises(MissingDataError) as raised:
        from_wordnet(("dog", "cat"))
    assert raised.value.advice == "Type: python -m nltk.downloader wordnet"


def test_a_missing_package_is_answered_by_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(
        MissingExtraError, match=r'needs nltk, .*pip install "hyperproto\[wordnet\]"'
    ):
        from_wordnet(("dog", "cat"))


@pytest.fixture
def debians_wordnet(tmp_path, monkeypatch):
    corpus = pytest.importorskip(
        "nltk.corpus", reason="nltk is not installed", exc_type=ImportError
    )
    if not (DEBIANS / "data.noun").is_file() or not (DEBIANS / "index.sense").is_file():
        pytest.skip(
            f'"{DEBIANS}" has not the files of the Debian packages wordnet-base and wordnet-sense-index'
        )
    folder = shutil.copytree(
        DEBIANS, tmp_path / "corpora" / "wordnet"
    )  # nltk follows no links out of it
    (folder / "lexnames").write_text(
        "".join(f"{i:02}\t{name}\t{pos}\n" for i, (name, pos) in enumerate(LEXNAMES))
    )
    monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
    others = corpus.LazyCorpusLoader(
        "omw-1.4", corpus.CorpusReader, ".*"
    )  # other languages, which are never opened
    monkeypatch.setattr(
        corpus, "wordnet", corpus.LazyCorpusLoader("wordnet", corpus.WordNetCorpusReader, others)
    )
    return corpus.wordnet


def test_debians_wordnet_agrees_with_nltks_own_similarity(debians_wordnet):
    names = ("dog", "cat", "goldfish", "streetcar", "tulip")
    synsets = [debians_wordnet.synsets(name, pos="n")[0] for name in names]
    expected = [[a.path_similarity(b) for b in synsets] for a in synsets]
    prior = from_wordnet(names)
    np.testing.assert_allclose(prior.similarity, expected)
    assert prior.source == "WordNet 3.0 (5 of 5 classes)"
    imagenets = from_wordnet(
        ("n02084071", "n02121620", "n01443537")
    )  # dog, cat (the animal), goldfish
    np.testing.assert_array_equal(
        imagenets.similarity, from_wordnet(("dog", "cat", "goldfish")).similarity
    )
