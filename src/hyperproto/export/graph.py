"""One graph from inputs to answers: what scales inputs, the network, and what its output means, as
ONNX.
"""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyperproto._core.arrays import Array
from hyperproto._core.errors import InputError, require
from hyperproto.data import ImagePreprocessing, Standardizer, TablePreprocessing
from hyperproto.runtime.model import INPUT, POINT, TaskForm
from hyperproto.spaces import Space, TaskSpace
from hyperproto.tasks.outliers import unusual


class Scale(nn.Module):
    """What :class:`~hyperproto.data.Standardizer` does, in float64, and then the precision of the
    network.
    """

    mean: Tensor
    scale: Tensor
    center: Tensor
    bend: Tensor
    is_bent: Tensor
    column: Tensor
    start: Tensor
    width: Tensor

    def __init__(self, scaling: Standardizer, ndim: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        for name in ("mean", "scale"):
            values = torch.tensor(getattr(scaling, name), dtype=torch.float64)
            self.register_buffer(name, values[:, None, None] if ndim == 4 else values)
        self.bends = bool(scaling.bend)
        bend = torch.tensor(scaling.bend, dtype=torch.float64)
        self.register_buffer("is_bent", bend > 0)
        self.register_buffer("bend", bend.where(bend > 0, 1.0))
        self.register_buffer("center", torch.tensor(scaling.center, dtype=torch.float64))
        self.bins = bool(scaling.knots)
        for name, each in zip(("column", "start", "width"), scaling.bins, strict=True):
            self.register_buffer(name, torch.from_numpy(each))

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows, shape (n, columns), or images, shape (n, channels, height, width), on one
        scale.
        """
        wide = given = rows.double()
        if self.bends:
            away = (wide - self.center) / self.bend
            # asinh, by what every runtime has in float64
            asinh = away.sign() * (away.abs() + (away.square() + 1).sqrt()).log()
            wide = torch.where(self.is_bent, asinh, wide)
        scaled: Tensor = (wide - self.mean) / self.scale
        if self.bins:
            scaled = torch.cat(
                [scaled, ((given[:, self.column] - self.start) / self.width).clamp(0, 1)], dim=1
            )
        return scaled.to(self.dtype)


class Pixels(nn.Module):
    """What :func:`hyperproto.data.augment.normalize` does: bytes, channels last, to numbers,
    channels first.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, images: ImagePreprocessing) -> None:
        super().__init__()
        for name in ("mean", "std"):
            self.register_buffer(
                name, torch.tensor(getattr(images, name), dtype=torch.float64).mul(255).float()
            )

    def forward(self, pixels: Tensor) -> Tensor:
        """Return images, shape (n, channels, size, size)."""
        values: Tensor = (pixels.float() - self.mean) / self.std
        return values.permute(0, 3, 1, 2)


def preparation(preprocessing: Any, ndim: int, dtype: torch.dtype) -> nn.Module:
    """Return what the graph does to inputs before the network gets them."""
    if isinstance(preprocessing, ImagePreprocessing):
        return Pixels(preprocessing)
    scaling = (
        preprocessing.scaling if isinstance(preprocessing, TablePreprocessing) else preprocessing
    )
    return nn.Identity() if scaling is None else Scale(scaling, ndim, dtype)


class Answers(nn.Module):
    """From inputs to everything that ``model.onnx`` gives, in the order of its outputs."""

    def __init__(
        self, prepare: nn.Module, network: nn.Module, space: TaskSpace, tasks: tuple[TaskForm, ...]
    ) -> None:
        super().__init__()
        self.prepare, self.network, self.space, self.tasks = prepare, network, space, tasks

    @property
    def names(self) -> list[str]:
        """The outputs."""
        points = [POINT] if self.space.on_sphere else []
        return [name for task in self.tasks for name in task.outputs] + points

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs, each of shape (n, ...)."""
        z = self.network(self.prepare(inputs))
        found: list[Tensor] = []
        for task in self.tasks:
            head = self.space.named_heads()[task.name]
            if not task.classes:
                found.append(head.predict(z))
                continue
            logits = head.logits(z).double() * task.scale
            several = task.reads == "mask"
            probabilities = logits.sigmoid() if several else logits.softmax(dim=1)
            outlier = unusual(logits, head.strength(z).double(), task.outlier, task.longest)
            predicted = head.predict(z).long()
            found += [predicted, head.scores(z), probabilities.float(), outlier.float()]
        if isinstance(self.space, Space):
            found.append(self.space.project(z).float())
        return tuple(found)


def in_precision(space: TaskSpace, dtype: torch.dtype) -> TaskSpace:
    """Return a copy of a space whose points are in the precision that cosines are computed in."""
    space = copy.deepcopy(space).cpu()
    for head in space.named_heads().values():
        for name, points in head.named_buffers():
            setattr(head, name, points.to(dtype))
    return space


def to_onnx(model: Answers, rows: Array) -> bytes:
    """Return the graph of a model, for any number of inputs like ``rows``."""
    for module in ("onnx", "onnxscript"):
        require(module, extra="export", purpose="Exporting a model")
    example = torch.from_numpy(
        np.repeat(rows[:1], 2, axis=0)
    )  # for a batch of one, ONNX takes the number as fixed
    with torch.no_grad(), _quiet():
        try:
            program = torch.onnx.export(
                model.eval(),
                (example,),
                input_names=[INPUT],
                output_names=model.names,
                dynamic_shapes=({0: torch.export.Dim("n", min=1)},),
                dynamo=True,
                verbose=False,
            )
            assert program is not None
            content: bytes = program.model_proto.SerializeToString()
        except Exception as error:  # torch's exporter raises anything
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            advice = (
                "Networks of hyperproto.models can be exported; of others, those that torch.export "
                "takes."
            )
            raise InputError(
                "The network", f"be one that torch can export ({reason})", advice=advice
            ) from error
    return content


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what the exporter logs and warns of to itself."""
    logs = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [log.level for log in logs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for log in logs:
                log.setLevel(logging.ERROR)
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)
