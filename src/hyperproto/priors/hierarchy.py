"""A hierarchy of nodes, each below its parents, and the length of the way between two of them."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto.priors.wording import listed

__all__ = ["Parents", "check_hierarchy", "heights", "path_similarity"]

Node = TypeVar("Node", bound=Hashable)
Parents = Mapping[str, Sequence[str]]


def check_hierarchy(parents: Parents, *, where: str) -> None:
    """Check that a hierarchy has one root and no cycle.

    Parameters
    ----------
    parents : mapping from each node to its parents
        Several parents are allowed, as in WordNet; the root has none.
    where : str
        What to call it in the message.
    """
    cycle = _cycle(parents)
    if cycle:
        way = " > ".join(f'"{node}"' for node in cycle)
        raise InputError(
            f"A taxonomy must not turn back on itself; {where} has a cycle: {way}. Remove one of these rows."
        )
    roots = [node for node, above in parents.items() if not above]
    if len(roots) > 1:
        raise InputError(
            f"A taxonomy must have one root; {where} has {len(roots)}: {listed(roots)}. "
            "Give them a common parent, so that every two classes are connected."
        )


def _cycle(parents: Parents) -> list[str]:
    """Return nodes that lead back to the first of them, or none; a depth-first search without recursion."""
    done: set[str] = set()
    for start in parents:
        way, open_nodes, ways = [start], {start}, [iter(parents[start])]
        while ways and start not in done:
            above = next(ways[-1], None)
            if above is None:
                ways.pop()
                done.add(finished := way.pop())
                open_nodes.discard(finished)
            elif above in open_nodes:
                return [*way[way.index(above) :], above]
            elif above not in done:
                way.append(above)
                open_nodes.add(above)
                ways.append(iter(parents[above]))
    return []


def heights(node: Node, parents: Callable[[Node], Iterable[Node]]) -> dict[Node, int]:
    """Return every ancestor of a node, itself included, with the fewest steps up to it."""
    above = {node: 0}
    frontier, step = [node], 0
    while frontier:
        step += 1
        frontier = [p for p in dict.fromkeys(p for n in frontier for p in parents(n)) if p not in above]
        above.update(dict.fromkeys(frontier, step))
    return above


def path_similarity(above: Sequence[Mapping[Node, int]]) -> NDArray[np.float64]:
    r"""Return WordNet's path similarity of every pair of classes.

    .. math:: S_{ij} = \frac{1}{1 + \min_h \bigl(d(i, h) + d(j, h)\bigr)}

    where h runs over the ancestors that i and j share. It is 0 where they share none.

    Parameters
    ----------
    above : sequence of mappings, length num_classes
        For each class its ancestors and the steps up to them, as `heights` gives; empty for a class without prior.
    """
    members: dict[Node, list[tuple[int, int]]] = {}
    for index, ancestors in enumerate(above):
        for node, steps in ancestors.items():
            members.setdefault(node, []).append((index, steps))
    length = np.full((len(above), len(above)), np.inf)
    for below in members.values():  # a class lies below few nodes, so this is near K² in all
        rows, steps = np.array(below).T
        block = np.ix_(rows, rows)
        length[block] = np.minimum(length[block], np.add.outer(steps, steps))
    return 1 / (1 + length)
