"""Texts, images, and tables with two targets, each row of the comparison with its target or
targets.

``choose`` rows are those that defaults may be chosen on, ``report`` rows those that say how good
they are. Rows that come with a test set of their own are measured on it, texts with three seeds and
images with one; all others in five folds, of which three do for taxis and one for diamonds, of
which there are more.

Images are what ``hyperproto train`` makes of a folder of them: features of a pretrained network,
computed once for each data set and kept in ``FOLDER/features``. Their pixels are read by whoever
does without.
"""

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import load_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.own_data.loaded import Fold, Images, Kind, Loaded, Values

FOLDS, SEEDS = 5, 3
PIXELS = 32  # per side, of the images whose pixels are taken as they are


@dataclass(frozen=True)
class Row:
    """A line of the comparison."""

    name: str
    group: Literal["choose", "report"]
    kind: Kind
    load: Callable[[Path], Loaded]
    repeats: int = FOLDS
    reader: str = ""  # of the images whose features it takes


def load_fold(row: Row, folder: Path, number: int) -> Fold:
    """Return a fold; texts as TF-IDF, fitted on the part to train on."""
    inputs, targets, test = row.load(folder)
    if test is None:
        first = next(iter(targets.values()))
        split = StratifiedKFold if "class" in targets else KFold
        folds = split(FOLDS, shuffle=True, random_state=1).split(np.zeros(len(first)), first)
        trained, answered = list(folds)[number]
    else:
        trained, answered = np.flatnonzero(~test), np.flatnonzero(test)
    parts = [
        inputs.iloc[ids] if row.kind == "table" else inputs[ids] for ids in (trained, answered)
    ]
    if row.kind == "text":
        words = TfidfVectorizer(
            sublinear_tf=True, ngram_range=(1, 2 if "bigrams" in row.name else 1)
        )
        parts = [words.fit_transform(parts[0]), words.transform(parts[1])]
    known, wanted = (
        {name: values[ids] for name, values in targets.items()} for ids in (trained, answered)
    )
    return Fold(row.kind, parts[0], known, parts[1], wanted, seed=number)


def read_banking77(folder: Path, *, official: bool) -> Loaded:
    parts = [
        pd.read_csv(folder / "text" / "banking77" / f"{part}.csv") for part in ("train", "test")
    ]
    table = pd.concat(parts) if official else parts[0]
    test = np.arange(len(table)) >= len(parts[0])
    return Loaded(
        table["text"].to_numpy(dtype=object),
        {"class": table["category"].to_numpy(dtype=str)},
        test if official else None,
    )


def read_table(
    folder: Path, *, file: str, label: str, number: str, drop: tuple[str, ...] = ()
) -> Loaded:
    """Read a CSV file as it is; rows without a target are left out, and columns that give the
    target away.
    """
    wanted = [label, number]
    table = pd.read_csv(folder / "tables" / f"{file}.csv").dropna(subset=wanted, ignore_index=True)
    classes = table[label].astype(str).to_numpy(dtype=str)
    targets = {"class": classes, "number": table[number].to_numpy(dtype=float)}
    return Loaded(table.drop(columns=[*wanted, *drop]), targets)


def read_features(
    folder: Path, reader: str
) -> tuple[NDArray[np.float32], Values, NDArray[np.bool_]]:
    """Return the features of all images, their targets by name, and which are the publisher's test
    set.
    """
    found = load_file(folder / "features" / reader / "features.safetensors")
    parts = [
        {name: found[f"{part}.{name}"] for name in _names(found)} for part in ("train", "test")
    ]
    targets = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    features = np.concatenate([found["train"], found["test"]])
    return features, targets, np.arange(len(features)) >= len(found["train"])


def _names(tensors: Iterable[str]) -> list[str]:
    return [name.removeprefix("train.") for name in tensors if name.startswith("train.")]


def read_cifar100(folder: Path, *, classes: range, each: int) -> Loaded:
    """Read the first images of each class, ``each`` of them, and all test images of the classes."""
    features, targets, test = read_features(folder, "cifar-100")
    labels = targets["class"]
    found = [np.flatnonzero((labels == k) & ~test)[:each] for k in classes]
    rows = np.concatenate([*found, np.flatnonzero(np.isin(labels, classes) & test)])
    images = Images(features[rows], rows, partial(_read_cifar100, folder))
    return Loaded(images, {"class": labels[rows]}, test[rows])


