"""A taxonomy as a prior: classes are as similar as the path between them in the tree is short.
WordNet is one.

WordNet comes from the copy that nltk has installed; nothing is downloaded.
"""

import csv
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, InputTypeError, MissingDataError, require
from hyperproto._core.files import as_path, read_text
from hyperproto.priors.prior import (
    Missing,
    Prior,
    build_prior,
    handle_missing,
    quoted,
    require_names,
)
from hyperproto.priors.vectors import joined_key, split_words

Node = TypeVar("Node", bound=Hashable)
ROOT = "(root)"  # of a nested dict
LEVELS, NESTED = 500, 200  # of a taxonomy, of a nested dict; WordNet has 20
SHOWN = 20  # nodes of a cycle
# as ImageNet names its classes: n and the offset of a noun in WordNet 3.0
WNID = re.compile(r"n\d{8}")


def from_taxonomy(
    taxonomy: str | Path | Iterable[object],
    names: tuple[str, ...] | None,
    *,
    missing: Missing = "error",
) -> Prior:
    """Return the prior of a taxonomy: 1 / (1 + steps between two classes), as WordNet's path
    similarity.

    Parameters
    ----------
    taxonomy : path, mapping or pairs
        A CSV file of child and parent, with or without a header that names the columns; a nested
        dict, such as ``{"pet": ["cat", "dog"], "wild": {"canine": ["wolf"]}}``; a mapping from
        child to parent; or pairs (child, parent). An empty parent marks the root.
    names : tuple of str
        Class names, each a node at any depth; case and separators need not agree.
    missing : {"error", "free"}, default "error"
        What happens to names that are not in the taxonomy: an error that lists them, or placement
        without prior.

    Examples
    --------
    >>> tree = {"cat": "pet", "dog": "pet", "pet": "animal", "fox": "animal"}
    >>> from_taxonomy(tree, ("cat", "dog", "fox")).similarity[0].round(3).tolist()
    [1.0, 0.333, 0.25]
    """
    names = require_names(names, what="a taxonomy")
    parents, where = read_taxonomy(taxonomy)
    found = nodes_of(names, parents, where)
    notes = handle_missing(names, found, missing=missing, where=where, vocabulary=parents)
    return _path_prior(found, parents.__getitem__, names, where.removeprefix("the "), notes)


def read_taxonomy(
    taxonomy: str | Path | Iterable[object],
) -> tuple[dict[str, list[str]], str]:
    """Return the parents of each node of a taxonomy, in any form that :func:`from_taxonomy` takes,
    and what errors call it.
    """
    source = "taxonomy"
    if isinstance(taxonomy, str | Path):
        path = as_path(taxonomy)
        edges: Iterable[tuple[str, str]] = _rows(path)
        source = f"taxonomy {path.name}"
    elif nodes := _nested(taxonomy):
        edges = [(node, parent) for node, parent, _ in nodes]
    else:
        edges = _pairs(taxonomy)
    parents: dict[str, list[str]] = {}
    for child, parent in edges:
        above = parents.setdefault(child, [])
        if parent:
            parents.setdefault(parent, [])
            if parent not in above:
                above.append(parent)
    where = f"the {source}"
    check_taxonomy(parents, where=where)
    return parents, where


