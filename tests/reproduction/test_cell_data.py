"""Data are cut down fairly, and in the same way for every cell."""

import pytest
import torch

from hyperproto._core.errors import InputError
from hyperproto.data import Source, Split
from hyperproto.tasks import Classes, Range
from hyperproto.training.build import draw_in_proportion
from reproduction.cell import paper_cell
from reproduction.experiment import constant_entries
from reproduction.run_cell import read_cell_data, run_cell


def make_split(labels):
    labels = torch.as_tensor(labels)
    return Split(torch.arange(len(labels))[:, None].float(), {"class": labels})


def draw(split, known, examples, *purpose):
    return draw_in_proportion(split, Source("made", split, None, known, None), examples, *purpose)


def test_each_class_keeps_its_share():
    labels = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)
    rows = draw(make_split(labels), {"class": Classes(("a", "b", "c"))}, 50, "thin out", "train")
    assert torch.bincount(labels[rows]).tolist() == [30, 15, 5]
    assert (rows[1:] > rows[:-1]).all()  # the file's order, nothing twice


def test_draws_are_those_that_the_records_were_made_with():
    split, known = make_split(torch.arange(40) % 4), {"class": Classes(("a", "b", "c", "d"))}
    assert draw(split, known, 8, "thin out", "train").tolist() == [11, 12, 16, 23, 26, 33, 34, 37]
    assert draw(split, known, 6, "held out").tolist() == [4, 7, 10, 17, 29, 34]
    numbers = Split(split.inputs, {"year": split.targets["class"].float()})
    assert draw(numbers, {"year": Range(0, 3, outside="clip")}, 5, "thin out", "test").tolist() == [
        6,
        7,
        12,
        13,
        35,
    ]


def test_enough_is_left_alone(small_places):
    whole = read_cell_data(paper_cell(dim=3), small_places)
    assert len(read_cell_data(paper_cell(dim=3, train_examples=10_000), small_places).train) == len(
        whole.train
    )
    few = read_cell_data(paper_cell(dim=3, train_examples=4, test_examples=3), small_places).train
    assert len(few) == 4
    labels = {
        image.numpy().tobytes(): label
        for image, label in zip(whole.train.inputs, whole.train.targets["class"], strict=True)
    }
    assert len(labels) == len(whole.train)
    assert [labels[image.numpy().tobytes()] for image in few.inputs] == few.targets[
        "class"
    ].tolist()  # each its own


def test_a_smaller_image_has_a_smaller_crop(small_places):
    source = read_cell_data(paper_cell(dim=3, image_size=16, first_classes=2), small_places)
    assert source.preprocessing.size == 16
    assert source.augment.padding == 2
    assert source.targets["class"].names == ("apple", "bear")
    assert set(source.train.targets["class"].tolist()) == {0, 1}


def test_held_out_images_are_measured_on_and_not_trained_on(small_places):
    whole = read_cell_data(paper_cell(dim=3), small_places)
    source = read_cell_data(paper_cell(dim=3, valid_examples=6), small_places)
    assert len(source.test) == 6
    assert len(source.train) == len(whole.train) - 6
    both = torch.cat([source.train.inputs, source.test.inputs]).flatten(1).unique(dim=0)
    assert torch.equal(both, whole.train.inputs.flatten(1).unique(dim=0))


def test_only_the_wanted_tasks_are_kept_of_the_same_images(small_places):
    both = paper_cell(reader="omniart", dim=3, image_size=16, train_examples=6, test_examples=3)
    year, all_targets = (
        read_cell_data(both.but(tasks=("year",)), small_places),
        read_cell_data(both, small_places),
    )
    assert list(year.targets) == list(year.train.targets) == ["year"]
    assert len(all_targets.targets) == 2
    for part in ("train", "test"):
        one, two = getattr(year, part), getattr(all_targets, part)
        assert [str(path) for path in one.inputs] == [str(path) for path in two.inputs]
        assert torch.equal(one.targets["year"], two.targets["year"])


def test_a_constant_answer_is_the_median_and_the_commonest_class(small_places):
    source = read_cell_data(paper_cell(reader="omniart", dim=3), small_places)
    record = run_cell(
        constant_entries("omniart", "full", {"year": "year/mae"})[0].cell, small_places
    )
    years, styles = source.train.targets["year"], source.train.targets["school"]
    errors = (source.test.targets["year"] - years.quantile(0.5)).abs()
    right = source.test.targets["school"] == torch.bincount(styles).argmax()
    expected = {"year/mae": float(errors.mean()), "year/mae_std": float(errors.std())}
    expected["year/rmse"] = float(errors.square().mean().sqrt())
    expected |= {"school/accuracy": float(right.double().mean())}
    assert record["measures"] == pytest.approx(expected)
    assert record["state"] == "done"


def test_too_few_classes_are_answered(small_places):
    with pytest.raises(InputError, match='"cifar-100" must have 5 classes; got 3'):
        read_cell_data(paper_cell(dim=3, first_classes=5), small_places)
