"""Your own images: a folder with a subfolder for each class."""

from collections.abc import Mapping
from pathlib import Path

import torch

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto.data.image_files import ImageFiles, choose_preparation, images_in
from hyperproto.data.source import Source, Split, Unseen, hold_out_rows, select
from hyperproto.defaults import HELD_OUT
from hyperproto.tasks import Classes, Task

TEST_FOLDERS = ("test", "val", "valid", "validation")
SYSTEM_FOLDERS = (
    "__MACOSX",
    "__pycache__",
    "@eaDir",
    "$RECYCLE.BIN",
    "System Volume Information",
    "lost+found",
)


def read_image_folder(
    path: str | Path,
    *,
    held_out: float = HELD_OUT,
    seed: int = 0,
    unseen: Unseen = "error",
    targets: Mapping[str, Task] | None = None,
) -> Source:
    """Read a folder with a subfolder of images for each class, or with "train" and "test" that hold
    such subfolders.

    Parameters
    ----------
    path : str or Path
        The folder. Next to "train" there may be "test", "val", "valid" or "validation"; the first
        of them is the test set. Hidden files and folders, those that systems leave behind (such as
        "__MACOSX"), and files without the extension of an image are skipped.
    held_out : float
        Where there is no test folder: the share of each class to hold out; 0 holds out nothing.
    seed : int
        Fixes what is held out.
    unseen : {"error", "missing"}
        What a class of the test folder is that is not in the training data.
    targets : mapping of str to Classes or Range, optional
        Those of a trained model: class names and bounds are then its own, not those of the data,
        and ``unseen`` goes for the training part too.

    Returns
    -------
    Source
        With the one target "class", named by the subfolders in sorted order, and a size chosen by
        that of the images.
    """
    path = Path(path)
    if not path.is_dir():
        raise MissingDataError(f'"{path}"', "be an existing folder with a subfolder for each class")
    train_folder = _train_folder(path)
    paths, labels = _labeled_images(train_folder)
    if not targets and len(set(labels)) < 2:
        got = f'only "{labels[0]}"'
        raise InputError(
            f'"{train_folder}"',
            "hold two subfolders or more, one for each class",
            got,
            "Add another.",
        )
    known = (targets or {}).get("class") or Classes.fit(labels, '"class"')
    train = _split(paths, labels, known, train_folder, unseen)
    test_folder = next((path / name for name in TEST_FOLDERS if (path / name).is_dir()), None)
    test: Split | None = None
    if train_folder != path and test_folder is not None:
        test = _split(*_labeled_images(test_folder), known, test_folder, unseen)
    elif held_out:
        kept, out = hold_out_rows([train.targets["class"]], len(train), share=held_out, seed=seed)
        train, test = select(train, kept), select(train, out) if len(out) else None
    preprocessing, augment, note = choose_preparation(train.inputs)
    return Source(path.resolve().name, train, test, {"class": known}, preprocessing, augment, note)


def _split(
    paths: list[Path], labels: list[str], known: Task, folder: Path, unseen: Unseen
) -> Split:
    ids = torch.from_numpy(known.encode(labels, f'"class" in "{folder}"', unseen=unseen))
    return Split(ImageFiles(paths), {"class": ids})


def is_image_folder(path: str | Path) -> bool:
    """Whether subfolders of the folder, or of "train" in it, hold images."""
    folder = _train_folder(Path(path))
    return folder.is_dir() and any(images_in(inner) for inner in _subfolders(folder))


def _train_folder(path: Path) -> Path:
    """Return "train" in the folder, unless that is a class of trains."""
    train = path / "train"
    return train if train.is_dir() and _subfolders(train) else path


def _subfolders(path: Path) -> list[Path]:
    return sorted(
        folder
        for folder in path.iterdir()
        if folder.is_dir() and folder.name[0] != "." and folder.name not in SYSTEM_FOLDERS
    )


def _labeled_images(path: Path) -> tuple[list[Path], list[str]]:
    """Return the images of all subfolders and the name of the subfolder for each."""
    paths: list[Path] = []
    labels: list[str] = []
    folders = _subfolders(path)
    if not folders:
        raise InputError(
            f'"{path}"',
            "hold a subfolder for each class",
            "none",
            "Sort the images into subfolders.",
        )
    for folder in folders:
        images = images_in(folder)
        if not images:
            raise InputError(
                f'Class folder "{folder}"', "hold images", "none", "Remove it, or fill it."
            )
        paths += images
        labels += [folder.name] * len(images)
    return paths, labels
