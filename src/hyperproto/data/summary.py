"""What a source holds, in numbers, and a few of its images."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto.data.decode import open_image
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.source import MISSING, Bounds, ImageFiles, Labels, Source, Split

__all__ = ["describe_source", "preview"]


def describe_source(source: Source) -> dict[str, Any]:
    """Return counts, inputs, classes and ranges of a source, for people and for JSON."""
    parts = {"train": source.train} | ({} if source.test is None else {"test": source.test})
    return {
        "name": source.name,
        "examples": {name: len(split) for name, split in parts.items()},
        "inputs": _inputs(source.train),
        "targets": {
            name: {"kind": "classes", **_classes(known, name, parts)}
            if isinstance(known, Labels)
            else {"kind": "range", **_range(known, name, parts)}
            for name, known in source.targets.items()
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


def _classes(labels: Labels, name: str, parts: dict[str, Split]) -> dict[str, Any]:
    found: dict[str, Any] = {"classes": labels.num_classes, "names": list(labels.names)}
    for part, split in parts.items():
        ids = split.targets[name]
        counts = torch.bincount(ids[ids != MISSING], minlength=labels.num_classes)
        least, most = int(counts.min()), int(counts.max())
        found[part] = {"least": least, "most": most, "missing": int((ids == MISSING).sum())}
    return found


def _range(bounds: Bounds, name: str, parts: dict[str, Split]) -> dict[str, Any]:
    found: dict[str, Any] = {"low": bounds.low, "high": bounds.high}
    for part, split in parts.items():
        values = split.targets[name]
        beyond = int(((values < bounds.low) | (values > bounds.high)).sum())
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
    return ", ".join(known.text(source.train.targets[name][row].item()) for name, known in source.targets.items())