def _read_cifar100(folder: Path, ids: NDArray[Any]) -> NDArray[np.uint8]:
    parts = []
    for name in ("train", "test"):
        with (folder / "cifar-100-python" / name).open("rb") as file:
            parts.append(
                pickle.load(file, encoding="bytes")[b"data"].reshape(-1, 3, PIXELS, PIXELS)
            )
    return np.concatenate(parts)[ids]


def read_cub(folder: Path) -> Loaded:
    features, targets, test = read_features(folder, "cub-200-2011")
    root = folder / "CUB_200_2011"
    paths, train = (
        pd.read_csv(root / name, sep=" ", header=None)[1].to_numpy()
        for name in ("images.txt", "train_test_split.txt")
    )
    files = np.concatenate([paths[train == 1], paths[train == 0]])
    ids = np.array([str(root / "images" / file) for file in files], dtype=object)
    return Loaded(Images(features, ids, _read_images), {"class": targets["class"]}, test)


def read_paintings(folder: Path, *, label: str | None, number: str | None) -> Loaded:
    features, targets, test = read_features(folder, "omniart")
    root, ids = folder / "omniart", []
    for part in ("train", "test"):
        ids += [
            str(root / part / f"{i}.jpg")
            for i in pd.read_csv(root / f"{part}_complete.csv")["omni_id"]
        ]
    asked = {"class": label, "number": number}
    images = Images(features, np.array(ids, dtype=object), _read_images)
    return Loaded(images, {name: targets[target] for name, target in asked.items() if target}, test)


def _read_images(files: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the middle squares of images, shape (n, 3, PIXELS, PIXELS)."""
    images = np.empty((len(files), 3, PIXELS, PIXELS), np.uint8)
    for i, file in enumerate(files):
        with Image.open(file) as image:
            side = min(image.size)
            left, top = (image.width - side) // 2, (image.height - side) // 2
            square = image.convert("RGB").resize(
                (PIXELS, PIXELS), box=(left, top, left + side, top + side)
            )
        images[i] = np.asarray(square).transpose(2, 0, 1)
    return images


def _table_row(
    group: Any, file: str, label: str, number: str, drop: tuple[str, ...] = (), repeats: int = FOLDS
) -> Row:
    """Return the row of a class and a number of one table."""
    load = partial(read_table, file=file, label=label, number=number, drop=drop)
    return Row(f"{file}: {label} and {number}", group, "table", load, repeats)


def _cifar_row(group: Any, first: int, count: int, each: int) -> Row:
    load = partial(read_cifar100, classes=range(first, first + count), each=each)
    name = f"CIFAR-100, classes {first}-{first + count - 1}, {each} each"
    return Row(name, group, "images", load, repeats=1, reader="cifar-100")


def _text_row(group: Any, terms: str) -> Row:
    official = group == "report"
    name = f"Banking77{'' if official else ', training part'}, {terms}"
    return Row(
        name,
        group,
        "text",
        partial(read_banking77, official=official),
        SEEDS if official else FOLDS,
    )


def _painting_row(*targets: str) -> Row:
    label, number = (
        ("school" if "style" in targets else None),
        ("year" if "year" in targets else None),
    )
    load = partial(read_paintings, label=label, number=number)
    return Row(
        f"paintings: {' and '.join(targets)}", "report", "images", load, repeats=1, reader="omniart"
    )


TAXI_MONEY = (
    "total",
    "tip",
    "tolls",
)  # the total is the sum of the others, and only cards record a tip
ROWS = [  # from fast to slow
    _text_row("choose", "words"),
    _table_row("choose", "mpg", "origin", "mpg"),
    _text_row("report", "words"),
    _table_row("report", "penguins", "species", "body_mass_g"),
    _table_row("report", "taxis", "payment", "fare", TAXI_MONEY, repeats=SEEDS),
    _table_row("report", "diamonds", "cut", "price", repeats=1),
    *(_text_row(group, "words and bigrams") for group in ("choose", "report")),
    *(_cifar_row("choose", 0, count, each) for count in (10, 50) for each in (50, 500)),
    *(_cifar_row("report", 50, count, each) for count in (10, 50) for each in (50, 500)),
    Row("CUB-200-2011", "report", "images", read_cub, repeats=1, reader="cub-200-2011"),
    *(_painting_row(*targets) for targets in (("style",), ("year",), ("style", "year"))),
]
