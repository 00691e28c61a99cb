"""The sphere as an output space: marks on it, and wishes about cosines to them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from hyperproto._core.checks import check_directions, check_integer, check_output_width
from hyperproto._core.errors import InputError
from hyperproto._core.processes import from_first
from hyperproto.codes import Certificate
from hyperproto.losses import cosine_loss
from hyperproto.prototypes import Prototypes, place
from hyperproto.spaces.layout import deal_axes
from hyperproto.spaces.task_space import Head, TaskSpace, parse_tasks
from hyperproto.spaces.tasks import Classes, Range, Task
from hyperproto.spaces.top_k import TopK, nearest_prototypes
from hyperproto.sphere import cosine, normalize, working_dtype

__all__ = ["Space"]

FEW_ENTRIES = 2**22  # up to here a rounded copy of the prototypes is kept: 16 MB
MANY_SCORES = 2**24  # beyond this many cosines are looked at in blocks: 64 MB


class Space(TaskSpace):
    """One sphere for one task or several, laid out before training; an ``nn.Module`` without parameters.

    Parameters
    ----------
    dim : int
        Width of the network's output. The sphere is S^(dim-1).
    task : Classes, Range, or a mapping from names to those, optional
        One task by itself takes and gives bare tensors.
    **tasks : Classes or Range
        Tasks by name; targets, losses and predictions are then always dicts. :mod:`hyperproto.spaces.layout` says
        which axes each task reads.

    Examples
    --------
    >>> space = Space(3, digit=Classes(["2", "3", "4", "5", "7"]), angle=Range(0, 180))
    >>> z = torch.tensor([[0.0, 2.0, 0.0], [-5.0, -1.0, 0.1]])
    >>> predictions = space.predict(z)
    >>> space.decode(predictions)["digit"], predictions["angle"].round()
    (['2', '4'], tensor([90.,  2.]))
    """

    def __init__(self, dim: int, task: Task | Mapping[str, Task] | None = None, /, **tasks: Task) -> None:
        named, bare = parse_tasks(task, tasks)
        axes = deal_axes(dim, named)
        heads = [
            PrototypeHead(task, axes[name]) if isinstance(task, Classes) else PoleHead(task, axes[name], int(dim))
            for name, task in named.items()
        ]
        super().__init__(dim, list(named), heads, bare=bare)

    def project(self, z: Tensor) -> Tensor:
        """Return the outputs as points on the sphere, shape (n, dim)."""
        check_output_width(z, self.dim)
        return normalize(z)

    @torch.no_grad()
    def top_k(self, z: Tensor, k: int) -> dict[str, TopK] | TopK:
        """Return the k nearest classes of each output, exactly, in memory that does not grow with their number.

        Parameters
        ----------
        z : Tensor, shape (n, dim)
        k : int
            How many; all of them where a task has no more classes.

        Returns
        -------
        TopK of values (cosines) and ids, both of shape (n, k), best first and equals by their ids; one for each class
        task by name, or that of the one unnamed task.
        """
        check_output_width(z, self.dim)
        k = check_integer(k, "k", at_least=1)
        found = {name: head.top_k(z, k) for name, head in self._named_heads() if isinstance(head, PrototypeHead)}
        if not found:
            raise InputError("`top_k` needs a class task; this space has none. `predict` answers with numbers.")
        return found[self.names[0]] if self.bare else found

    @property
    def prototypes(self) -> dict[str, Prototypes] | Prototypes:
        """The prototypes of each class task, or of the one unnamed task."""
        held = {name: head.to_prototypes() for name, head in self._named_heads() if isinstance(head, PrototypeHead)}
        return held[self.names[0]] if self.bare and held else held


class PrototypeHead(Head):
    """A class task: its prototypes, on its own block of axes, renormalised."""

    prototypes: Tensor
    reserve: Tensor | None

    def __init__(self, task: Classes, axes: slice) -> None:
        super().__init__(task)
        placed = task.classes if isinstance(task.classes, Prototypes) else _place_once(task, axes.stop - axes.start)
        self.axes = axes
        self.certificate: Certificate | None = placed.certificate
        self.register_buffer("prototypes", placed.vectors)
        self.register_buffer("reserve", placed.reserve, persistent=False)  # for classes to come; no output meets it
        self._rounded: tuple[int, Tensor, Tensor] | None = None

    def to_prototypes(self) -> Prototypes:
        """Return the buffer with its names and certificate."""
        assert isinstance(self.task, Classes)
        if self.certificate is None:
            self.certificate = Prototypes.from_tensor(self.prototypes, method="a state dict").certificate
        return Prototypes(self.prototypes, self.certificate, self.task.names, self.reserve)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Take other prototypes as a new buffer: the old one may be shared with whoever placed it."""
        given = state_dict.get(f"{prefix}prototypes")
        if given is not None and given.shape == self.prototypes.shape and not torch.equal(given, self.prototypes):
            self.prototypes, self.certificate, self.reserve = self.prototypes.clone(), None, None
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 1, or the loss the task asks for, row by row."""
        assert isinstance(self.task, Classes)
        return self.task.loss(z[:, self.axes], self._table(working_dtype(z.dtype)), target)

    def _table(self, dtype: torch.dtype) -> Tensor:
        """Return the prototypes, where they are few rounded to ``dtype``: rounded once, not row by row every step."""
        exact = self.prototypes
        if exact.dtype == dtype or exact.numel() > FEW_ENTRIES or torch.compiler.is_compiling():
            return exact
        held = self._rounded
        if held is None or held[1] is not exact or held[0] != exact._version or held[2].dtype != dtype:
            held = self._rounded = (exact._version, exact, exact.to(dtype))
        return held[2]

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to every prototype, shape (n, num_classes)."""
        wide = z[:, self.axes].to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            return (normalize(wide) @ self._table(wide.dtype).to(wide.dtype).mT).clamp(-1, 1)

    def many(self, z: Tensor) -> bool:
        """Return whether the cosines of all pairs would take so much memory that blocks of them are looked at."""
        return len(z) * len(self.prototypes) > MANY_SCORES

    def predict(self, z: Tensor) -> Tensor:
        """Return Equation 3: the class whose prototype is nearest."""
        if self.many(z):
            return self.top_k(z, 1).ids[:, 0]
        check_directions(z[:, self.axes])
        return self.scores(z).argmax(dim=1)

    def top_k(self, z: Tensor, k: int) -> TopK:
        """Return the k nearest prototypes and their cosines, in blocks."""
        part = z[:, self.axes]
        check_directions(part)
        wide = part.to(working_dtype(z.dtype))
        return nearest_prototypes(normalize(wide), self._table(wide.dtype), min(k, len(self.prototypes)))


