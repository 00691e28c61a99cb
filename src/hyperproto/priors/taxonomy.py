"""A taxonomy as a prior: classes are as similar as the way between them in the tree is short."""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.priors.hierarchy import check_hierarchy, heights, path_similarity
from hyperproto.priors.names import joined_key
from hyperproto.priors.prior import Missing, Prior, build_prior, coinciding
from hyperproto.priors.wording import check_missing, listed, need_names, settle_missing

__all__ = ["from_taxonomy"]

Edges = Iterable[tuple[str, str]]


def from_taxonomy(
    taxonomy: str | Path | Mapping[str, str] | Edges, names: tuple[str, ...] | None, *, missing: Missing = "error"
) -> Prior:
    """Return the prior of a taxonomy: 1 / (1 + steps between two classes), as WordNet's path similarity.

    Parameters
    ----------
    taxonomy : path, mapping or pairs
        A CSV file of child and parent, with or without a header that names the columns; a folder, whose folders are
        the nodes; a mapping from child to parent; or pairs (child, parent). An empty parent marks the root.
    names : tuple of str
        Class names, each a node at any depth; case and separators need not agree.
    missing : {"error", "free"}, default "error"
        What happens to names that are not in the taxonomy: an error that lists them, or placement without prior.

    Examples
    --------
    >>> tree = {"cat": "pet", "dog": "pet", "pet": "animal", "fox": "animal"}
    >>> from_taxonomy(tree, ("cat", "dog", "fox")).similarity[0].round(3).tolist()
    [1.0, 0.333, 0.25]
    """
    check_missing(missing)
    names = need_names(names, what="A taxonomy")
    parents, labels, source = _read(taxonomy)
    check_hierarchy(parents, where=f"the {source}")
    nodes = _nodes_of(names, labels, source)
    absent = [name for name, node in zip(names, nodes, strict=True) if node is None]
    vocabulary = list(dict.fromkeys(labels.values()))
    remarks = settle_missing(absent, len(names), missing=missing, where=f"the {source}", vocabulary=vocabulary)
    above = [{} if node is None else heights(node, parents.__getitem__) for node in nodes]
    similarity, known = path_similarity(above), np.array([node is not None for node in nodes])
    return build_prior(similarity, known, source, [*remarks, *coinciding(similarity, known, names)], names)


def _read(taxonomy: object) -> tuple[dict[str, list[str]], dict[str, str], str]:
    """Return the parents of each node, what each node is called, and what to call the taxonomy."""
    if isinstance(taxonomy, str | Path):
        path = Path(taxonomy)
        if path.is_dir():
            parents, labels = _folders(path)
            return parents, labels, f"folders of {path.resolve().name}"
        if not path.is_file():
            raise FileNotFoundError(f'No taxonomy at "{path}": neither a CSV file nor a folder is there.')
        parents, source = _parents(_rows(path)), f"taxonomy {path.name}"
    else:
        parents, source = _parents(_pairs(taxonomy)), "taxonomy"
    return parents, {node: node for node in parents}, source


def _parents(edges: Edges) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {}
    for child, parent in edges:
        above = parents.setdefault(child, [])
        if parent:
            parents.setdefault(parent, [])
            if parent not in above:
                above.append(parent)
    return parents


def _pairs(taxonomy: object) -> list[tuple[str, str]]:
    pairs = list(taxonomy.items()) if isinstance(taxonomy, Mapping) else list(taxonomy)  # type: ignore[call-overload]
    for index, pair in enumerate(pairs):
        if not (isinstance(pair, Sequence) and len(pair) == 2 and all(isinstance(node, str) for node in pair)):
            raise InputTypeError(f"A taxonomy must be pairs (child, parent) of names; pair {index} is {pair!r:.60}.")
    return [(child.strip(), parent.strip()) for child, parent in pairs]


def _rows(path: Path) -> list[tuple[str, str]]:
    """Return (child, parent) of each row of a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f'"{path}" must be a CSV file in UTF-8 ({error}).') from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    edges, child = [], 0
    for number, row in enumerate(csv.reader(text.splitlines(), delimiter=delimiter), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != 2:
            raise InputError(
                f'"{path}" must have two columns, child and parent; line {number} has {len(cells)}: {listed(cells)}.'
            )
        if number == 1 and "parent" in [cell.lower() for cell in cells]:
            child = 1 if cells[0].lower() == "parent" else 0
            continue
        edges.append((cells[child], cells[1 - child]))
    if not edges:
        raise InputError(f'"{path}" must have a row for each child and its parent; it has none.')
    return edges


def _folders(root: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the folder that each folder lies in, and each one's name; links and hidden folders are left out."""
    parents: dict[str, list[str]] = {str(root): []}
    labels = {str(root): root.resolve().name}
    waiting = [str(root)]
    while waiting:
        here = waiting.pop()
        with os.scandir(here) as entries:
            found = sorted((e.path, e.name) for e in entries if e.is_dir(follow_symlinks=False) and e.name[0] != ".")
        for path, name in found:
            parents[path], labels[path] = [here], name
            waiting.append(path)
    return parents, labels


def _nodes_of(names: tuple[str, ...], labels: Mapping[str, str], source: str) -> list[str | None]:
    """Return the node of each name: the one called just so, else the one that differs in case and separators."""
    exact: dict[str, list[str]] = {}
    alike: dict[str, list[str]] = {}
    for node, called in labels.items():
        exact.setdefault(called, []).append(node)
        alike.setdefault(joined_key(called), []).append(node)
    found: list[str | None] = []
    for name in names:
        nodes = exact.get(name) or alike.get(joined_key(name)) or []
        if len(nodes) > 1:
            raise InputError(
                f'Each class must be at one place in a taxonomy; the {source} has "{name}" at {len(nodes)}: '
                f"{listed(nodes, limit=3)}. Keep one, or name it differently."
            )
        found.append(nodes[0] if nodes else None)
    return found
