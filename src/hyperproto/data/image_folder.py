"""Your own images: a folder with a subfolder for each class."""

from collections.abc import Mapping
from pathlib import Path

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto.data.image_files import images_in
from hyperproto.data.preprocessing import Augment, large_image_preprocessing
from hyperproto.data.source import ImageFiles, Source, Split, Target, select
from hyperproto.data.targets import Unseen, class_targets, find_labels, held_out_rows

__all__ = ["is_image_folder", "read_image_folder"]

TEST_FOLDERS = ("test", "val", "valid", "validation")


def read_image_folder(
    path: str | Path,
    *,
    held_out: float = 0.2,
    seed: int = 0,
    size: int = 224,
    resize: int | None = None,
    unseen: Unseen = "error",
    targets: Mapping[str, Target] | None = None,
) -> Source:
    """Read a folder with a subfolder of images for each class, or with "train" and "test" that hold such subfolders.

    Parameters
    ----------
    path : str or Path
        The folder. Beside "train" there may be "test", "val", "valid" or "validation"; the first of them is the test
        set. Hidden files, and those that are not called like images, are skipped.
    held_out : float
        Where there is no test folder: the share of each class to hold out; 0 holds out nothing.
    seed : int
        Fixes what is held out.
    size, resize : int
        Height and width the network gets, and the shorter side before the centre is cut out (8/7 of ``size``).
    unseen : {"error", "missing"}
        What a class of the test folder is that training never saw.
    targets : mapping of str to Labels or Bounds, optional
        Those of a trained model: class names and bounds are then its own, not those of the data, and ``unseen`` goes
        for the training part too.

    Returns
    -------
    Source
        With the one target "class", named by the subfolders in sorted order.
    """
    path = Path(path)
    if not path.is_dir():
        raise MissingDataError(f'"{path}" must be a folder with a subfolder for each class; there is no such folder.')
    inside = _train_folder(path)
    paths, labels = _labelled(inside)
    known = find_labels("class", labels, (targets or {}).get("class"))
    ids = class_targets("class", known, labels, where=f'"{inside}"', unseen=unseen)
    train = Split(ImageFiles(tuple(paths)), {"class": ids})
    beside = next((path / name for name in TEST_FOLDERS if (path / name).is_dir()), None)
    test: Split | None = None
    if inside != path and beside is not None:
        paths, labels = _labelled(beside)
        ids = class_targets("class", known, labels, where=f'"{beside}"', unseen=unseen)
        test = Split(ImageFiles(tuple(paths)), {"class": ids})
    elif held_out:
        kept, held = held_out_rows([train.targets["class"]], len(train), share=held_out, seed=seed)
        train, test = select(train, kept), select(train, held) if len(held) else None
    return Source(
        name=path.resolve().name,
        train=train,
        test=test,
        targets={"class": known},
        preprocessing=large_image_preprocessing(size, resize),
        augment=Augment(resized_crop=(0.08, 1.0), flip=True),
    )


def is_image_folder(path: str | Path) -> bool:
    """Whether subfolders of the folder, or of "train" in it, hold images."""
    inside = _train_folder(Path(path))
    return inside.is_dir() and any(images_in(folder) for folder in _subfolders(inside))


def _train_folder(path: Path) -> Path:
    """Return "train" in the folder, unless that is a class of trains."""
    train = path / "train"
    return train if train.is_dir() and _subfolders(train) else path


def _subfolders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and folder.name[0] != ".")


def _labelled(path: Path) -> tuple[list[Path], list[str]]:
    """Return the images of all subfolders and the name of the subfolder for each."""
    paths: list[Path] = []
    labels: list[str] = []
    folders = _subfolders(path)
    if not folders:
        raise InputError(f'"{path}" must hold a subfolder for each class; it holds none. Sort the images into such.')
    for folder in folders:
        images = images_in(folder)
        if not images:
            raise InputError(f'Class folder "{folder}" must hold images; it holds none. Remove it, or fill it.')
        paths += images
        labels += [folder.name] * len(images)
    return paths, labels
