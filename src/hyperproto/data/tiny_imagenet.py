"""Tiny ImageNet, the paper's ImageNet-200: 200 classes, 64 by 64 pixels."""

from collections import Counter
from pathlib import Path
from typing import Literal

import torch

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.data.augment import Augment
from hyperproto.data.image_files import check_files_exist, images_in
from hyperproto.data.preprocessing import ImagePreprocessing
from hyperproto.data.published import DatasetInfo, read_lines
from hyperproto.data.source import ImageFiles, Labels, Source, Split

__all__ = ["TINY_IMAGENET", "read_tiny_imagenet"]

ANNOTATIONS = "val/val_annotations.txt"

TINY_IMAGENET = DatasetInfo(
    title="Tiny ImageNet (ImageNet-200)",
    url="http://cs231n.stanford.edu/tiny-imagenet-200.zip",
    layout='the unpacked "tiny-imagenet-200/"',
    needed=("wnids.txt", "words.txt", "train", "val/images", ANNOTATIONS),
    folders=("tiny-imagenet-200",),
    counts=(100_000, 10_000),
)


def read_tiny_imagenet(path: str | Path, *, names: Literal["words", "wnid"] = "words") -> Source:
    """Read Tiny ImageNet; "val" is the test set, for the labels of its "test" are not published.

    Parameters
    ----------
    path : str or Path
        The folder "tiny-imagenet-200", or the one that holds it.
    names : {"words", "wnid"}
        Call a class by the first word for it ("goldfish"; "goldfish (n01443537)" where two have the same one), or by
        its WordNet id. The order is that of the sorted ids in either case.

    Returns
    -------
    Source
        With the one target "class".
    """
    folder = TINY_IMAGENET.find(path)
    wnids = sorted(read_lines(folder / "wnids.txt"))
    called = choose(names, {"words": _words(folder / "words.txt", wnids), "wnid": wnids}, what="class names")
    return Source(
        name="imagenet-200",
        train=_train(folder, wnids),
        test=_val(folder, wnids),
        targets={"class": Labels(called)},
        preprocessing=ImagePreprocessing(64),
        augment=Augment(padding=4, flip=True),
    )


def _words(path: Path, wnids: list[str]) -> list[str]:
    first = {}
    for line in read_lines(path):
        wnid, _, words = line.partition("\t")
        first[wnid] = words.partition(",")[0].strip()
    words_of = [first.get(wnid) or wnid for wnid in wnids]
    times = Counter(words_of)
    return [word if times[word] == 1 else f"{word} ({wnid})" for word, wnid in zip(words_of, wnids, strict=True)]


def _train(folder: Path, wnids: list[str]) -> Split:
    paths: list[Path] = []
    counts = []
    for wnid in wnids:
        images = images_in(folder / "train" / wnid / "images")
        if not images:
            raise TINY_IMAGENET.missing(folder, [f"train/{wnid}/images/*.JPEG"])
        paths += images
        counts.append(len(images))
    return Split(
        ImageFiles(tuple(paths)), {"class": torch.arange(len(wnids)).repeat_interleave(torch.tensor(counts))}
    )


def _val(folder: Path, wnids: list[str]) -> Split:
    ids = {wnid: k for k, wnid in enumerate(wnids)}
    paths, labels = [], []
    for number, line in enumerate(read_lines(folder / ANNOTATIONS), start=1):
        name, _, rest = line.partition("\t")
        wnid = rest.partition("\t")[0]
        if wnid not in ids:
            raise InputError(
                f'"{folder / ANNOTATIONS}"',
                'name classes of "wnids.txt"',
                f'"{wnid}" in line {number}',
                "Unpack the archive again.",
            )
        paths.append(folder / "val/images" / name)
        labels.append(ids[wnid])
    check_files_exist(paths, listed_in=ANNOTATIONS)
    return Split(ImageFiles(tuple(paths)), {"class": torch.tensor(labels, dtype=torch.int64)})
