"""What a source holds, in numbers, and a few of its images."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto.data.decode import open_image
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.source import ImageFiles, Source, Split
from hyperproto.spaces import Classes, Range

__all__ = ["describe_source", "preview"]


def describe_source(source: Source) -> dict[str, Any]:
    """Return counts, inputs, classes and ranges of a source, for people and for JSON."""
    parts = {"train": source.train} | ({} if source.test is None else {"test": source.test})
    return {
        "name": source.name,
        "examples": {name: len(split) for name, split in parts.items()},
        "inputs": _inputs(source.train),
        "tasks": {
            name: {"kind": "classes", **_classes(task, name, parts)}
            if isinstance(task, Classes)
            else {"kind": "range", **_range(task, name, parts)}
            for name, task in source.tasks.items()
        },
        "preprocessing": source.preprocessing.to_dict(),
    }


def _inputs(split: Split) -> str:
    if isinstance(split.inputs, ImageFiles):
        return "image files"
    if split.inputs.ndim == 4:
        channels, height, width = split.inputs.shape[1:]
        return f"images of {height} by {width} pixels, {'in colour' if channels == 3 else 'grey'}"
    return f"{split.inputs.shape[1]} columns of numbers, {int(split.inputs.isnan().sum())} cells empty"


def _classes(task: Classes, name: str, parts: dict[str, Split]) -> dict[str, Any]:
    found: dict[str, Any] = {"classes": task.num_classes, "names": list(task.names or ())}
    for part, split in parts.items():
        ids = split.targets[name]
        counts = torch.bincount(ids[task.present(ids)], minlength=task.num_classes)
        least, most = int(counts.min()), int(counts.max())
        found[part] = {"least": least, "most": most, "missing": int((~task.present(ids)).sum())}
    return found


def _range(task: Range, name: str, parts: dict[str, Split]) -> dict[str, Any]:
    found: dict[str, Any] = {"low": task.low, "high": task.high}
    for part, split in parts.items():
        values = split.targets[name]
        beyond = int(((values < task.low) | (values > task.high)).sum())
        found[part] = {"beyond": beyond, "missing": int(values.isnan().sum())}
    return found


def preview(source: Source, count: int = 24) -> list[tuple[NDArray[np.uint8], str]]:
    """Return a few training images, evenly over the file, with what they are labelled.

    Each is of shape (height, width, 3); a source without images has none.
    """
    if not isinstance(source.preprocessing, ImagePreprocessing):
        return []
    split = source.train
    rows = torch.linspace(0, len(split) - 1, min(count, len(split))).round().long()
    return [(_pixels(split, row), _caption(source, row)) for row in rows.tolist()]


def _pixels(split: Split, row: int) -> NDArray[np.uint8]:
    if isinstance(split.inputs, Tensor):
        image = split.inputs[row]
        return image.expand(3, *image.shape[1:]).permute(1, 2, 0).numpy()
    with open_image(split.inputs.paths[row]) as opened:
        return np.asarray(opened.convert("RGB"))


def _caption(source: Source, row: int) -> str:
    said = []
    for name, task in source.tasks.items():
        value = task.decode(source.train.targets[name][row : row + 1])[0]
        said.append(f"{value:.4g}" if isinstance(value, float) else str(value) if value is not None else "-")
    return ", ".join(said)