def from_wordnet(names: tuple[str, ...], *, missing: Missing = "error") -> Prior:
    """Return the prior of WordNet's hierarchy of nouns: 1 / (1 + steps between two classes).

    A name is its first noun synset. A name such as ``n01443537`` is the synset of that offset, as
    in ImageNet; those need WordNet 3.0, which is what nltk calls "wordnet". A name of several words
    that WordNet does not have is its last word, the head of an English compound (``aquarium_fish``
    is a fish), with a note.

    Parameters
    ----------
    names : tuple of str
        Class names or ImageNet's identifiers.
    missing : {"error", "free"}, default "error"
        What happens to names that are not in WordNet: an error that lists them, or placement
        without prior.
    """
    wordnet = require("nltk.corpus", extra="wordnet", purpose="A prior from WordNet").wordnet
    try:
        wordnet.ensure_loaded()
    except (LookupError, OSError, ValueError):  # none, not all of its files, or links to them
        raise MissingDataError(
            "WordNet is not among nltk's data.", advice="Type: python -m nltk.downloader wordnet"
        ) from None
    synsets, heads = [], []
    for name in names:
        synset = _synset(wordnet, name)
        if synset is None and len(words := split_words(name)) > 1:
            synset = _synset(wordnet, words[-1])
            heads += [name] if synset is not None else []
        synsets.append(synset)
    notes = handle_missing(names, synsets, missing=missing, where="WordNet")
    if heads:
        notes.append(
            f"{len(heads)} of {len(names)} names are found by their last word: {quoted(heads)}."
        )
    source = f"WordNet {wordnet.get_version()}"
    return _path_prior(synsets, _hypernyms, names, source, notes)


def _path_prior(
    nodes: Sequence[Node | None],
    parents: Callable[[Node], Iterable[Node]],
    names: tuple[str, ...],
    source: str,
    notes: Iterable[str],
) -> Prior:
    """Return the prior of the nodes of classes, None for a class without."""
    similarity = path_similarity(
        [{} if node is None else ancestors(node, parents) for node in nodes]
    )
    known = np.array([node is not None for node in nodes])
    return build_prior(similarity, known, source, notes, names, itself=1.0)


def check_taxonomy(parents: Mapping[str, Sequence[str]], *, where: str) -> None:
    """Check that a taxonomy has one root, which has no parents, and no cycle; a node may have
    several parents.
    """
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle = " > ".join(f'"{node}"' for node in error.args[1][: -SHOWN - 1 : -1])
        raise InputError(
            "A taxonomy",
            f"have no cycle; {where} has one: {cycle}",
            advice="Remove one of these rows.",
        ) from None
    roots = [node for node, above in parents.items() if not above]
    if len(roots) > 1:
        raise InputError(
            "A taxonomy",
            f"have one root; {where} has {len(roots)}: {quoted(roots)}",
            advice="Give them a common parent, so that every two classes are connected.",
        )


def ancestors(node: Node, parents: Callable[[Node], Iterable[Node]]) -> dict[Node, int]:
    """Return every ancestor of a node, itself included, with the fewest steps up to it."""
    above = {node: 0}
    frontier, step = [node], 0
    while frontier:
        step += 1
        if step > LEVELS:
            raise InputError("A taxonomy", f"have at most {LEVELS} levels", f'more above "{node}"')
        frontier = [
            p for p in dict.fromkeys(p for n in frontier for p in parents(n)) if p not in above
        ]
        above.update(dict.fromkeys(frontier, step))
    return above


def path_similarity(above: Sequence[Mapping[Node, int]]) -> NDArray[np.float64]:
    r"""Return WordNet's path similarity of every pair of classes.

    .. math:: S_{ij} = \frac{1}{1 + \min_h \bigl(d(i, h) + d(j, h)\bigr)}

    where h runs over the ancestors that i and j share. It is 0 where they share none. ``above`` has
    for each class its ancestors and the steps up to them, as `ancestors` gives; none for a class
    without prior.
    """
    members: dict[Node, list[tuple[int, int]]] = {}
    for index, nodes in enumerate(above):
        for node, steps in nodes.items():
            members.setdefault(node, []).append((index, steps))
    length = np.full((len(above), len(above)), np.inf)
    for below in members.values():  # a class is below few nodes, so this is near K² in all
        rows, steps = np.array(below).T
        block = np.ix_(rows, rows)
        length[block] = np.minimum(length[block], np.add.outer(steps, steps))
    return 1 / (1 + length)


def leaves(taxonomy: object) -> tuple[str, ...]:
    """Return the names at the ends of a nested dict in their order, none of anything else.

    >>> leaves({"travel": ["book", "cancel"], "bank": {"cards": ["pay"], "loan": {}}})
    ('book', 'cancel', 'pay', 'loan')
    """
    return tuple(name for name, _, is_end in _nested(taxonomy) or () if is_end)


