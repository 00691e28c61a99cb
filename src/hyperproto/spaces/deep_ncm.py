"""Deep NCM: class means, learned along with the network, in the place of prototypes fixed before."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.spaces.class_means import Mean, MeanHead
from hyperproto.spaces.conventional import NumberHead
from hyperproto.spaces.protocol import Targets
from hyperproto.spaces.task_space import Head, TaskSpace, parse_tasks
from hyperproto.spaces.tasks import Classes, Task

__all__ = ["DeepNCM"]


class DeepNCM(TaskSpace):
    r"""Nearest class means as an output space, the baseline of the paper's Deep NCM figure.

    .. math:: p(k \mid z) = \frac{\exp(-\lVert z - \mu_k \rVert^2)}{\sum_j \exp(-\lVert z - \mu_j \rVert^2)}

    The loss is the cross-entropy of this softmax; gradients flow into the outputs, not into the means, which
    :meth:`observe` moves after each step. :mod:`hyperproto.spaces.class_means` has the three ways to do that. Means
    and all else that is learned are buffers, stored and resumed with a run and the same in every process.

    Parameters
    ----------
    dim : int
        Width of the network's output.
    task : Classes, or a mapping from names to tasks
        One class task; beside it, by name, any number of ranges, each of which takes one of the first axes by squared
        error as in :class:`~hyperproto.spaces.conventional.ConventionalSpace`. The classes read the other axes. A
        task's ``loss`` belongs to the sphere and plays no part; its weights do.
    mean : {"condensation", "decay", "online"}
        How class means are kept.
    decay : float, default 0.9
        α, the share a mean keeps of itself at every batch that holds its class. Its authors try 0.5 to 0.95.
    condense_every : int, default 100
        m, after how many batches means are condensed. Its authors try 100 to 781, which is two epochs of theirs.

    Examples
    --------
    >>> space = DeepNCM(2, Classes(["low", "high"]), mean="online")
    >>> space.observe(torch.tensor([[0.0, 1.0], [0.0, 3.0], [4.0, 0.0]]), torch.tensor([0, 0, 1]))
    >>> space.means.tolist(), space.decode(space.predict(torch.tensor([[1.0, 1.0]])))
    ([[0.0, 2.0], [4.0, 0.0]], ['low'])
    """

    def __init__(
        self,
        dim: int,
        task: Task | Mapping[str, Task],
        *,
        mean: Mean = "condensation",
        decay: float = 0.9,
        condense_every: int = 100,
    ) -> None:
        named, bare = parse_tasks(task, {})
        kinds = [isinstance(value, Classes) for value in named.values()]
        ranges = kinds.count(False)
        if kinds.count(True) != 1:
            raise InputError(f"DeepNCM needs exactly one class task, with ranges or alone; got {kinds.count(True)}.")
        reason = "Each range takes one axis, and classes need one too."
        dim = check_integer(dim, "dim", at_least=ranges + 1, reason=reason)
        heads: list[Head] = []
        free = iter(range(ranges))
        for value in named.values():
            if isinstance(value, Classes):
                axes = slice(ranges, dim)
                heads.append(MeanHead(value, axes, mean=mean, decay=decay, condense_every=condense_every))
            else:
                heads.append(NumberHead(value, next(free)))
        super().__init__(dim, list(named), heads, bare=bare)

    @property
    def means(self) -> Tensor:
        """The class means, shape (num_classes, dim without the axes of ranges)."""
        return self._mean_head().means

    def options(self) -> dict[str, Any]:
        """Return how the means are kept."""
        return self._mean_head().options()

    @torch.no_grad()
    def observe(self, z: Tensor, targets: Targets) -> None:
        """Move the class means; among several processes everyone must call it, each with its part of the batch."""
        named = self._check_form(targets, len(z))
        for name, head in self._named_heads():
            if isinstance(head, MeanHead):
                head.observe(z, named[name])

    def _mean_head(self) -> MeanHead:
        return next(head for head in self.heads if isinstance(head, MeanHead))
