"""Tiny ImageNet, CUB-200-2011 and OmniArt: image files with lists of labels."""

import math

import pytest
import torch

from hyperproto._core.errors import InputError, MissingDataError
from hyperproto.data import ImageFiles, read_cub200, read_omniart, read_tiny_imagenet
from hyperproto.data.source import resized
from tests.data.layouts import write_csv, write_cub200, write_omniart, write_tiny_imagenet
from tests.refusals import refuses


def names_of(split):
    assert isinstance(split.inputs, ImageFiles)
    return [path.name for path in split.inputs]


def test_tiny_imagenet_is_in_the_order_of_sorted_wordnet_ids(tmp_path):
    folder = write_tiny_imagenet(tmp_path)
    for path in (folder, tmp_path):
        source = read_tiny_imagenet(path)
        assert source.targets["class"].names == ("crane (n01)", "goldfish", "crane (n03)")
        assert (len(source.train), len(source.test)) == (12, 6)
        assert source.train.targets["class"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
        assert names_of(source.train)[0] == "n01_0.JPEG"
        assert names_of(source.test)[0] == "val_0_0.JPEG"
        assert source.test.targets["class"].tolist() == [1, 1, 0, 0, 2, 2]  # val_0 shows n02
    assert read_tiny_imagenet(folder, names="wnid").targets["class"].names == ("n01", "n02", "n03")
    assert (source.preprocessing.size, source.augment.padding) == (64, 4)


def test_tiny_imagenet_names_what_is_missing_or_strange(tmp_path):
    folder = write_tiny_imagenet(tmp_path)
    annotations = folder / "val" / "val_annotations.txt"
    held = annotations.read_text()
    annotations.write_text(held + "val_9.JPEG\tn77\t0\t0\t1\t1\n")
    with pytest.raises(ValueError, match='got "n77" in line 7'):
        read_tiny_imagenet(folder)
    annotations.write_text(held + "val_9.JPEG\tn01\t0\t0\t1\t1\n")
    with pytest.raises(FileNotFoundError, match=r'val_9.JPEG" \(1 of 7 missing\)'):
        read_tiny_imagenet(folder)
    annotations.unlink()
    with pytest.raises(
        FileNotFoundError, match='"val/val_annotations.txt" missing.*cs231n.stanford.edu'
    ):
        read_tiny_imagenet(folder)
    annotations.write_text(held)
    for image in (folder / "train" / "n01" / "images").iterdir():
        image.unlink()
    with pytest.raises(FileNotFoundError, match='"train/n01/images/\\*.JPEG" missing'):
        read_tiny_imagenet(folder)


def test_cub_keeps_the_official_split_and_order(tmp_path):
    folder = write_cub200(tmp_path)
    for path in (folder, tmp_path):
        source = read_cub200(path)
        assert source.targets["class"].names == (
            "Black footed Albatross",
            "Crested Auklet",
            "Groove billed Ani",
        )
        assert (len(source.train), len(source.test)) == (6, 6)
        assert source.train.targets["class"].tolist() == [0, 0, 1, 1, 2, 2]
        assert names_of(source.train)[:2] == [
            "Black_footed_Albatross_0000_1.jpg",
            "Black_footed_Albatross_0002_3.jpg",
        ]
        assert not set(source.train.inputs) & set(source.test.inputs)
    assert (source.preprocessing.size, source.preprocessing.resize) == (224, 256)
    assert source.augment.resized_crop == (0.08, 1.0)
    small = resized(source, 64).preprocessing
    assert (small.size, small.resize) == (64, 73)


@pytest.mark.parametrize(
    ("file", "change", "sentence"),
    [
        ("train_test_split.txt", lambda held: held.replace("3 1\n", "3 2\n"), "got 2 for image 3"),
        ("train_test_split.txt", lambda held: held.replace("3 1\n", ""), "got no line for image 3"),
        ("image_class_labels.txt", lambda held: held.replace("12 3", "12 7"), "got 7 for image 12"),
        ("images.txt", lambda held: held + "13\n", 'must be a number and a value; got "13"'),
    ],
)
def test_cub_with_a_broken_list_is_a_sentence(tmp_path, file, change, sentence):
    folder = write_cub200(tmp_path)
    (folder / file).write_text(change((folder / file).read_text()))
    with pytest.raises(ValueError, match=sentence):
        read_cub200(folder)


def test_cub_says_what_goes_where(tmp_path):
    sentence = 'CUB-200-2011 not found in .*"images", "images.txt".*vision.caltech.edu.*put the unpacked "CUB_200_2011/"'
    with pytest.raises(FileNotFoundError, match=sentence):
        read_cub200(tmp_path)


def test_omniart_gives_year_and_school(tmp_path):
    folder = write_omniart(tmp_path)
    for path in (folder, tmp_path):
        source = read_omniart(path)
        assert (len(source.train), len(source.test)) == (8, 4)
        assert (source.targets["year"].low, source.targets["year"].high) == (1600, 1950)
        assert source.targets["school"].names == ("Dutch", "French")
        assert source.train.targets["year"].dtype == torch.float64
        assert source.test.targets["school"].tolist() == [0, 1, 0, 1]
        assert names_of(source.test)[0] == "9.jpg"
        assert source.preprocessing.size == 224


def test_omniart_knows_the_named_options(tmp_path):
    folder = write_omniart(tmp_path)
    late = read_omniart(folder, from_year=1700)
    assert late.train.targets["year"].tolist() == [1700, 1750, 1800, 1850, 1900, 1950]
    assert late.targets["year"].low == 1700
    script = read_omniart(folder, bounds="script").targets["year"]
    assert (script.low, script.high, script.outside) == (1000, 1932, "clip")
    with pytest.raises(ValueError, match="must hold paintings from 2000 on; got none"):
        read_omniart(folder, from_year=2000)
    with pytest.raises(ValueError, match='Unknown bounds of the year "date"'):
        read_omniart(folder, bounds="date")


HEADER = ["omni_id", "creation_year", "century", "school", "artist"]


def test_a_school_or_year_beyond_the_training_data(tmp_path):
    folder = write_omniart(tmp_path)
    write_csv(
        folder / "test_complete.csv",
        HEADER,
        [[9, 1400, 14, "Dutch", ""], [10, "", 19, "Flemish", ""]],
    )
    with refuses('"school" in "test_complete.csv"', '"Flemish" (1 unseen in 1 of 2 rows)'):
        read_omniart(folder)
    source = read_omniart(folder, unseen="missing")
    assert source.test.targets["school"].tolist() == [0, -1]
    years = source.test.targets["year"]
    assert years[0] == 1400  # scored as it is, not clipped to 1600
    assert math.isnan(years[1])
    source.targets["year"].check(years, "year")


def test_omniart_names_a_missing_column_and_image(tmp_path):
    folder = write_omniart(tmp_path)
    write_csv(folder / "train_complete.csv", ["omni_id", "year", "school"], [[1, 1600, "Dutch"]])
    with pytest.raises(ValueError, match='train_complete.csv" must have a column "creation_year"'):
        read_omniart(folder)
    write_csv(
        folder / "train_complete.csv",
        HEADER,
        [[1, 1600, 17, "Dutch", ""], [77, 1700, 18, "French", ""]],
    )
    with pytest.raises(FileNotFoundError, match='got no .*77.jpg"'):
        read_omniart(folder)


@pytest.mark.parametrize(
    ("line", "sentence"), [("", "must list the classes"), ("n" * 400, "train/nnn.*images")]
)
def test_a_list_of_no_classes_or_of_impossible_ones_gets_a_sentence(tmp_path, line, sentence):
    folder = write_tiny_imagenet(tmp_path)
    (folder / "wnids.txt").write_text(line)
    with pytest.raises((InputError, MissingDataError), match=sentence):
        read_tiny_imagenet(folder)


def test_a_listed_image_whose_name_is_too_long_is_missing(tmp_path):
    folder = write_cub200(tmp_path)
    lines = (folder / "images.txt").read_text().splitlines()
    (folder / "images.txt").write_text(
        "\n".join([lines[0].replace(".jpg", f"{'x' * 400}.jpg"), *lines[1:]]) + "\n"
    )
    with pytest.raises(MissingDataError, match="1 of .* missing"):
        read_cub200(folder)
