"""CIFAR-100: 60,000 images of 32 by 32 pixels in 100 classes, as published; and the uneven one of
Table 4.
"""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from hyperproto._core.checks import check_integer, choose
from hyperproto._core.errors import InputError, arg
from hyperproto._core.processes import derive_seed
from hyperproto.data.augment import Augment
from hyperproto.data.preprocessing import CIFAR_MEAN, CIFAR_STD
from hyperproto.data.published import DatasetInfo, check_labels, read_lines
from hyperproto.data.source import Source, Split, draw_rows, select
from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.tasks import Classes

RECORD = 2 + 3 * 32 * 32  # coarse label, fine label, then red, green and blue, row by row
MOST_RECORDS = 100_000  # the publisher has 50,000

CIFAR100 = DatasetInfo(
    title="CIFAR-100",
    url="https://www.cs.toronto.edu/~kriz/cifar.html",
    layout='the unpacked "cifar-100-binary/" (only the binary version is read)',
    needed=("train.bin", "test.bin", "fine_label_names.txt", "coarse_label_names.txt"),
    folders=("cifar-100-binary",),
    counts=(50_000, 10_000),
    other_forms=("cifar-100-python", "cifar-100-python.tar.gz", "cifar-100-binary.tar.gz"),
)


def read_cifar100(path: str | Path, *, classes: Literal["fine", "coarse"] = "fine") -> Source:
    """Read CIFAR-100 from the publisher's binary version.

    Parameters
    ----------
    path : str or Path
        The folder "cifar-100-binary", or the one that holds it.
    classes : {"fine", "coarse"}
        The 100 classes, or the 20 they are grouped into; in the order of the publisher's files.

    Returns
    -------
    Source
        With the one target "class".
    """
    column = choose(classes, {"coarse": 0, "fine": 1}, what="classes of CIFAR-100")
    folder = CIFAR100.find(path)
    names = read_lines(folder / f"{classes}_label_names.txt")
    return Source(
        name="cifar-100" if classes == "fine" else "cifar-100-coarse",
        train=_read_records(folder / "train.bin", column, len(names)),
        test=_read_records(folder / "test.bin", column, len(names)),
        targets={"class": Classes(names)},
        preprocessing=ImagePreprocessing(32, CIFAR_MEAN, CIFAR_STD),
        augment=Augment(padding=4, flip=True),
    )


def _read_records(path: Path, column: int, num_classes: int) -> Split:
    size = path.stat().st_size  # 0 of what is no file
    if size % RECORD or not 0 < size <= MOST_RECORDS * RECORD:
        rule = f"hold records of {RECORD:,} bytes, {MOST_RECORDS:,} at most"
        got = f"{size:,} bytes, {size // RECORD:,} records and {size % RECORD:,} over"
        raise InputError(f'"{path}"', rule, got, "It is cut short: get it again.")
    records = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).view(-1, RECORD)
    labels = records[:, column].long()
    check_labels(labels, num_classes, path)
    return Split(records[:, 2:].reshape(-1, 3, 32, 32).contiguous(), {"class": labels})


def read_uneven_cifar100(
    path: str | Path,
    *,
    seed: int = 0,
    least: int = 2,
    most: int = 200,
    test: Literal["same", "uneven"] = "same",
) -> Source:
    """Read CIFAR-100 with a number of training images that grows linearly over the classes (Table
    4).

    Class k of K keeps ``least + (most - least) * k / (K - 1)`` images, rounded, in the order of the
    file's classes.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_cifar100`.
    seed : int
        Fixes which images are kept.
    least, most : int
        Images of the first and of the last class; 2 and 200 in the paper.
    test : {"same", "uneven"}
        The paper says that the test distribution is altered too, but not how. "same" keeps every
        test image, so each class counts alike; "uneven" keeps the share of each class that it has
        in training, the last class whole.
    """
    check_integer(least, "least", at_least=1)
    check_integer(most, "most", at_least=least)
    is_uneven = choose(test, {"same": False, "uneven": True}, what="test set")
    source = read_cifar100(path)
    assert source.test is not None
    counts = (
        torch.linspace(least, most, source.labels["class"].num_classes, dtype=torch.float64)
        .round()
        .long()
    )
    tested = source.test
    if is_uneven:
        size = torch.bincount(tested.targets["class"], minlength=len(counts))
        tested = _keep(
            tested,
            (size * counts / most).round().long().clamp(min=1),
            derive_seed(seed, "uneven test"),
        )
    train = _keep(source.train, counts, derive_seed(seed, "uneven train"))
    return replace(source, name="cifar-100-uneven", train=train, test=tested)


def _keep(split: Split, counts: Tensor, seed: int) -> Split:
    """Return ``counts[k]`` examples of class k, chosen by the seed, in the order of the file."""
    labels = split.targets["class"]
    have = torch.bincount(labels, minlength=len(counts))
    short = (have < counts).nonzero().flatten()
    if len(short):
        k = int(short[0])
        raise InputError(
            f"Class {k}",
            f"have {int(counts[k])} images or more",
            f"{int(have[k])} ({len(short)} of {len(counts)} classes are short)",
            f"Give smaller {arg('least')} and {arg('most')}, or all of CIFAR-100.",
        )
    return select(split, draw_rows(labels, counts, seed=seed))
