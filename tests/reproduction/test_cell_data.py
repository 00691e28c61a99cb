"""Data are cut down fairly, and in the same way for every cell."""

import pytest
import torch

from hyperproto._core.errors import InputError
from hyperproto.data import Bounds, Labels, Split
from hyperproto.reproduction.cell_data import cell_source, thin_out
from hyperproto.reproduction.spec import Spec


def make_split(labels):
    labels = torch.as_tensor(labels)
    return Split(torch.arange(len(labels))[:, None].float(), {"class": labels})


def test_each_class_keeps_its_share():
    labels = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)
    kept = thin_out(make_split(labels), {"class": Labels("abc")}, 50, "train")
    assert torch.bincount(kept.targets["class"]).tolist() == [30, 15, 5]
    rows = kept.inputs[:, 0]
    assert (rows[1:] > rows[:-1]).all()  # the file's order, nothing twice
    assert torch.equal(labels[rows.long()], kept.targets["class"])


def test_the_draw_is_the_same_every_time_and_not_the_first_rows():
    split = make_split(torch.arange(40) % 4)
    first, again = (thin_out(split, {"class": Labels("abcd")}, 8, "train").inputs for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first[:, 0], torch.arange(8.0))


def test_numbers_alone_are_drawn_too_and_enough_is_left_alone():
    split = Split(torch.arange(10.0)[:, None], {"year": torch.arange(10.0)})
    assert len(thin_out(split, {"year": Bounds(0, 9)}, 4, "test")) == 4
    assert thin_out(split, {"year": Bounds(0, 9)}, 10, "test") is split


def test_a_smaller_image_has_a_smaller_crop(small_places):
    source = cell_source(Spec(dim=3, size=16, classes=2), small_places.data)
    assert source.preprocessing.size == 16
    assert source.augment.padding == 2
    assert source.targets["class"].names == ("apple", "bear")
    assert set(source.train.targets["class"].tolist()) == {0, 1}


def test_held_out_images_are_measured_on_and_not_trained_on(small_places):
    whole = cell_source(Spec(dim=3), small_places.data)
    source = cell_source(Spec(dim=3, held_out=6), small_places.data)
    assert len(source.test) == 6
    assert len(source.train) == len(whole.train) - 6
    both = torch.cat([source.train.inputs, source.test.inputs]).flatten(1).unique(dim=0)
    assert torch.equal(both, whole.train.inputs.flatten(1).unique(dim=0))


def test_only_the_wanted_tasks_are_kept(small_places):
    source = cell_source(Spec(data="omniart", dim=3, size=16, tasks=("year",)), small_places.data)
    assert list(source.targets) == ["year"]
    assert list(source.train.targets) == ["year"]


def test_too_few_classes_are_answered(small_places):
    with pytest.raises(InputError, match='"cifar-100" must have 5 classes for this cell; it has 3'):
        cell_source(Spec(dim=3, classes=5), small_places.data)
