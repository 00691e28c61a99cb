"""One of K classes that are the ends of a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto.tasks.classes import Classes
from hyperproto.tasks.task import Terms

if TYPE_CHECKING:
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.priors import Prior
    from hyperproto.tasks.tree_head import TreeHead

DECISIONS = {name: name for name in ("cost", "nearest")}


@dataclass(frozen=True, eq=False, init=False)
class Tree(Classes):
    r"""Classes that know their parents: a mistake costs as much as the tree has to be gone up.

    .. math:: C_{jk} = \operatorname{height}(\operatorname{lca}(j, k)), \qquad
        \hat y = \arg\min_j \sum_k p(k \mid z) \, C_{jk}

    The prototypes follow the tree (:func:`hyperproto.place` with the taxonomy as its prior), the
    probability of a node is the sum of those of the classes below it, so that levels never
    contradict each other, and what is predicted is the class of the least expected cost.

    Parameters
    ----------
    classes : nested dict, mapping, pairs, or path; or sequence of str, or Prototypes
        The taxonomy: a dict such as ``{"pet": ["cat", "dog"], "wild": {"canine": ["wolf"]}}``, a
        mapping from child to parent, pairs of them, or a CSV file of child and parent. Its ends are
        the classes. With ``parents`` the names of the classes, in their order.
    parents : as above, optional
        The taxonomy, where ``classes`` are names or prototypes. Each has one path to the root.
    decision : {"cost", "nearest"}, default "cost"
        The class of the least expected cost, or that of the nearest prototype.
    loss, weight, class_weight, label_smoothing, labels, scale
        As of :class:`Classes`.

    Examples
    --------
    >>> import hyperproto as hp
    >>> tree = hp.Tree({"pet": ["cat", "dog"], "wild": {"canine": ["wolf", "fox"]}})
    >>> tree.names, tree.nodes
    (('cat', 'dog', 'wolf', 'fox'), ('(root)', 'pet', 'cat', 'dog', 'wild', 'canine', 'wolf', 'fox'))
    >>> tree.cost.tolist()[0]
    [0, 1, 3, 3]
    """

    parents: Mapping[str, str]
    decision: str

    kind = "tree"

    def __init__(
        self, classes: Any, *args: Any, parents: Any = None, decision: str = "cost", **options: Any
    ) -> None:
        names = classes
        if parents is None:
            parents = classes
        elif hasattr(classes, "vectors"):
            names = classes.names
        paths = read_paths(parents, None if names is parents else names)
        ends = tuple(path[0] for path in paths)
        super().__init__(classes if hasattr(classes, "vectors") else ends, *args, **options)
        vars(self).update(
            parents={child: above for path in paths for child, above in pairwise(path)},
            decision=choose(decision, DECISIONS, what="decision of a tree"),
        )

    @classmethod
    def fit(cls, values: Any, about: str = "y", *, taxonomy: Any = None, **options: Any) -> Self:
        """Return the classes among some values, at the ends of a taxonomy."""
        if taxonomy is None:
            raise InputError(about, "come with the taxonomy of its classes", "none")
        return super().fit(values, about, parents=taxonomy, **options)

    @classmethod
    def read_option(cls, text: str) -> dict[str, Any]:
        """Return the file of the taxonomy that stands behind a column on the command line."""
        return {"taxonomy": text} if text else {}

    # -- the tree ------------------------------------------------------------------------------

    @cached_property
    def _paths(self) -> list[list[str]]:
        """Return the way up from each class to the root, itself included."""
        paths = [[name] for name in self.names or ()]
        for path in paths:
            while path[-1] in self.parents:
                path.append(self.parents[path[-1]])
        return paths

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Every node, parents before their children; the root is the first."""
        return tuple(dict.fromkeys(node for path in self._paths for node in reversed(path)))

    @cached_property
    def below(self) -> NDArray[np.bool_]:
        """Which classes are below each node, or are it; shape (nodes, num_classes)."""
        index = {node: place for place, node in enumerate(self.nodes)}
        found = np.zeros((len(index), self.num_classes), dtype=bool)
        for k, path in enumerate(self._paths):
            found[[index[node] for node in path], k] = True
        return found

    @cached_property
    def parent_ids(self) -> NDArray[np.int64]:
        """The place of each node's parent among the nodes, -1 for the root."""
        index = {node: place for place, node in enumerate(self.nodes)}
        return np.array([index.get(self.parents.get(node, ""), -1) for node in self.nodes])

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """How many steps each node is below the root."""
        depth = np.zeros(len(self.nodes), dtype=np.int64)
        for node, above in enumerate(self.parent_ids[1:], start=1):
            depth[node] = depth[above] + 1
        return depth

    @cached_property
    def cost(self) -> NDArray[np.int64]:
        """The height of the lowest node above each two classes, shape (num_classes, num_classes)."""
        height = np.where(self.below, [len(path) - 1 for path in self._paths], 0).max(axis=1)
        height -= self.depth
        cost = np.full((self.num_classes, self.num_classes), height[0])
        for node, inside in enumerate(self.below):  # parents first, so the lowest node is the last
            cost[np.ix_(inside, inside)] = height[node]
        return cost

    def at_level(self, level: int) -> NDArray[np.int64]:
        """Return the node of each class so many steps below the root, or the class where its path
        is shorter. Shape (num_classes,).
        """
        level = check_integer(level, "level", at_least=0)
        index = {node: place for place, node in enumerate(self.nodes)}
        return np.array([index[path[max(0, len(path) - 1 - level)]] for path in self._paths])

    # -- measures ------------------------------------------------------------------------------

    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return how many classes and nodes of each level are right, and the sums of costs: of all
        predictions, the hierarchical distance, and of mistakes, their severity.
        """
        import torch

        from hyperproto.metrics import most_likely

        labels = most_likely(targets).cpu()
        told, true = predicted.cpu()[labels >= 0], labels[labels >= 0]
        costs = torch.from_numpy(self.cost)[told, true]
        wrong = int((told != true).sum())
        found: Terms = {"accuracy": (len(true) - wrong, len(true))}
        for level in range(1, int(self.depth.max())):
            nodes = torch.from_numpy(self.at_level(level))
            right = int((nodes[told] == nodes[true]).sum())
            found[f"level_{level}_accuracy"] = (right, len(true))
        distance = float(costs.sum())
        return {**found, "distance": (distance, len(true)), "severity": (distance, wrong)}

    def distance_at(self, top: Tensor, targets: Tensor) -> float:
        """Return the mean cost of the k best classes, ids of shape (n, k), to the true ones."""
        import torch

        there = self.present(targets)
        return float(torch.from_numpy(self.cost)[top[there], targets[there, None]].double().mean())

    # -- the sphere ----------------------------------------------------------------------------

    def head(self, axes: slice, dim: int) -> TreeHead:
        """Place the prototypes by the tree, unless they are placed already."""
        from hyperproto.prototypes import place
        from hyperproto.tasks.tree_head import TreeHead

        placed = self.placed
        if placed is None:
            size = axes.stop - axes.start
            placed = place(
                self.names or (), size, prior=self.parents, effort="fast", every_axis=True
            )
        return TreeHead(self, axes, placed)

    def joined(self, prior: Prior) -> Prior:
        """Return what data say about the classes together with the tree, each in standard deviations
        over its pairs.
        """
        from hyperproto.priors.taxonomy import from_taxonomy

        tree, others = (
            from_taxonomy(self.parents, self.names),
            ~np.eye(self.num_classes, dtype=bool),
        )
        seen = others & prior.known & prior.known[:, None]
        both = np.zeros(others.shape)
        for similarity, pairs in ((prior.similarity, seen), (tree.similarity, others)):
            spread = similarity[pairs].std() or 1.0
            both += np.where(pairs, (similarity - similarity[pairs].mean()) / spread, 0)
        both -= both[others].min()
        both *= 0.9 / both[others].max()
        np.fill_diagonal(both, 1)
        source = f"{prior.source} and a {tree.source}"
        return replace(prior, similarity=both, known=tree.known, source=source)

    def to_dict(self) -> Plain:
        """Return plain values, without the prototypes."""
        return {**super().to_dict(), "parents": dict(self.parents), "decision": self.decision}


def read_paths(taxonomy: Any, names: Sequence[str] | None) -> list[list[str]]:
    """Return the way from each class up to the root, itself included; without names all ends are
    classes.
    """
    from hyperproto.priors.taxonomy import nodes_of, read_taxonomy

    parents, where = read_taxonomy(taxonomy)
    above = {node for nodes in parents.values() for node in nodes}
    if names is None:
        names = tuple(node for node in parents if node not in above)
    paths = []
    for name, node in zip(names, nodes_of(tuple(names), parents, where), strict=True):
        if node is None or node in above:
            raise InputError("Each class", f"be an end of {where}", f'"{name}"')
        path = [name]
        while parents[node]:
            if len(parents[node]) > 1:
                raise InputError("A tree", "have one parent for each node", f'two of "{node}"')
            (node,) = parents[node]
            path.append(node)
        paths.append(path)
    return paths
