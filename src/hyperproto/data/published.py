"""Published data sets: where the publisher has one, which files go where; and three that are
folders of photographs.

Tiny ImageNet (the paper's ImageNet-200), CUB-200-2011 and OmniArt are here; CIFAR-100 and MNIST
have their own files. Nothing is ever downloaded.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, MissingDataError, arg
from hyperproto._core.files import read_text
from hyperproto.data.augment import PHOTO_AUGMENT, WHOLE_AUGMENT, Augment
from hyperproto.data.image_files import ImageFiles, check_files_exist, images_in
from hyperproto.data.source import Source, Split, Unseen, select
from hyperproto.data.table_files import read_columns
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.tasks import Classes, Range


@dataclass(frozen=True)
class DatasetInfo:
    """A published data set.

    Attributes
    ----------
    title : str
        Its usual name.
    url : str
        Where its publisher has it.
    layout : str
        What goes where, as the end of "Put ... there".
    needed : tuple of str
        Patterns of the files and folders by which it is recognized.
    folders : tuple of str
        Names of its own folder, where the archive makes one.
    counts : tuple of int
        How many training and test examples the publisher has; 0 where that is not fixed.
    other_forms : tuple of str
        Files and folders that hold it in a form that is recognized, but not read.
    """

    title: str
    url: str
    layout: str
    needed: tuple[str, ...]
    folders: tuple[str, ...] = ()
    counts: tuple[int, int] = (0, 0)
    other_forms: tuple[str, ...] = ()

    def places(self, path: str | Path) -> list[Path]:
        """Return where to look: the path itself, then the publisher's folders in it."""
        return [Path(path), *(Path(path) / folder for folder in self.folders)]

    def absent(self, at: Path) -> list[str]:
        """Return what is needed and not at a place."""
        return [name for name in self.needed if not any(at.glob(name))]

    def is_at(self, path: str | Path) -> bool:
        """Whether all that is needed is at one of :meth:`places`, or the data in another form:
        reading that says which one to get.
        """
        forms = [Path(path), *(Path(path) / name for name in self.other_forms)]
        is_other = any(at.name in self.other_forms and at.exists() for at in forms)
        return is_other or not all(map(self.absent, self.places(path)))

    def find(self, path: str | Path) -> Path:
        """Return where it is, or raise an error that says where the publisher has it and what goes
        where.
        """
        nearest = min(self.places(path), key=lambda at: len(self.absent(at)))
        if absent := self.absent(nearest):
            raise self.missing(path, absent)
        return nearest

    def missing(self, path: str | Path, names: Iterable[str]) -> MissingDataError:
        """Return the error for files that are not there."""
        listed = ", ".join(f'"{name}"' for name in names)
        return MissingDataError(
            f'{self.title} not found in "{path}": {listed} missing. Nothing is downloaded for '
            "you: the publisher has "
            f"it at {self.url}; put {self.layout} there."
        )


ANNOTATIONS = "val/val_annotations.txt"

TINY_IMAGENET = DatasetInfo(
    title="Tiny ImageNet (ImageNet-200)",
    url="http://cs231n.stanford.edu/tiny-imagenet-200.zip",
    layout='the unpacked "tiny-imagenet-200/"',
    needed=("wnids.txt", "words.txt", "train", "val/images", ANNOTATIONS),
    folders=("tiny-imagenet-200",),
    counts=(100_000, 10_000),
)

CUB200 = DatasetInfo(
    title="CUB-200-2011",
    url="https://www.vision.caltech.edu/datasets/cub_200_2011/",
    layout='the unpacked "CUB_200_2011/"',
    needed=(
        "images",
        "images.txt",
        "image_class_labels.txt",
        "train_test_split.txt",
        "classes.txt",
    ),
    folders=("CUB_200_2011",),
    counts=(5_994, 5_794),
)

OMNIART = DatasetInfo(
    title="OmniArt",
    url="http://isis-data.science.uva.nl/strezoski/ (described in arXiv:1708.00684)",
    layout=(
        '"train_complete.csv", "test_complete.csv" and the images as "train/ID.jpg" and '
        '"test/ID.jpg"'
    ),
    needed=("train_complete.csv", "test_complete.csv", "train", "test"),
    folders=("omniart", "OmniArt"),
)
PHOTO_PREPROCESSING = ImagePreprocessing(224, resize=256)  # the paper's, for CUB-200 and OmniArt
Crops: TypeAlias = Literal["middle", "whole", "authors"]
CROPS = {
    "middle": PHOTO_AUGMENT,
    "whole": WHOLE_AUGMENT,
    "authors": replace(WHOLE_AUGMENT, at_test=True),
}
# fixed in the authors' script; the paper takes the training minimum and maximum
YEARS_OF_SCRIPT = (1000.0, 1932.0)


