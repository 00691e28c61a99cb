"""A taxonomy as a prior: classes are as similar as the path between them in the tree is short.
WordNet is one.

WordNet comes from the copy that nltk has installed; nothing is downloaded.
"""

import csv
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError, InputTypeError, MissingDataError, require
from hyperproto._core.files import as_path, read_text
from hyperproto.priors.prior import (
    Missing,
    Prior,
    build_prior,
    handle_missing,
    identical_pairs,
    quoted,
    require_names,
)
from hyperproto.priors.vectors import joined_key, split_words

Edges = Iterable[tuple[str, str]]
Node = TypeVar("Node", bound=Hashable)
ROOT = "(root)"  # of a nested dict
LEVELS, NESTED = 500, 200  # of a taxonomy, of a nested dict; WordNet has 20
SHOWN = 20  # nodes of a cycle
WNID = re.compile(
    r"n\d{8}"
)  # as ImageNet names its classes: n and the offset of a noun in WordNet 3.0


def from_taxonomy(
    taxonomy: str | Path | Mapping[str, Any] | Edges,
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
    parents, source = _read(taxonomy)
    check_taxonomy(parents, where=f"the {source}")
    nodes = _nodes_of(names, parents, source)
    absent = [name for name, node in zip(names, nodes, strict=True) if node is None]
    notes = handle_missing(
        absent, len(names), missing=missing, where=f"the {source}", vocabulary=list(parents)
    )
    above = [{} if node is None else ancestors(node, parents.__getitem__) for node in nodes]
    return _path_prior(above, names, source, notes)


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
        rule = "be among nltk's data, for a prior from it"
        raise MissingDataError(
            "WordNet's data", rule, advice="Type: python -m nltk.downloader wordnet"
        ) from None
    synsets, heads = [], []
    for name in names:
        synset = _synset(wordnet, name)
        if synset is None and len(words := split_words(name)) > 1:
            synset = _synset(wordnet, words[-1])
            heads += [name] if synset is not None else []
        synsets.append(synset)
    absent = [name for name, synset in zip(names, synsets, strict=True) if synset is None]
    notes = handle_missing(absent, len(names), missing=missing, where="WordNet")
    if heads:
        notes.append(
            f"{len(heads)} of {len(names)} names are found by their last word: {quoted(heads)}."
        )
    above = [{} if synset is None else ancestors(synset, _hypernyms) for synset in synsets]
    return _path_prior(above, names, f"WordNet {wordnet.get_version()}", notes)


def _path_prior(
    above: Sequence[Mapping[Any, int]], names: tuple[str, ...], source: str, notes: Iterable[str]
) -> Prior:
    similarity, known = path_similarity(above), np.array([bool(nodes) for nodes in above])
    return build_prior(
        similarity, known, source, [*notes, *identical_pairs(similarity, known, names)], names
    )


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


def _read(taxonomy: object) -> tuple[dict[str, list[str]], str]:
    """Return the parents of each node, and what to call the taxonomy."""
    if isinstance(taxonomy, str | Path):
        path = as_path(taxonomy)
        if not path.is_file():
            raise MissingDataError(
                f'No taxonomy at "{path}": no CSV file of child,parent is there.'
            )
        edges, source = _rows(path), f"taxonomy {path.name}"
    else:
        edges, source = _pairs(taxonomy), "taxonomy"
    parents: dict[str, list[str]] = {}
    for child, parent in edges:
        above = parents.setdefault(child, [])
        if parent:
            parents.setdefault(parent, [])
            if parent not in above:
                above.append(parent)
    return parents, source


def is_taxonomy(value: object) -> bool:
    """Return whether a value maps or pairs names with names, or nests them."""
    if isinstance(value, Mapping):
        return bool(value) and all(
            isinstance(below, str) or _is_nested(below) for below in value.values()
        )
    if not isinstance(value, list | tuple) or not value:
        return False
    pairs = all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value)
    return pairs and all(isinstance(part, str) for pair in value for part in pair)


