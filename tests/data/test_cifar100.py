import os
import pickle
import tarfile

import numpy as np
import pytest
import torch

from hyperproto.data import read_cifar100, read_uneven_cifar100
from tests.data.layouts import (
    COARSE,
    COARSE_OF,
    FINE,
    cifar_part,
    python2_pickle,
    write_archive,
    write_cifar100_binary,
    write_cifar100_python,
)


def check_small_copy(source):
    assert (len(source.train), len(source.test)) == (12, 6)
    assert source.targets["class"].names == FINE
    assert source.train.inputs.dtype == torch.uint8
    assert source.train.targets["class"].tolist() == [0, 1, 2] * 4
    expected = torch.from_numpy(cifar_part(12, 0)[0]).view(12, 3, 32, 32)
    assert torch.equal(source.train.inputs, expected)
    assert not torch.equal(source.train.inputs[:6], source.test.inputs)


@pytest.mark.parametrize("write", [write_cifar100_binary, write_cifar100_python])
def test_either_version_is_read_from_its_folder_its_parent_or_its_archive(tmp_path, write):
    folder = write(tmp_path)
    check_small_copy(read_cifar100(folder))
    check_small_copy(read_cifar100(tmp_path))
    archive = write_archive(folder)
    check_small_copy(read_cifar100(archive))
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    check_small_copy(read_cifar100(tmp_path))
    assert list(tmp_path.iterdir()) == [archive]  # nothing was extracted


@pytest.mark.parametrize("write", [write_cifar100_binary, write_cifar100_python])
def test_the_coarse_classes_can_be_had(tmp_path, write):
    source = read_cifar100(write(tmp_path), classes="coarse")
    assert source.name == "cifar-100-coarse"
    assert source.targets["class"].names == COARSE
    assert source.train.targets["class"].tolist() == list(COARSE_OF) * 4


def test_the_papers_preprocessing_comes_along(tmp_path):
    source = read_cifar100(write_cifar100_binary(tmp_path))
    assert (source.preprocessing.size, source.preprocessing.resize) == (32, None)
    assert source.preprocessing.mean == (0.507, 0.487, 0.441)
    assert (source.augment.padding, source.augment.flip) == (4, True)


def test_the_python_2_original_is_read(tmp_path):
    folder = write_cifar100_python(tmp_path)
    for name, n, seed in (("train", 12, 0), ("test", 6, 1)):
        pixels, fine, coarse = cifar_part(n, seed)
        (folder / name).write_bytes(python2_pickle(pixels, fine.tolist(), coarse.tolist()))
    check_small_copy(read_cifar100(folder))


class Malicious:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("packed", [False, True])
def test_a_malicious_pickle_in_place_of_train_executes_nothing(tmp_path, packed):
    folder, target = write_cifar100_python(tmp_path), tmp_path / "owned"
    (folder / "train").write_bytes(pickle.dumps({b"data": Malicious(f"touch {target}")}, 2))
    path = write_archive(folder) if packed else folder
    with pytest.raises(ValueError, match='train" must hold only arrays, lists and text; got a request for'):
        read_cifar100(path)
    assert not target.exists()