def read_tiny_imagenet(path: str | Path, *, names: Literal["words", "wnid"] = "words") -> Source:
    """Read Tiny ImageNet, 200 classes of 64 by 64 pixels; "val" is the test set, since "test" has
    no labels.

    Parameters
    ----------
    path : str or Path
        The folder "tiny-imagenet-200", or the one that holds it.
    names : {"words", "wnid"}
        Call a class by the first word for it ("goldfish"; "goldfish (n01443537)" where two have the
        same one), or by its WordNet id. The order is that of the sorted ids in either case.

    Returns
    -------
    Source
        With the one target "class".
    """
    folder = TINY_IMAGENET.find(path)
    wnids = sorted(read_lines(folder / "wnids.txt"))
    if not wnids:
        raise InputError(f'"{folder / "wnids.txt"}"', "list the classes, one in each line", "none")
    called = choose(
        names,
        {"words": _first_words(folder / "words.txt", wnids), "wnid": wnids},
        what="class names",
    )
    paths: list[Path] = []
    counts = []
    for wnid in wnids:
        images = images_in(folder / "train" / wnid / "images")
        if not images:
            raise TINY_IMAGENET.missing(folder, [f"train/{wnid}/images/*.JPEG"])
        paths += images
        counts.append(len(images))
    labels = torch.arange(len(wnids)).repeat_interleave(torch.tensor(counts))
    return Source(
        name="imagenet-200",
        train=Split(ImageFiles(paths), {"class": labels}),
        test=_annotated(folder, wnids),
        targets={"class": Classes(called)},
        preprocessing=ImagePreprocessing(64),
        augment=Augment(padding=4, flip=True),
    )


def _first_words(path: Path, wnids: list[str]) -> list[str]:
    lines = (line.partition("\t") for line in read_lines(path))
    first = {wnid: words.partition(",")[0].strip() for wnid, _, words in lines}
    words_of = [first.get(wnid) or wnid for wnid in wnids]
    times = Counter(words_of)
    return [
        word if times[word] == 1 else f"{word} ({wnid})"
        for word, wnid in zip(words_of, wnids, strict=True)
    ]


def _annotated(folder: Path, wnids: list[str]) -> Split:
    """Return the test images of Tiny ImageNet, whose labels are in one file."""
    ids = {wnid: k for k, wnid in enumerate(wnids)}
    paths, labels = [], []
    for number, line in enumerate(read_lines(folder / ANNOTATIONS), start=1):
        name, _, rest = line.partition("\t")
        wnid = rest.partition("\t")[0]
        if wnid not in ids:
            got = f'"{wnid}" in line {number}'
            raise InputError(
                f'"{folder / ANNOTATIONS}"', 'name classes of "wnids.txt"', got, "Unpack it again."
            )
        paths.append(folder / "val/images" / name)
        labels.append(ids[wnid])
    check_files_exist(paths, listed_in=ANNOTATIONS)
    return Split(ImageFiles(paths), {"class": torch.tensor(labels, dtype=torch.int64)})


def read_cub200(path: str | Path, *, crops: Crops = "middle") -> Source:
    """Read CUB-200-2011, 11,788 photographs of 200 species of birds, with the official split.

    Parameters
    ----------
    path : str or Path
        The folder "CUB_200_2011", or the one that holds it.
    crops : {"middle", "whole", "authors"}
        What random crops are taken from: the middle square, decoded once; the whole image, as in
        the paper; or the whole image also in testing, as in the authors' scripts, which makes test
        scores random.

    Returns
    -------
    Source
        With the one target "class"; names such as "Black footed Albatross", in the publisher's
        order.
    """
    folder = CUB200.find(path)
    classes = _numbered(folder / "classes.txt")  # "001.Black_footed_Albatross"
    names = [name.partition(".")[2].replace("_", " ") or name for name in classes.values()]
    images = _numbered(folder / "images.txt")
    order = {number: k for k, number in enumerate(classes)}
    labels = _matching(folder / "image_class_labels.txt", images, allowed=order)
    train = torch.tensor(
        _matching(folder / "train_test_split.txt", images, allowed={"0": 0, "1": 1})
    ).bool()
    paths = tuple(folder / "images" / name for name in images.values())
    check_files_exist(paths, listed_in="images.txt")
    every = Split(ImageFiles(paths), {"class": torch.tensor(labels)})
    return Source(
        name="cub-200-2011",
        train=select(every, train.nonzero().flatten()),
        test=select(every, (~train).nonzero().flatten()),
        targets={"class": Classes(names)},
        preprocessing=PHOTO_PREPROCESSING,
        augment=choose(crops, CROPS, what="crops"),
    )