def leaves(taxonomy: object) -> tuple[str, ...] | None:
    """Return the names at the ends of a nested dict in their order, None of anything else.

    >>> leaves({"travel": ["book", "cancel"], "bank": {"cards": ["pay"], "loan": {}}})
    ('book', 'cancel', 'pay', 'loan')
    """
    if (
        not isinstance(taxonomy, Mapping)
        or not taxonomy
        or not all(map(_is_nested, taxonomy.values()))
    ):
        return None
    found: list[str] = []
    for node, below in taxonomy.items():
        found += (leaves(below) or ()) if isinstance(below, Mapping) and below else below or (node,)
    return tuple(name.strip() for name in found)


def _is_nested(value: object, level: int = 1) -> bool:
    if level > NESTED:
        raise InputError("A nested taxonomy", f"have at most {NESTED} levels", "more")
    if isinstance(value, Mapping):
        return all(_is_nested(below, level + 1) for below in value.values())
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _pairs(taxonomy: Any, parent: str = "") -> list[tuple[str, str]]:
    """Return (child, parent) of a mapping, of pairs, or of a nested dict, whose top nodes get a
    common root.
    """
    if isinstance(taxonomy, Mapping) and taxonomy and all(map(_is_nested, taxonomy.values())):
        parent = parent or ROOT
        edges = [(node.strip(), parent) for node in taxonomy]
        for node, below in taxonomy.items():
            edges += (
                _pairs(below, node)
                if isinstance(below, Mapping)
                else [(leaf.strip(), node) for leaf in below]
            )
        return edges
    pairs = list(taxonomy.items() if isinstance(taxonomy, Mapping) else taxonomy)
    for index, pair in enumerate(pairs):
        if not (
            isinstance(pair, Sequence)
            and len(pair) == 2
            and all(isinstance(node, str) for node in pair)
        ):
            raise InputTypeError(
                "A taxonomy", f"be pairs (child, parent) of names; pair {index} is {pair!r:.60}"
            )
    return [(child.strip(), parent.strip()) for child, parent in pairs]


def _rows(path: Path) -> list[tuple[str, str]]:
    """Return (child, parent) of each row of a CSV file, whose delimiter is recognized."""
    text, edges, child = read_text(path), [], 0
    try:
        rows = list(
            csv.reader(text.splitlines(), delimiter=max(",;\t", key=text.partition("\n")[0].count))
        )
    except csv.Error as error:
        raise InputError(f'"{path}"', f"be a CSV file ({error})") from None
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != 2:
            raise InputError(
                f'"{path}"',
                f"have two columns, child and parent; line {number} has {len(cells)}: "
                f"{quoted(cells)}",
            )
        if number == 1 and "parent" in [cell.lower() for cell in cells]:
            child = 1 if cells[0].lower() == "parent" else 0
            continue
        edges.append((cells[child], cells[1 - child]))
    if not edges:
        raise InputError(f'"{path}"', "have a row for each child and its parent", "none")
    return edges


def _nodes_of(names: tuple[str, ...], taxonomy: Iterable[str], source: str) -> list[str | None]:
    """Return the node of each name: the one with exactly that name, else one that differs in case
    and separators.
    """
    exact = {node: [node] for node in taxonomy}
    alike: dict[str, list[str]] = {}
    for node in exact:
        alike.setdefault(joined_key(node), []).append(node)
    chosen: list[str | None] = []
    for name in names:
        nodes = exact.get(name) or alike.get(joined_key(name)) or []
        if len(nodes) > 1:
            raise InputError(
                "Each class",
                f'be at one place in a taxonomy; the {source} has "{name}" at {len(nodes)}: '
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
    for form in dict.fromkeys(["_".join(words), "-".join(words), "".join(words)]):
        synsets = wordnet.synsets(form.lower(), pos="n")
        if synsets:
            return synsets[0]
    return None


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]
