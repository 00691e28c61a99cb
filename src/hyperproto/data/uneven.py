"""The uneven CIFAR-100 of Table 4: few images of the first class, many of the last."""

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto.data.source import Labels, Source, Split, select

__all__ = ["uneven_cifar100"]


def uneven_cifar100(
    source: Source,
    seed: int = 0,
    *,
    least: int = 2,
    most: int = 200,
    test: Literal["same", "uneven"] = "same",
) -> Source:
    """Return CIFAR-100 with a number of training images that grows linearly over the classes (Table 4).

    Class k of K keeps ``least + (most - least) * k / (K - 1)`` images, rounded, in the order of the file's classes.

    Parameters
    ----------
    source : Source
        What :func:`read_cifar100` gave.
    seed : int
        Fixes which images are kept.
    least, most : int
        Images of the first and of the last class; 2 and 200 in the paper.
    test : {"same", "uneven"}
        The paper says that the test distribution is altered too, and not how. "same" keeps every test image, so each
        class counts alike; "uneven" keeps the share of each class that it has in training, the last class whole.
    """
    check_integer(least, "least", at_least=1)
    check_integer(most, "most", at_least=least)
    is_uneven = choose(test, {"same": False, "uneven": True}, what="test set")
    labels = source.targets["class"]
    assert isinstance(labels, Labels)
    counts = torch.linspace(least, most, labels.num_classes, dtype=torch.float64).round().long()
    held = source.test
    if held is not None and is_uneven:
        size = torch.bincount(held.targets["class"], minlength=len(counts))
        held = _keep(held, (size * counts / most).round().long().clamp(min=1), derive_seed(seed, "uneven test"))
    train = _keep(source.train, counts, derive_seed(seed, "uneven train"))
    return replace(source, name=f"{source.name}-uneven", train=train, test=held)


def _keep(split: Split, counts: Tensor, seed: int) -> Split:
    """Return ``counts[k]`` examples of class k, chosen by the seed, in the order of the file."""
    labels = split.targets["class"]
    have = torch.bincount(labels, minlength=len(counts))
    short = (have < counts).nonzero().flatten()
    if len(short):
        k = int(short[0])
        raise InputError(
            f"Class {k} must have {int(counts[k])} images or more to be made uneven; it has {int(have[k])} ("
            f"{len(short)} of {len(counts)} classes are short). Give smaller `least` and `most`, or all of CIFAR-100."
        )
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    order = order[torch.sort(labels[order], stable=True).indices]  # by class, at random within each
    rank = torch.arange(len(order)) - (have.cumsum(0) - have)[labels[order]]
    return select(split, order[rank < counts[labels[order]]].sort().values)
