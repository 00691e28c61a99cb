"""Classes at the ends of a tree, and the nodes above them."""

import torch
from torch import Tensor

from hyperproto.prototypes import Prototypes
from hyperproto.runtime.conformal import check_share, conformal_quantile
from hyperproto.tasks.prototype_head import PrototypeHead
from hyperproto.tasks.tree import Tree


class TreeHead(PrototypeHead):
    """Prototypes that follow a tree, and what an output says about its nodes."""

    task: Tree
    cost: Tensor

    def __init__(self, task: Tree, axes: slice, placed: Prototypes) -> None:
        super().__init__(task, axes, placed)
        self.register_buffer("cost", torch.from_numpy(task.cost).double(), persistent=False)

    def expected_costs(self, z: Tensor) -> Tensor:
        """Return what each class is expected to cost, shape (n, num_classes)."""
        shares = self.logits(z).softmax(dim=1)
        return shares @ self.cost.to(shares.dtype)

    def predict(self, z: Tensor) -> Tensor:
        """Return the class of the least expected cost, or that of the nearest prototype."""
        if self.task.decision == "nearest":
            return super().predict(z)
        return self.expected_costs(z).argmin(dim=1)

    def node_probabilities(self, z: Tensor) -> Tensor:
        """Return the probability of each node, shape (n, nodes): the sum of its classes'."""
        shares = self.logits(z).softmax(dim=1)
        return shares @ torch.from_numpy(self.task.below.T).to(shares)

    def sure(self, z: Tensor, level: float) -> Tensor:
        """Return the deepest node on the way down whose probability is greater than a level, shape
        (n,): an index into ``task.nodes``.
        """
        path, shares = self._way_down(z)
        return path.gather(1, (shares > level).sum(dim=1, keepdim=True).sub(1).clamp_min(0))[:, 0]

    def fit_level(self, z: Tensor, targets: Tensor, coverage: float = 0.9) -> float:
        """Return the level at which the node of :meth:`sure` is above the true class as often as
        stated, fitted to outputs that were not trained on (split conformal prediction).
        """
        there = self.task.present(targets)
        path, shares = self._way_down(z[there])
        right = torch.from_numpy(self.task.below).to(z.device)[path, targets[there, None]]
        # the first wrong node must not be reached: the level is at least its probability
        first_wrong = shares.masked_fill(right, 0).amax(dim=1)
        level = conformal_quantile(
            first_wrong.double().numpy(force=True), check_share(coverage, "coverage")
        )
        return min(level, 1.0)

    def _way_down(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the nodes from the root to a class, each the most probable child of the one
        before, and their probabilities, 0 behind the class. Both of shape (n, levels).
        """
        shares = self.node_probabilities(z)
        parents = torch.from_numpy(self.task.parent_ids).to(z.device)
        node = torch.zeros(len(z), dtype=torch.int64, device=z.device)
        path, found = [node], [torch.ones_like(shares[:, 0])]
        for _ in range(int(self.task.depth.max())):
            children = parents == node[:, None]
            best = shares.masked_fill(~children, -1).max(dim=1)
            node = torch.where(children.any(dim=1), best.indices, node)
            path.append(node)
            found.append(torch.where(children.any(dim=1), best.values, 0))
        return torch.stack(path, dim=1), torch.stack(found, dim=1)
