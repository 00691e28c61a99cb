"""CUB-200-2011: 11,788 photographs of 200 species of birds, with the official split."""

from pathlib import Path

import torch

from hyperproto._core.errors import InputError
from hyperproto.data.augment import PHOTO_AUGMENT
from hyperproto.data.image_files import check_files_exist
from hyperproto.data.preprocessing import large_image_preprocessing
from hyperproto.data.published import DatasetInfo, read_lines
from hyperproto.data.source import ImageFiles, Labels, Source, Split, select

__all__ = ["CUB200", "read_cub200"]

CUB200 = DatasetInfo(
    title="CUB-200-2011",
    url="https://www.vision.caltech.edu/datasets/cub_200_2011/",
    layout='the unpacked "CUB_200_2011/"',
    needed=("images", "images.txt", "image_class_labels.txt", "train_test_split.txt", "classes.txt"),
    folders=("CUB_200_2011",),
    counts=(5_994, 5_794),
)


def read_cub200(path: str | Path, *, size: int = 224, resize: int | None = None) -> Source:
    """Read CUB-200-2011.

    Parameters
    ----------
    path : str or Path
        The folder "CUB_200_2011", or the one that holds it.
    size : int
        Height and width the network gets; 224 in the paper.
    resize : int, optional
        The shorter side before the center is cut out (default: 8/7 of ``size``, which is 256 for 224).

    Returns
    -------
    Source
        With the one target "class"; names such as "Black footed Albatross", in the publisher's order.
    """
    folder = CUB200.find(path)
    classes = _column(folder / "classes.txt")
    order = {number: k for k, number in enumerate(classes)}
    images = _column(folder / "images.txt")
    labels = _matching(folder, "image_class_labels.txt", images, allowed=order)
    is_train = _matching(folder, "train_test_split.txt", images, allowed={"0": 0, "1": 1})
    paths = tuple(folder / "images" / name for name in images.values())
    check_files_exist(paths, listed_in="images.txt")
    every = Split(ImageFiles(paths), {"class": torch.tensor(labels)})
    train = torch.tensor(is_train).bool()
    return Source(
        name="cub-200-2011",
        train=select(every, train.nonzero().flatten()),
        test=select(every, (~train).nonzero().flatten()),
        targets={"class": Labels([_readable(name) for name in classes.values()])},
        preprocessing=large_image_preprocessing(size, resize),
        augment=PHOTO_AUGMENT,
    )


def _readable(name: str) -> str:
    """Return "Black footed Albatross" for "001.Black_footed_Albatross"."""
    return name.partition(".")[2].replace("_", " ") or name


def _column(path: Path) -> dict[str, str]:
    """Return the value that follows each number, in the order of the file."""
    found = {}
    for line in read_lines(path):
        number, _, value = line.partition(" ")
        if not value:
            raise InputError(f'Lines of "{path}"', "be a number and a value", f'"{line}"', "Get the file again.")
        found[number] = value
    return found


def _matching(folder: Path, name: str, images: dict[str, str], *, allowed: dict[str, int]) -> list[int]:
    """Return the value that a file has for each image."""
    values = _column(folder / name)
    for image in images:
        if values.get(image) not in allowed:
            got = f'"{values[image]}"' if image in values else "no line"
            rule = f"hold one of {len(allowed)} known values for each image"
            raise InputError(f'"{folder / name}"', rule, f"{got} for image {image}", "Get the file again.")
    return [allowed[values[image]] for image in images]
