"""From a cell to its data: read, cut down, and put into the form that training takes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto._core.seeding import derive_seed
from hyperproto.data import Arrays, ImageData, ImagePreprocessing, Labels, Source, Split, training_data
from hyperproto.data.readers import describe_data, read_data
from hyperproto.data.source import Target, draw_rows, select
from hyperproto.reproduction.spec import Options, Spec

__all__ = ["cell_source", "prepared", "thin_out"]

DRAW = 0  # fixes which images are kept: all cells see the same


def cell_source(spec: Spec, data: Path) -> Source:
    """Return what a cell is trained and measured on."""
    return _source(
        spec.data,
        spec.options,
        spec.classes,
        spec.train_images,
        spec.test_images,
        spec.held_out,
        spec.size,
        spec.tasks,
        data,
    )


def prepared(source: Source, spec: Spec) -> tuple[Arrays | ImageData, Arrays | ImageData]:
    """Return training and test data as :func:`~hyperproto.training.fit` takes them."""
    assert source.test is not None
    augment = source.augment if spec.augment else None
    # workers: cells are spread over the cores already
    train = training_data(source.train, source.preprocessing, augment, workers=0)
    return train, training_data(source.test, source.preprocessing, workers=0)


@lru_cache(maxsize=1)  # cells of one data set follow each other, and reading takes longer than a small cell
def _source(
    reader: str,
    options: Options,
    classes: int | None,
    train_images: int | None,
    test_images: int | None,
    held_out: int | None,
    size: int | None,
    tasks: tuple[str, ...],
    data: Path,
) -> Source:
    source = read_data(describe_data(data, reader, **{"seed": DRAW, **dict(options)}))
    source = source if classes is None else _first_classes(source, classes)
    source = source if not tasks else _only_tasks(source, tasks)
    source = source if held_out is None else _hold_out(source, held_out)
    assert source.test is not None
    source = replace(
        source,
        train=thin_out(source.train, source.targets, train_images, "train"),
        test=thin_out(source.test, source.targets, test_images, "test"),
    )
    return source if size is None else _resized(source, size)


def _first_classes(source: Source, classes: int) -> Source:
    """Keep the first classes of the one class task."""
    ((name, known),) = [(name, known) for name, known in source.targets.items() if isinstance(known, Labels)]
    if known.num_classes < classes:
        raise InputError(
            f'"{source.name}" must have {classes} classes for this cell; it has {known.num_classes}. Is it whole?'
        )
    kept = Labels(known.names[:classes])
    splits = [
        split if split is None else select(split, (split.targets[name] < classes).nonzero().flatten())
        for split in (source.train, source.test)
    ]
    assert splits[0] is not None
    return replace(source, train=splits[0], test=splits[1], targets=source.targets | {name: kept})


def _hold_out(source: Source, images: int) -> Source:
    """Take training examples away and measure on them: the test data are not looked at."""
    kept = draw_share(source.train, source.targets, images, "held out")
    rest = torch.ones(len(source.train), dtype=torch.bool).index_fill(0, kept, False).nonzero().flatten()
    return replace(source, train=select(source.train, rest), test=select(source.train, kept))


def _only_tasks(source: Source, tasks: tuple[str, ...]) -> Source:
    kept = [
        None if split is None else Split(split.inputs, {name: split.targets[name] for name in tasks})
        for split in (source.train, source.test)
    ]
    assert kept[0] is not None
    return replace(source, train=kept[0], test=kept[1], targets={name: source.targets[name] for name in tasks})


def thin_out(split: Split, targets: Mapping[str, Target], images: int | None, part: str) -> Split:
    """Return so many examples, each class in its share, drawn once for all cells and left in the file's order."""
    if images is None or images >= len(split):
        return split
    return select(split, draw_share(split, targets, images, "thin out", part))


def draw_share(split: Split, targets: Mapping[str, Target], images: int, *purpose: str) -> Tensor:
    """Return which examples a draw takes, each class in its share, in the file's order. Shape (images,)."""
    every = torch.zeros(len(split), dtype=torch.int64)
    labels = (split.targets[name] for name, known in targets.items() if isinstance(known, Labels))
    return draw_rows(next(labels, every), images, seed=derive_seed(DRAW, *purpose))


def _resized(source: Source, size: int) -> Source:
    """Have the network see another size; the padding of a random crop shrinks with the image."""
    before = source.preprocessing
    assert isinstance(before, ImagePreprocessing)
    factor = size / before.size
    resize = size if before.resize is None else round(before.resize * factor)
    augment = source.augment
    if augment is not None and augment.padding:
        augment = replace(augment, padding=max(1, round(augment.padding * factor)))
    return replace(source, preprocessing=replace(before, size=size, resize=resize), augment=augment)