def _numbered(path: Path) -> dict[str, str]:
    """Return the value that follows each number, in the order of the file."""
    pairs = [line.partition(" ") for line in read_lines(path)]
    if bare := [number for number, _, value in pairs if not value]:
        raise InputError(
            f'Lines of "{path}"', "be a number and a value", f'"{bare[0]}"', "Get the file again."
        )
    return {number: value for number, _, value in pairs}


def _matching(path: Path, images: dict[str, str], *, allowed: dict[str, int]) -> list[int]:
    """Return the value that a file has for each image."""
    values = _numbered(path)
    for image in images:
        if values.get(image) not in allowed:
            rule = f"hold one of {len(allowed)} known values for each image"
            raise InputError(
                f'"{path}"',
                rule,
                f"{values.get(image, 'no line')} for image {image}",
                "Get the file again.",
            )
    return [allowed[values[image]] for image in images]


def read_omniart(
    path: str | Path,
    *,
    from_year: int | None = None,
    bounds: Literal["data", "script"] = "data",
    unseen: Unseen = "error",
    crops: Crops = "middle",
) -> Source:
    """Read OmniArt: the year a painting was made, and its school.

    Parameters
    ----------
    path : str or Path
        The folder of "train_complete.csv" and "test_complete.csv", or the one that holds it as
        "omniart".
    from_year : int, optional
        Keep paintings of this year and later; 1900 is "paintings from the 20th century", as the
        paper says. Its errors of 110 years and more cannot come from a range of 100, so all years
        are kept by default.
    bounds : {"data", "script"}
        Of the year: the extremes of the training data, as the paper says, or 1000 and 1932, as the
        authors' script.
    unseen : {"error", "missing"}
        What a school of the test part is that is not in the training data.
    crops : {"middle", "whole", "authors"}
        As for :func:`read_cub200`.

    Returns
    -------
    Source
        With the targets "year" and "school". A year beyond the bounds in the test part is scored as
        it is.
    """
    folder = OMNIART.find(path)
    fixed = choose(bounds, {"data": None, "script": YEARS_OF_SCRIPT}, what="bounds of the year")
    (train, schools), (test, test_schools) = (
        _read_paintings(folder, part, from_year) for part in ("train", "test")
    )
    known = Classes.fit(schools, '"school"')
    for split, names, part in ((train, schools, "train"), (test, test_schools, "test")):
        about = f'"school" in "{part}_complete.csv"'
        ids = known.encode(names, about, unseen=unseen)
        split.targets["school"] = torch.from_numpy(ids)
    return Source(
        name="omniart",
        train=train,
        test=test,
        targets={
            "year": Range.fit(train.targets["year"].numpy(), '"year"', bounds=fixed),
            "school": known,
        },
        preprocessing=PHOTO_PREPROCESSING,
        augment=choose(crops, CROPS, what="crops"),
    )


def _read_paintings(
    folder: Path, part: str, from_year: int | None
) -> tuple[Split, list[str | None]]:
    """Return the images and years of "train" or "test", and the schools."""
    path = folder / f"{part}_complete.csv"
    table = read_columns(path)
    ids, schools = (table[key].class_names() for key in ("omni_id", "school"))
    years = torch.from_numpy(table["creation_year"].numbers())
    rows = torch.arange(len(ids)) if from_year is None else (years >= from_year).nonzero().flatten()
    if not len(rows):
        advice = f"Give an earlier {arg('from_year')}."
        raise InputError(f'"{path}"', f"hold paintings from {from_year} on", "none", advice)
    files = [folder / part / f"{ids[row]}.jpg" for row in rows.tolist()]
    check_files_exist(files, listed_in=str(path))
    return Split(ImageFiles(files), {"year": years[rows]}), [schools[row] for row in rows.tolist()]


def check_labels(labels: Tensor, num_classes: int, path: Path) -> None:
    """Raise where the file of some class ids has one that is no class."""
    if len(bad := (labels >= num_classes).nonzero().flatten()):
        got = f"{int(labels[bad[0]])} for image {int(bad[0])} ({len(bad)} of {len(labels)})"
        rule = f"be in [0, {num_classes})"
        raise InputError(f'Labels in "{path}"', rule, got, "Get the file again.")


def read_lines(path: Path) -> list[str]:
    """Return the nonempty lines of a text file."""
    if not path.is_file():
        raise MissingDataError(f'"{path}"', "be a file")
    return [line.rstrip() for line in read_text(path).splitlines() if line.strip()]