def test_a_truncated_bin_is_a_sentence(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    (folder / "train.bin").write_bytes((folder / "train.bin").read_bytes()[:-100])
    with pytest.raises(ValueError, match="got 36,788 bytes, 11 records and 2,974 over. It is cut short"):
        read_cifar100(folder)
    (folder / "train.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="got 0 bytes"):
        read_cifar100(folder)


def test_a_truncated_archive_is_a_sentence(tmp_path):
    archive = write_archive(write_cifar100_binary(tmp_path))
    archive.write_bytes(archive.read_bytes()[:2000])
    with pytest.raises(ValueError, match="must be a complete archive"):
        read_cifar100(archive)


def test_a_link_in_the_archive_leads_nowhere(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    with tarfile.open(tmp_path / "cifar-100-binary.tar.gz", "w:gz") as tar:
        for file in sorted(folder.iterdir()):
            if file.name != "test.bin":
                tar.add(file, f"cifar-100-binary/{file.name}")
        link = tarfile.TarInfo("cifar-100-binary/test.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "cifar-100-binary/train.bin"
        tar.addfile(link)
    with pytest.raises(FileNotFoundError, match='"test.bin" missing'):
        read_cifar100(tmp_path / "cifar-100-binary.tar.gz")


def test_labels_without_a_name_are_a_sentence(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    (folder / "fine_label_names.txt").write_text("apple\nbear\n")
    with pytest.raises(ValueError, match=r"must be in \[0, 2\); got 2 for image 2 \(4 of 12\)"):
        read_cifar100(folder)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({b"fine_labels": []}, 'must hold "data"; got fine_labels'),
        ({b"data": np.zeros((2, 5), np.uint8)}, r"uint8 of shape \(n, 3072\); got uint8 of shape \(2, 5\)"),
        ({b"data": [1]}, "got list"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"coarse_labels": [0]}, 'must hold "fine_labels"'),
        ({b"data": np.zeros((1, 3072), np.uint8), b"fine_labels": ["a"]}, "must be whole numbers"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"fine_labels": [[0], [1, 2]]}, "must be whole numbers"),
    ],
)
def test_a_pickle_of_something_else_is_a_sentence(tmp_path, content, sentence):
    folder = write_cifar100_python(tmp_path)
    (folder / "train").write_bytes(pickle.dumps(content, 2))
    with pytest.raises(ValueError, match=sentence):
        read_cifar100(folder)


def test_names_that_are_no_list_are_a_sentence(tmp_path):
    folder = write_cifar100_python(tmp_path)
    (folder / "meta").write_bytes(pickle.dumps({b"fine_label_names": None}, 2))
    with pytest.raises(ValueError, match='"fine_label_names" in .* must be a list; got None'):
        read_cifar100(folder)


def test_a_missing_data_set_says_where_the_publisher_has_it(tmp_path):
    sentence = (
        r"Nothing is downloaded for you: the publisher has it at https://www.cs.toronto.edu/~kriz/cifar.html; put"
    )
    with pytest.raises(FileNotFoundError, match=sentence):
        read_cifar100(tmp_path)
    with pytest.raises(ValueError, match='Unknown classes of CIFAR-100 "fin".*Did you mean "fine"'):
        read_cifar100(tmp_path, classes="fin")


def counts(split):
    return torch.bincount(split.targets["class"]).tolist()


def test_the_uneven_data_set_grows_linearly_over_the_classes(tmp_path):
    path = write_cifar100_binary(tmp_path, train=60, test=30)
    uneven = read_uneven_cifar100(path, seed=1, least=2, most=20)
    assert counts(uneven.train) == [2, 11, 20]
    assert counts(uneven.test) == [10, 10, 10]
    assert uneven.name == "cifar-100-uneven"
    assert counts(read_uneven_cifar100(path, least=2, most=20, test="uneven").test) == [1, 6, 10]


def test_the_uneven_choice_depends_on_the_seed_alone(tmp_path):
    path = write_cifar100_binary(tmp_path, train=60)
    source = read_cifar100(path)
    one, same, other = (read_uneven_cifar100(path, seed=seed, least=2, most=12).train for seed in (1, 1, 2))
    assert torch.equal(one.inputs, same.inputs)
    assert not torch.equal(one.inputs, other.inputs)
    originals = {
        image.numpy().tobytes(): label
        for image, label in zip(source.train.inputs, source.train.targets["class"].tolist(), strict=True)
    }
    assert [originals[image.numpy().tobytes()] for image in one.inputs] == one.targets["class"].tolist()
    assert len({image.numpy().tobytes() for image in one.inputs}) == len(one)  # none is taken twice


def test_too_few_images_to_be_uneven_is_a_sentence(tmp_path):
    path = write_cifar100_binary(tmp_path)
    with pytest.raises(ValueError, match="Class 1 must have 101 images or more; got 4"):
        read_uneven_cifar100(path)
    with pytest.raises(ValueError, match='Unknown test set "even"'):
        read_uneven_cifar100(path, test="even")
