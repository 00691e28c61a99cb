"""Classes on a block of axes: each has a fixed prototype there."""

from typing import Any

import torch
from torch import Tensor

from hyperproto._core.checks import check_directions
from hyperproto.codes.certificate import Certificate
from hyperproto.defaults import LENGTH_POWER
from hyperproto.prototypes import Prototypes
from hyperproto.prototypes.prototypes import EXACT_ENTRIES
from hyperproto.sphere import normalize, working_dtype
from hyperproto.tasks.classes import Classes
from hyperproto.tasks.head import Head
from hyperproto.tasks.top_k import LARGEST_BLOCK, TopK, nearest_prototypes


class PrototypeHead(Head):
    """A class task: its prototypes, on its own block of axes, renormalized."""

    task: Classes
    prototypes: Tensor

    def __init__(self, task: Classes, axes: slice, placed: Prototypes) -> None:
        super().__init__(task, axes)
        self.loss: Any = task.loss  # not a module: losses are frozen values
        self.certificate: Certificate | None = placed.certificate
        self.register_buffer("prototypes", placed.vectors)
        self._rounded: tuple[int, Tensor, Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rounded copy out of files and of other processes."""
        return {**self.__dict__, "_rounded": None}

    @property
    def placed(self) -> Prototypes:
        """The buffer with its names and certificate."""
        if self.certificate is None:
            given = Prototypes.from_tensor(self.prototypes, method="a state dict")
            self.certificate = given.certificate
        return Prototypes(self.prototypes, self.certificate, self.task.names)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Take other prototypes as a new buffer: the old one may be shared with whoever placed
        it.
        """
        given, own = state_dict.get(f"{prefix}prototypes"), self.prototypes
        if given is not None and given.shape == own.shape and not torch.equal(given, own):
            self.prototypes, self.certificate = own.clone(), None
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 1, or the loss the task asks for, row by row."""
        return self.loss(self.part(z), self._table(working_dtype(z.dtype)), target)

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to every prototype, shape (n, num_classes)."""
        wide = self.part(z).to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            return (normalize(wide) @ self._table(wide.dtype).to(wide.dtype).mT).clamp(-1, 1)

    def logits(self, z: Tensor) -> Tensor:
        """Return the logits of the loss; where it has none, its cosines at a fitted scale."""
        wide = self.part(z).to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            found: Tensor | None = self.loss.logits(wide, self._table(wide.dtype).to(wide))
        return self.scores(z) * self.task.cosine_scale if found is None else found

    @property
    def outlier(self) -> str:
        """The entropy where the loss has logits; their strength where it leaves lengths free."""
        empty = self.prototypes[:0]
        return "strength" if self.loss.logits(empty, empty) is None else "entropy"

    def strength(self, z: Tensor) -> Tensor:
        """Return the largest logit; of a loss without logits, which leaves lengths free, the
        largest cosine by a root of the length: it is short for the unfamiliar.
        """
        wide = self.part(z).to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            found: Tensor | None = self.loss.logits(wide, self._table(wide.dtype).to(wide))
        if found is not None:
            return found.amax(dim=1)
        length = wide.square().sum(dim=1).sqrt()
        return self.scores(z).amax(dim=1) * length.pow(LENGTH_POWER)

    def many(self, z: Tensor) -> bool:
        """Return whether the cosines of all pairs are so many that they are computed in blocks."""
        if torch.compiler.is_compiling():  # a graph is for any number of rows
            return False
        # 64 MB; one row by itself takes less time in blocks
        few = 2**24 if len(z) > 1 else LARGEST_BLOCK
        return len(z) * len(self.prototypes) > few

    def predict(self, z: Tensor) -> Tensor:
        """Return Equation 3: the class whose prototype is nearest."""
        if self.many(z):
            return self.top_k(z, 1).ids[:, 0]
        check_directions(self.part(z))
        return self.scores(z).argmax(dim=1)

    def top_k(self, z: Tensor, k: int) -> TopK:
        """Return the k nearest prototypes and their cosines, in blocks."""
        part = self.part(z)
        check_directions(part)
        wide = part.to(working_dtype(z.dtype))
        table = self._table(wide.dtype)
        return nearest_prototypes(normalize(wide), table, min(k, len(self.prototypes)))

    def best(self, z: Tensor, predicted: Tensor, k: int) -> TopK:
        """Return the k best classes; of very many in blocks, as :meth:`predict` finds its own."""
        return self.top_k(z, k) if self.many(z) else super().best(z, predicted, k)

    def _table(self, dtype: torch.dtype) -> Tensor:
        """Return the prototypes, rounded once to ``dtype``, not in every step: 64 MB at most."""
        exact, kept = self.prototypes, self._rounded
        traced = torch.jit.is_tracing() or torch.compiler.is_compiling()  # type: ignore[attr-defined,no-untyped-call]
        if exact.dtype == dtype or exact.numel() > EXACT_ENTRIES or traced:
            return exact
        if (
            kept is None
            or kept[1] is not exact
            or kept[0] != exact._version
            or kept[2].dtype != dtype
        ):
            kept = self._rounded = (exact._version, exact, exact.to(dtype))
        return kept[2]
