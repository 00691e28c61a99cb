"""WordNet as a prior, from the copy that nltk has installed. Nothing is downloaded."""

import re
import warnings
from typing import Any

import numpy as np

from hyperproto._core.errors import InputError
from hyperproto._core.extras import require
from hyperproto.priors.hierarchy import heights, path_similarity
from hyperproto.priors.names import split_words
from hyperproto.priors.prior import Missing, Prior, build_prior, coinciding
from hyperproto.priors.wording import check_missing, listed, settle_missing

__all__ = ["from_wordnet"]

WNID = re.compile(r"n\d{8}")  # as ImageNet names its classes: n and the offset of a noun in WordNet 3.0


def from_wordnet(names: tuple[str, ...], *, missing: Missing = "error") -> Prior:
    """Return the prior of WordNet's hierarchy of nouns: 1 / (1 + steps between two classes).

    A name is its first noun synset. A name such as ``n01443537`` is the synset of that offset, as in ImageNet; those
    need WordNet 3.0, which is what nltk calls "wordnet". A name of several words that WordNet does not have is its
    last word, the head of an English compound (``aquarium_fish`` is a fish), with a remark.

    Parameters
    ----------
    names : tuple of str
        Class names or ImageNet's identifiers.
    missing : {"error", "free"}, default "error"
        What happens to names that are not in WordNet: an error that lists them, or placement without prior.
    """
    check_missing(missing)
    wordnet = _installed()
    synsets, heads = [], []
    for name in names:
        synset = _synset(wordnet, name)
        if synset is None and len(words := split_words(name)) > 1:
            synset = _synset(wordnet, words[-1])
            heads += [name] if synset is not None else []
        synsets.append(synset)
    absent = [name for name, synset in zip(names, synsets, strict=True) if synset is None]
    remarks = settle_missing(absent, len(names), missing=missing, where="WordNet")
    if heads:
        remarks.append(f"{len(heads)} of {len(names)} names are taken by their last word: {listed(heads)}.")
    above = [{} if synset is None else heights(synset, _hypernyms) for synset in synsets]
    similarity, known = path_similarity(above), np.array([synset is not None for synset in synsets])
    source = f"WordNet {wordnet.get_version()}"
    return build_prior(similarity, known, source, [*remarks, *coinciding(similarity, known, names)], names)


def _installed() -> Any:
    """Return nltk's WordNet, or say what to type where its data are not there."""
    wordnet = require("nltk.corpus", extra="wordnet", purpose="A prior from WordNet").wordnet
    try:
        wordnet.ensure_loaded()
    except LookupError:
        raise InputError(
            "A prior from WordNet needs WordNet's data, which nltk does not find. "
            "Type: python -m nltk.downloader wordnet"
        ) from None
    return wordnet


def _synset(wordnet: Any, name: str) -> Any:
    """Return the synset of a name, or None."""
    if WNID.fullmatch(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an offset without synset; None says it
            return wordnet.synset_from_pos_and_offset("n", int(name[1:]))
    words = split_words(name)
    for form in dict.fromkeys(["_".join(words), "-".join(words), "".join(words)]):
        found = wordnet.synsets(form.lower(), pos="n")
        if found:
            return found[0]
    return None


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]
