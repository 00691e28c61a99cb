import os

import pytest
import torch
from PIL import Image

from hyperproto.data import ImageFiles, find_corrupt, read_image_folder
from hyperproto.data.source import resized
from tests.data.layouts import write_image_folder
from tests.refusals import refuses


def test_each_class_gives_its_share_to_the_held_out_part(tmp_path):
    source = read_image_folder(
        write_image_folder(tmp_path / "pets", classes=("dog", "cat", "ape"), per_class=10)
    )
    assert source.name == "pets"
    assert source.targets["class"].names == ("ape", "cat", "dog")
    assert torch.bincount(source.train.targets["class"]).tolist() == [8, 8, 8]
    assert torch.bincount(source.test.targets["class"]).tolist() == [2, 2, 2]
    every = {*source.train.inputs, *source.test.inputs}
    assert len(every) == 30
    for split in (source.train, source.test):
        labels = [source.targets["class"].names[k] for k in split.targets["class"].tolist()]
        assert [path.parent.name for path in split.inputs] == labels


def test_the_split_depends_on_the_seed_alone(tmp_path):
    folder = write_image_folder(tmp_path, per_class=10)
    one, same, other = (
        list(read_image_folder(folder, seed=seed).test.inputs) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    assert read_image_folder(folder, held_out=0).test is None
    with refuses("held_out", "1"):
        read_image_folder(folder, held_out=1)


def test_a_class_of_one_image_stays_in_training(tmp_path):
    folder = write_image_folder(tmp_path, per_class=1)
    assert read_image_folder(folder, held_out=0.9).test is None


def test_train_and_test_folders_are_taken_as_they_are(tmp_path):
    write_image_folder(tmp_path / "train", per_class=3)
    write_image_folder(tmp_path / "val", classes=("dog",), per_class=2)
    source = read_image_folder(tmp_path)
    assert len(source.train) == 6
    assert source.test.targets["class"].tolist() == [1, 1]


def test_a_test_class_that_training_never_saw_is_a_sentence(tmp_path):
    write_image_folder(tmp_path / "train")
    write_image_folder(tmp_path / "test", classes=("dog", "eel"))
    with pytest.raises(
        ValueError, match=r'must be among the 2 classes .*"eel" \(1 unseen in 5 of 10 rows\)'
    ):
        read_image_folder(tmp_path)
    assert (
        read_image_folder(tmp_path, unseen="missing").test.targets["class"].tolist()
        == [1] * 5 + [-1] * 5
    )


def test_a_class_of_trains_is_a_class(tmp_path):
    source = read_image_folder(write_image_folder(tmp_path, classes=("car", "train")))
    assert source.targets["class"].names == ("car", "train")


def test_hidden_files_and_other_files_are_skipped(tmp_path):
    folder = write_image_folder(tmp_path, per_class=2)
    (folder / "cat" / ".0.png").write_bytes(b"")
    (folder / "cat" / "notes.txt").write_text("none")
    (folder / ".cache").mkdir()
    source = read_image_folder(folder, held_out=0)
    assert len(source.train) == 4
    assert source.targets["class"].num_classes == 2


def test_what_systems_leave_behind_is_no_class(tmp_path):
    folder = write_image_folder(tmp_path, per_class=2)
    for name in ("__MACOSX", "@eaDir", "$RECYCLE.BIN"):
        (folder / name).mkdir()
        (folder / name / "0.png").write_bytes((folder / "cat" / "0.png").read_bytes())
    os.mkfifo(folder / "cat" / "pipe.png")
    source = read_image_folder(folder, held_out=0)
    assert source.targets["class"].names == ("cat", "dog")
    assert len(source.train) == 4


@pytest.mark.parametrize(
    ("width", "height", "size", "resize"),
    [(32, 32, 32, None), (40, 30, 30, None), (100, 128, 100, 114), (500, 300, 224, 256)],
)
def test_the_size_comes_from_the_images(tmp_path, width, height, size, resize):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for number in range(4):
            Image.new("RGB", (width, height)).save(tmp_path / name / f"{number}.png")
    Image.new("RGB", (7, 900)).save(tmp_path / "cat" / "odd.png")  # one does not count
    (tmp_path / "cat" / "broken.png").write_bytes(b"none")
    source = read_image_folder(tmp_path)
    assert (source.preprocessing.size, source.preprocessing.resize) == (size, resize)
    assert source.note.startswith(
        f"Images are {size} x {size} pixels for the network: the shorter side"
    )
    assert (source.augment.resized_crop is None) == (resize is None)
    larger = resized(source, 2 * size)
    assert (larger.preprocessing.size, larger.note) == (2 * size, "")


def test_folders_that_cannot_work_are_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be an existing folder with a subfolder"):
        read_image_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="must hold a subfolder for each class"):
        read_image_folder(tmp_path)
    write_image_folder(tmp_path, classes=("cat",))
    with pytest.raises(
        ValueError, match='must hold two subfolders or more, one for each class; got only "cat"'
    ):
        read_image_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match='empty" must hold images; got none'):
        read_image_folder(tmp_path)


def test_images_that_cannot_be_read_are_named_with_the_reason(tmp_path):
    folder = write_image_folder(tmp_path)
    page, cut, empty = (folder / "cat" / name for name in ("0.png", "1.png", "2.png"))
    page.write_text("<!DOCTYPE html><html>404</html>")
    cut.write_bytes(cut.read_bytes()[:-300])
    empty.write_bytes(b"")
    paths = sorted((folder / "cat").iterdir())
    found = {paths[row]: reason for row, reason in find_corrupt(ImageFiles(paths)).items()}
    assert list(found) == [page, cut, empty]
    assert found[page] == "a file of no known format (it starts with b'<!DOCTYPE html><html>404')"
    assert found[cut] == "a file that is cut short"
    assert found[empty] == "an empty file"
