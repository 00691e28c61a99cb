"""The readers on the publishers' own files: ``HYPERPROTO_DATA=FOLDER make test-data``.

FOLDER holds the data sets as their publishers lay them out; those that are not there are skipped.
Copies may be smaller than the original, so only CIFAR-100, MNIST and the split of CUB are held to
the published counts.
"""

import os
from pathlib import Path

import pytest
import torch

from hyperproto.data import (
    ImageFiles,
    find_corrupt,
    read_cifar100,
    read_cub200,
    read_mnist,
    read_omniart,
    read_rotated_mnist,
    read_tiny_imagenet,
    read_uneven_cifar100,
)
from hyperproto.data.readers import READERS

FOLDER = os.environ.get("HYPERPROTO_DATA", "")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not FOLDER, reason="HYPERPROTO_DATA does not name a folder of data sets"),
]


def have(name):
    if not READERS[name].is_at(Path(FOLDER)):
        pytest.skip(f"{name} is not in {FOLDER}")


def check_files(source, every=50):
    """A sample of the images decodes, and each target is valid for its task."""
    for split in (source.train, source.test):
        assert isinstance(split.inputs, ImageFiles)
        assert find_corrupt(ImageFiles(list(split.inputs)[::every])) == {}
        for name, task in source.targets.items():
            task.check(split.targets[name], name)


def test_cifar100():
    have("cifar-100")
    source = read_cifar100(FOLDER)
    assert source.train.inputs.shape == (50_000, 3, 32, 32)
    assert torch.bincount(source.train.targets["class"]).tolist() == [500] * 100
    assert torch.bincount(source.test.targets["class"]).tolist() == [100] * 100
    assert source.targets["class"].names[:3] == ("apple", "aquarium_fish", "baby")
    assert list(source.targets["class"].names) == sorted(source.targets["class"].names)
    mean = source.train.inputs.sum((0, 2, 3), dtype=torch.int64).double() / (50_000 * 32 * 32 * 255)
    torch.testing.assert_close(
        mean, torch.tensor(source.preprocessing.mean).double(), atol=1e-3, rtol=0
    )
    assert source.train.targets["class"][:5].tolist() == [19, 29, 0, 11, 1]
    assert read_cifar100(FOLDER, classes="coarse").targets["class"].num_classes == 20


def test_uneven_cifar100_has_10100_images():
    have("cifar-100")
    counts = torch.bincount(read_uneven_cifar100(FOLDER).train.targets["class"])
    assert counts.sum() == 10_100
    assert counts.tolist() == list(range(2, 201, 2))


def test_mnist_and_its_rotated_form():
    have("mnist")
    source = read_mnist(FOLDER)
    assert (len(source.train), len(source.test)) == (60_000, 10_000)
    assert source.train.targets["digit"][:5].tolist() == [5, 0, 4, 1, 9]
    mean = float(source.train.inputs.double().mean() / 255)
    assert mean == pytest.approx(source.preprocessing.mean[0], abs=1e-4)
    rotated = read_rotated_mnist(FOLDER)
    assert (len(rotated.train), len(rotated.test)) == (29_617, 4_944)
    assert float(rotated.train.targets["angle"].mean()) == pytest.approx(90, abs=1.5)


def test_tiny_imagenet():
    have("imagenet-200")
    source = read_tiny_imagenet(FOLDER)
    assert source.targets["class"].num_classes == 200
    assert source.targets["class"].names[0] == "goldfish"
    assert len(set(torch.bincount(source.train.targets["class"]).tolist())) == 1  # classes are even
    check_files(source)


def test_cub200():
    have("cub-200-2011")
    source = read_cub200(FOLDER)
    assert (len(source.train), len(source.test)) == (5_994, 5_794)
    assert source.targets["class"].num_classes == 200
    check_files(source)


def test_omniart():
    have("omniart")
    source, late = read_omniart(FOLDER), read_omniart(FOLDER, from_year=1900, unseen="missing")
    assert len(late.train) < len(source.train)
    assert late.targets["year"].low >= 1900 > source.targets["year"].low
    assert source.targets["school"].num_classes > 2
    check_files(source)
