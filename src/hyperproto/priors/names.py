"""From a class name to words of a vocabulary: case, separators, and names of several words.

``maple_tree`` is looked for as it stands, then in lower case, then with other separators (``maple tree``,
``maple-tree``, ``mapletree``) and other case (``Maple_Tree``), and then as the average of ``maple`` and ``tree``;
only if every one of its words is found is a name found. Plurals are left alone: ``glasses`` is not ``glass``.
"""

import re
from collections.abc import Callable, Iterable
from unicodedata import normalize

__all__ = ["joined_key", "lacking_words", "match", "possible_words", "split_words"]

SEPARATORS = re.compile(r"[\s_\-/]+")
NUMBERED = re.compile(r"^\d+\.(?=[^\W\d])")  # CUB-200-2011 numbers its names: 001.Black_footed_Albatross


def split_words(name: str) -> list[str]:
    """Return the words of a name, accents joined to their letters: folders of macOS have them apart.

    >>> split_words("001.Black_footed Albatross")
    ['Black', 'footed', 'Albatross']
    """
    return [word for word in SEPARATORS.split(NUMBERED.sub("", normalize("NFC", name).strip())) if word]


def joined_key(name: str) -> str:
    """Return a form in which names that differ only in case and separators are equal.

    >>> joined_key("Maple-Tree") == joined_key("maple_tree")
    True
    """
    return "".join(split_words(name)).lower() or name


def match(name: str, has: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the words whose average stands for a name: one where the whole is known, none where it is not found."""
    for form in _whole_forms(name):
        if has(form):
            return (form,)
    found = tuple(next(filter(has, _cases(word)), "") for word in split_words(name))
    return found if all(found) else ()


def lacking_words(name: str, has: Callable[[str], bool]) -> list[str]:
    """Return the words of a name that are not found."""
    return [word for word in split_words(name) if not any(map(has, _cases(word)))]


def possible_words(names: Iterable[str]) -> set[str]:
    """Return every word that `match` may ask for, so that a reader can leave out all others."""
    wanted: set[str] = set()
    for name in names:
        wanted.update(_whole_forms(name))
        for word in split_words(name):
            wanted.update(_cases(word))
    return wanted - {""}


def _whole_forms(name: str) -> list[str]:
    words = split_words(name)
    cased = [words, [w.lower() for w in words], [w.capitalize() for w in words], [w.upper() for w in words]]
    return list(dict.fromkeys([name, name.lower(), *(s.join(form) for form in cased for s in ("_", " ", "-", ""))]))


def _cases(word: str) -> list[str]:
    return list(dict.fromkeys([word, word.lower(), word.capitalize(), word.upper()]))
