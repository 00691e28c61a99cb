"""A look at the training examples before prototypes are placed: rows and pixels as they are, files by a sample."""

import torch
from torch import Tensor

from hyperproto.data import ImagePreprocessing, Split
from hyperproto.data.image_files import PathList, decode_all
from hyperproto.priors import Prior, from_data
from hyperproto.priors.data_driven import draw_examples
from hyperproto.spaces import Classes

__all__ = ["can_be_looked_at", "look_at"]

FILES = 5_000  # that are decoded for it: enough for fifty of each of a hundred classes
SIDE = 32  # pixels; twice what patches are taken at


def can_be_looked_at(seen: Split | None) -> bool:
    """Return whether these are rows, images or image files."""
    return seen is not None and (not isinstance(seen.inputs, Tensor) or seen.inputs.ndim in (2, 4))


def look_at(seen: Split, name: str, task: Classes) -> Prior | None:
    """Return the prior of what examples of the classes of ``name`` look like.

    None where fewer than three classes are there: of two, neither is nearer to one than the other.
    """
    labels = seen.targets[name]
    inputs = seen.inputs
    if not isinstance(inputs, Tensor):
        rows = draw_examples(labels, seed=0, most=FILES)
        labels = labels[rows]
        inputs, corrupt = _pixels(PathList(inputs.paths[row] for row in rows.tolist()))
        labels[corrupt] = -1
    if len(torch.unique(labels[labels >= 0])) < 3:
        return None
    prior = from_data(inputs, labels, task.names, num_classes=task.num_classes, missing="free")
    return prior if prior.known.sum() >= 3 else None


def _pixels(paths: PathList) -> tuple[Tensor, list[int]]:
    """Return small images, shape (n, 3, side, side), and which of them could not be read."""
    small = ImagePreprocessing(SIDE, mean=(0.5,) * 3, std=(1.0,) * 3)
    pixels, corrupt = decode_all(paths, small, keep=True, skip_corrupt=True, workers=0)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2), list(corrupt)