def _nested(
    value: object, parent: str = ROOT, level: int = 0
) -> list[tuple[str, str, bool]] | None:
    """Return every node of a nested dict, its parent, and whether it is an end; None of anything
    else.
    """
    if level > NESTED:
        raise InputError("A nested taxonomy", f"have at most {NESTED} levels", "more")
    items: Iterable[tuple[object, object]]
    if isinstance(value, Mapping):
        items = value.items()
    elif level and isinstance(value, list | tuple):
        items = ((name, ()) for name in value)
    else:
        return None
    nodes = []
    for name, inside in items:
        if not isinstance(name, str):
            return None
        below = _nested(inside, name.strip(), level + 1)
        if below is None:
            return None
        nodes += [(name.strip(), parent, not below), *below]
    return nodes


def is_taxonomy(value: object) -> TypeGuard[Iterable[object]]:
    """Return whether a value is a nested dict, or maps or pairs names with names, as the first of
    its pairs shows.
    """
    if not isinstance(value, Mapping | list | tuple):
        return False
    return bool(_nested(value)) or any(map(_pair, islice(_items(value), 1)))


def _items(value: Iterable[object]) -> Iterable[object]:
    return value.items() if isinstance(value, Mapping) else value


def _pairs(taxonomy: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Yield (child, parent) of a mapping or of pairs."""
    for index, given in enumerate(_items(taxonomy)):
        pair = _pair(given)
        if pair is None:
            rule = f"be pairs (child, parent) of names; pair {index} is {given!r:.60}"
            raise InputTypeError("A taxonomy", rule)
        yield pair


def _pair(value: object) -> tuple[str, str] | None:
    """Return (child, parent), None of what is no pair of names."""
    match value:
        case [str(child), str(parent)]:
            return child.strip(), parent.strip()
    return None


def _rows(path: Path) -> list[tuple[str, str]]:
    """Return (child, parent) of each row of a CSV file, whose delimiter is recognized."""
    if not path.is_file():
        raise MissingDataError(f'No taxonomy at "{path}": no CSV file of child,parent is there.')
    text = read_text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f'"{path}"', f"be a CSV file ({error})") from None
    edges = []
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if any(cells) and len(cells) != 2:
            raise InputError(
                f'"{path}"',
                f"have two columns, child and parent; line {number} has {len(cells)}: "
                f"{quoted(cells)}",
            )
        if any(cells):
            edges.append((cells[0], cells[1]))
    header = [cell.lower() for cell in edges[0]] if edges else []
    if header[:1] == ["parent"]:
        edges = [(child, parent) for parent, child in edges]
    if "parent" in header:
        edges = edges[1:]
    if not edges:
        raise InputError(f'"{path}"', "have a row for each child and its parent", "none")
    return edges


def nodes_of(names: tuple[str, ...], taxonomy: Iterable[str], where: str) -> list[str | None]:
    """Return the node of each name: the one with exactly that name, else one that differs in case
    and separators.
    """
    alike: dict[str, list[str]] = {}
    for node in taxonomy:
        alike.setdefault(joined_key(node), []).append(node)
    chosen = []
    for name in names:
        nodes = alike.get(joined_key(name), [])
        if name in nodes:
            nodes = [name]
        if len(nodes) > 1:
            raise InputError(
                "Each class",
                f'be at one place in a taxonomy; {where} has "{name}" at {len(nodes)}: '
                f"{quoted(nodes, limit=3)}",
                advice="Keep one, or name it differently.",
            )
        chosen.append(nodes[0] if nodes else None)
    return chosen


def _synset(wordnet: Any, name: str) -> Any:
    """Return the synset of a name, or None."""
    if WNID.fullmatch(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an offset without synset; None says it
            return wordnet.synset_from_pos_and_offset("n", int(name[1:]))
    words = split_words(name)
    forms = ("_".join(words), "-".join(words), "".join(words))
    found = (wordnet.synsets(form.lower(), pos="n") for form in forms)
    return next((synsets[0] for synsets in found if synsets), None)


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]