class PoleHead(Head):
    """A range: the cosine between its pole, one axis, and the output on that axis and all later ones."""

    upper_pole: Tensor

    def __init__(self, task: Range, axes: slice, dim: int) -> None:
        super().__init__(task)
        self.axes = axes
        pole = torch.zeros(dim, dtype=torch.float64)
        pole[axes.start] = 1
        self.register_buffer("upper_pole", pole)

    @property
    def lower_pole(self) -> Tensor:
        """The lower bound's prototype, opposite the upper one."""
        return -self.upper_pole

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 7 row by row."""
        assert isinstance(self.task, Range)
        wide = working_dtype(z.dtype)
        wished = self.task.to_cosine(target.to(torch.promote_types(target.dtype, wide))).to(wide)
        return cosine_loss(z[:, self.axes], self.upper_pole[self.axes], wished)

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to the upper pole, shape (n,)."""
        part = z[:, self.axes].to(working_dtype(z.dtype))
        return cosine(part, self.upper_pole[self.axes].to(part.dtype))

    def predict(self, z: Tensor) -> Tensor:
        """Return the number the cosine stands for."""
        assert isinstance(self.task, Range)
        check_directions(z[:, self.axes])
        return self.task.from_cosine(self.scores(z))


def _place_once(task: Classes, dim: int) -> Prototypes:
    """Place the prototypes of a task; among several processes the first places and the others receive."""
    classes: Any = task.classes
    return from_first(lambda: place(classes, dim, effort="fast"))
