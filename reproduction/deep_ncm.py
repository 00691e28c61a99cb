r"""Deep NCM: means of the outputs of each class, learned with the network, in the place of fixed
prototypes.

With the sum :math:`s_k` and the number :math:`n_k` of a batch's outputs of class k, over all
processes:

=============  ==========================================================================================
online         :math:`\mu_k \leftarrow (N_k \mu_k + s_k) / (N_k + n_k),\ N_k \leftarrow N_k + n_k`
condensation   the same, and after every m-th batch :math:`N_k \leftarrow \min(N_k, 1)`
decay          :math:`\mu_k \leftarrow \alpha \mu_k + (1 - \alpha)\, s_k / n_k` where :math:`n_k > 0`
=============  ==========================================================================================

Means start at zero and a class that is not in a batch keeps its own, as in the script of [1]_.

.. [1] Guerriero, Caputo, Mensink. "DeepNCM: Deep Nearest Class Mean Classifiers." ICLR workshop 2018.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, check_finite_rows, check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto.losses import cross_entropy
from hyperproto.spaces.output_space import Targets, TaskSpace, parse_tasks
from hyperproto.sphere import working_dtype
from hyperproto.tasks import Classes, Task
from hyperproto.tasks.head import Head

Mean: TypeAlias = Literal["condensation", "decay", "online"]


class MeanHead(Head):
    """A class task whose prototypes are the means of its classes' outputs: softmax over squared
    distances to them.

    All that is learned is in buffers: ``means``, shape (num_classes, dim); ``seen``, shape
    (num_classes,), how many outputs each mean counts for; ``batches``, how many batches were
    observed.
    """

    means: Tensor
    seen: Tensor
    batches: Tensor

    def __init__(
        self, task: Classes, dim: int, *, mean: Mean, decay: float, condense_every: int
    ) -> None:
        super().__init__(task, slice(0, dim))
        self.update = choose(mean, UPDATES, what="form of class means")
        self.mean: Mean = mean
        self.decay = check_finite_number(decay, "decay", at_least=0, at_most=1)
        self.condense_every = check_integer(condense_every, "condense_every", at_least=1)
        self.register_buffer("means", torch.zeros(task.num_classes, dim, dtype=torch.float64))
        self.register_buffer("seen", torch.zeros(task.num_classes, dtype=torch.float64))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def extra_repr(self) -> str:
        """Say what is asked for, and how the means are kept."""
        return f"{super().extra_repr().partition(';')[0]}; {self.mean} of class means"

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy of the softmax over negative squared distances, row by row."""
        return cross_entropy(self._logits(z), target)

    def scores(self, z: Tensor) -> Tensor:
        """Return the negative squared distance to every mean, shape (n, num_classes)."""
        wide = z.to(working_dtype(z.dtype))
        return (self._logits(z) - wide.square().sum(dim=1, keepdim=True)).clamp_max(0)

    def predict(self, z: Tensor) -> Tensor:
        """Return the class whose mean is nearest."""
        check_finite_rows(z, "z", advice="Look for NaN in the inputs.")
        return self._logits(z).argmax(dim=1)

    def _logits(self, z: Tensor) -> Tensor:
        """Return -|z - mean|² + |z|², which the softmax cannot tell from -|z - mean|². Shape (n,
        num_classes).
        """
        wide = z.to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            means = self.means.to(wide.dtype)
            return torch.addmm(-means.square().sum(dim=1), wide, means.mT, alpha=2)

    @torch.no_grad()
    def observe(self, z: Tensor, target: Tensor) -> None:
        """Take a batch of outputs into the means; with several processes, everyone's part of it."""
        sums, counts = self._sums(z, target)
        self.batches = self.batches + 1
        self.means, self.seen = self.update(self, sums, counts)

    def _sums(self, z: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sum of the outputs of each class and their number, over all processes."""
        if target.is_floating_point():
            raise InputError(
                "Targets of a DeepNCM", "be class ids, each output is of one mean", "probabilities"
            )
        num_classes, dim = self.means.shape
        rows = torch.cat([z.to(self.means.dtype), self.means.new_ones(len(z), 1)], dim=1)
        rows_of = target.where(
            self.task.present(target), num_classes
        )  # missing labels go to a row that is left off
        totals = self.means.new_zeros(num_classes + 1, dim + 1).index_add_(0, rows_of, rows)
        distributed = torch.distributed
        if (
            distributed.is_available()
            and distributed.is_initialized()
            and distributed.get_world_size() > 1
        ):
            distributed.all_reduce(totals)
        return totals[:num_classes, :dim], totals[:num_classes, dim]


def _online(head: MeanHead, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    seen = head.seen + counts
    moved = (sums - counts[:, None] * head.means) / seen.clamp_min(1)[:, None]
    return head.means + moved, seen


def _condensed(head: MeanHead, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    means, seen = _online(head, sums, counts)
    # a tensor decides, not Python: nothing here waits for a device
    return means, torch.where(head.batches % head.condense_every == 0, seen.clamp_max(1), seen)


def _decayed(head: MeanHead, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    share = (1 - head.decay) * (counts > 0).to(counts.dtype)
    moved = sums / counts.clamp_min(1)[:, None] - head.means
    return head.means + share[:, None] * moved, head.seen + counts


UPDATES: dict[str, Callable[[MeanHead, Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "condensation": _condensed,
    "decay": _decayed,
    "online": _online,
}


class DeepNCM(TaskSpace):
    r"""Nearest class means as an output space, the baseline of the paper's Deep NCM figure.

    .. math:: p(k \mid z) = \frac{\exp(-\lVert z - \mu_k \rVert^2)}{\sum_j \exp(-\lVert z - \mu_j \rVert^2)}

    The loss is the cross-entropy of this softmax; gradients flow into the outputs, not into the means, which
    :meth:`observe` moves after each step. All that is learned is in buffers, stored and resumed with a run and the
    same in every process.

    Parameters
    ----------
    dim : int
        Width of the network's output.
    task : Classes, or a mapping from a name to it
        The one class task. Its ``loss`` belongs to the sphere and plays no part; its weights do.
    mean : {"condensation", "decay", "online"}
        How class means are kept.
    decay : float, default 0.9
        α, the share a mean keeps of itself at every batch with its class. Its authors try 0.5 to
        0.95.
    condense_every : int, default 100
        m, after how many batches means are condensed. Its authors try 100 to 781, which is two
        epochs of theirs.

    Examples
    --------
    >>> space = DeepNCM(2, Classes(["low", "high"]), mean="online")
    >>> space.observe(torch.tensor([[0.0, 1.0], [0.0, 3.0], [4.0, 0.0]]), torch.tensor([0, 0, 1]))
    >>> space.means.tolist(), space.decode(space.predict(torch.tensor([[1.0, 1.0]])))
    ([[0.0, 2.0], [4.0, 0.0]], ['low'])
    """

    kind = "deep-ncm"

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
        (name, classes), *others = named.items()
        if others or not isinstance(classes, Classes):
            raise InputError(
                "A DeepNCM",
                "have one class task and no other",
                ", ".join(map(repr, named.values())),
            )
        dim = check_integer(dim, "dim", at_least=1)
        options: dict[str, Any] = {"mean": mean, "decay": decay, "condense_every": condense_every}
        super().__init__(dim, {name: MeanHead(classes, dim, **options)}, bare=bare, **options)

    @property
    def means(self) -> Tensor:
        """The class means, shape (num_classes, dim)."""
        return self._mean_head.means

    @torch.no_grad()
    def observe(self, z: Tensor, targets: Targets) -> None:
        """Move the class means; among several processes everyone must call it, each with its part
        of the batch.
        """
        ((name, target),) = self._named(targets).items()
        self._mean_head.observe(z, self._mean_head.task.check_form(target, len(z), name))

    @property
    def _mean_head(self) -> MeanHead:
        return cast(MeanHead, self.heads[0])
