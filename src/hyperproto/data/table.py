"""Your own table: images or numbers to learn from, and any number of classes and numbers to predict."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from hyperproto._core.errors import InputError
from hyperproto.data.columns import Column, class_names, column, numbers, read_columns
from hyperproto.data.preprocessing import Augment, Preprocessing, TablePreprocessing, large_image_preprocessing
from hyperproto.data.publication import check_files_exist
from hyperproto.data.source import ImageFiles, Inputs, Labels, Source, Split, Target, select
from hyperproto.data.targets import Unseen, class_targets, find_bounds, find_labels, held_out_rows

__all__ = ["read_table"]


def read_table(
    path: str | Path,
    *,
    image: str | None = None,
    columns: Sequence[str] | None = None,
    classes: Sequence[str] = (),
    ranges: Sequence[str] = (),
    test: str | Path | None = None,
    held_out: float = 0.2,
    seed: int = 0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    unseen: Unseen = "error",
    size: int = 224,
    resize: int | None = None,
    targets: Mapping[str, Target] | None = None,
) -> Source:
    """Read a table (.csv, .tsv, .parquet) of images or of numbers, with one target for each column to predict.

    Parameters
    ----------
    path : str or Path
        The table, with a header.
    image : str, optional
        The column that names image files, relative to the table's folder.
    columns : sequence of str, optional
        Without ``image``: the columns of numbers to learn from; all that are not targets unless given. Empty cells
        are allowed, and get the mean of the training data.
    classes, ranges : sequence of str
        The columns to predict, as classes and as numbers. Empty cells are allowed: missing targets.
    test : str or Path, optional
        A table of the same columns to test on; else ``held_out``, a share of the rows, is held out by the ``seed``.
    bounds : mapping of str to (low, high), optional
        For columns of ``ranges``; the extremes of the training data unless given.
    unseen : {"error", "missing"}
        What a class in the test table is that training never saw.
    size, resize : int
        For images: what the network gets, and the shorter side before the centre is cut out (8/7 of ``size``).
    targets : mapping of str to Labels or Bounds, optional
        Those of a trained model: class names and bounds are then its own, not those of the data, and ``unseen`` goes
        for the training part too.

    Returns
    -------
    Source
        Class names are sorted; numbers beyond the bounds are scored as they are in testing.
    """
    path, given, known = Path(path), dict(bounds or {}), dict(targets or {})
    table = read_columns(path)
    _check_choices(table, path, image, columns, classes, ranges, given)
    names = [image] if image else list(columns or (name for name in table if name not in (*classes, *ranges)))
    if not names:
        raise InputError(f'"{path}" must have a column to learn from beside {", ".join((*classes, *ranges))}.')
    labels = {name: find_labels(name, class_names(table[name]), known.get(name)) for name in classes}
    strict: Unseen = unseen if known else "error"
    train = _split(table, path, names, labels, ranges, is_image=image is not None, unseen=strict)
    held: Split | None = None
    if test is not None:
        held = _split(
            read_columns(test), Path(test), names, labels, ranges, is_image=image is not None, unseen=unseen
        )
    elif held_out:
        # every class keeps a row in training, so the names are those of the training part
        ids = [train.targets[name] for name in classes]
        kept, out = held_out_rows(ids, len(train), share=held_out, seed=seed)
        train, held = select(train, kept), select(train, out) if len(out) else None
    found = {name: find_bounds(name, train.targets[name], given.get(name) or known.get(name)) for name in ranges}
    return Source(
        name=path.stem,
        train=train,
        test=held,
        targets={**labels, **found},
        preprocessing=_preprocessing(train.inputs, names, path, size, resize),
        augment=Augment(resized_crop=(0.08, 1.0), flip=True) if image else None,
    )


def _check_choices(
    table: Mapping[str, Column],
    path: Path,
    image: str | None,
    columns: Sequence[str] | None,
    classes: Sequence[str],
    ranges: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
) -> None:
    if not (classes or ranges):
        listed = ", ".join(f'"{name}"' for name in table)
        raise InputError(
            f'Name at least one column of "{path}" to predict, in `classes` or `ranges`; it has {listed}.'
        )
    if image and columns:
        raise InputError("Give either `image` or `columns` to learn from; got both.")
    chosen = [*([image] if image else ()), *(columns or ()), *classes, *ranges]
    for name in chosen:
        column(table, name, path)
        if chosen.count(name) > 1:
            raise InputError(f'A column must be used once; "{name}" is given {chosen.count(name)} times.')
    for name in bounds:
        if name not in ranges:
            raise InputError(f'`bounds` must be for columns of `ranges`; "{name}" is not one. Add it there.')


def _split(
    table: Mapping[str, Column],
    path: Path,
    names: Sequence[str],
    labels: Mapping[str, Labels],
    ranges: Sequence[str],
    *,
    is_image: bool,
    unseen: Unseen,
) -> Split:
    """Return all rows of one table; ``names`` are the columns to learn from."""
    targets = {
        name: class_targets(name, known, class_names(column(table, name, path)), where=f'"{path}"', unseen=unseen)
        for name, known in labels.items()
    }
    targets |= {name: numbers(column(table, name, path), name, path) for name in ranges}
    cells = {name: column(table, name, path) for name in names}
    if is_image:
        return Split(_image_files(cells[names[0]], names[0], path), targets)
    return Split(torch.stack([numbers(held, name, path) for name, held in cells.items()], dim=1).float(), targets)


def _image_files(files: Column, name: str, path: Path) -> ImageFiles:
    for row, file in enumerate(files, start=1):
        if not isinstance(file, str):
            raise InputError(
                f'Column "{name}" of "{path}" must name an image in every row; row {row} holds {file!r}.'
            )
    paths = tuple(path.parent / file for file in files)
    check_files_exist(paths, listed_in=str(path))
    return ImageFiles(paths)


def _preprocessing(inputs: Inputs, names: Sequence[str], path: Path, size: int, resize: int | None) -> Preprocessing:
    if isinstance(inputs, ImageFiles):
        return large_image_preprocessing(size, resize)
    there = ~inputs.isnan()
    if len(empty := (~there.any(0)).nonzero().flatten()):
        raise InputError(f'Column "{names[int(empty[0])]}" of "{path}" must hold numbers; it is empty. Leave it out.')
    mean = inputs.double().nanmean(0)
    std = (inputs.double() - mean).square().nanmean(0).sqrt()
    std = torch.where(std > 0, std, 1.0)  # a column that never varies says nothing, and does no harm
    return TablePreprocessing(tuple(names), tuple(mean.tolist()), tuple(std.tolist()))
