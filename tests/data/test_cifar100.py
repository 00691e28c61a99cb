import os

import pytest
import torch

from hyperproto._core.errors import InputError
from hyperproto.data import read_cifar100, read_uneven_cifar100
from hyperproto.data.readers import read_source
from tests.data.layouts import COARSE, COARSE_OF, FINE, cifar_part, write_cifar100_binary
from tests.refusals import refuses


def check_small_copy(source):
    assert (len(source.train), len(source.test)) == (12, 6)
    assert source.targets["class"].names == FINE
    assert source.train.inputs.dtype == torch.uint8
    assert source.train.targets["class"].tolist() == [0, 1, 2] * 4
    expected = torch.from_numpy(cifar_part(12, 0)[0]).view(12, 3, 32, 32)
    assert torch.equal(source.train.inputs, expected)
    assert not torch.equal(source.train.inputs[:6], source.test.inputs)


def test_it_is_read_from_its_folder_or_the_one_that_holds_it(tmp_path):
    check_small_copy(read_cifar100(write_cifar100_binary(tmp_path)))
    check_small_copy(read_cifar100(tmp_path))


@pytest.mark.parametrize(
    "name", ["cifar-100-python", "cifar-100-python.tar.gz", "cifar-100-binary.tar.gz"]
)
def test_another_form_says_to_get_the_binary_version(tmp_path, name):
    (tmp_path / name).touch()
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(FileNotFoundError, match="only the binary version is read"):
            read_source(path)
    write_cifar100_binary(tmp_path)
    check_small_copy(read_source(tmp_path))


def test_the_coarse_classes_can_be_had(tmp_path):
    source = read_cifar100(write_cifar100_binary(tmp_path), classes="coarse")
    assert source.name == "cifar-100-coarse"
    assert source.targets["class"].names == COARSE
    assert source.train.targets["class"].tolist() == list(COARSE_OF) * 4


def test_the_papers_preprocessing_comes_along(tmp_path):
    source = read_cifar100(write_cifar100_binary(tmp_path))
    assert (source.preprocessing.size, source.preprocessing.resize) == (32, None)
    assert source.preprocessing.mean == (0.507, 0.487, 0.441)
    assert (source.augment.padding, source.augment.flip) == (4, True)


def test_a_truncated_bin_is_a_sentence(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    (folder / "train.bin").write_bytes((folder / "train.bin").read_bytes()[:-100])
    with pytest.raises(
        ValueError, match="got 36,788 bytes, 11 records and 2,974 over. It is cut short"
    ):
        read_cifar100(folder)
    (folder / "train.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="got 0 bytes"):
        read_cifar100(folder)


def test_labels_without_a_name_are_a_sentence(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    (folder / "fine_label_names.txt").write_text("apple\nbear\n")
    with pytest.raises(ValueError, match=r"must be in \[0, 2\); got 2 for image 2 \(4 of 12\)"):
        read_cifar100(folder)


def test_a_missing_data_set_says_where_the_publisher_has_it(tmp_path):
    sentence = r"Nothing is downloaded for you: the publisher has it at https://www.cs.toronto.edu/~kriz/cifar.html; put"
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
    one, same, other = (
        read_uneven_cifar100(path, seed=seed, least=2, most=12).train for seed in (1, 1, 2)
    )
    assert torch.equal(one.inputs, same.inputs)
    assert not torch.equal(one.inputs, other.inputs)
    originals = {
        image.numpy().tobytes(): label
        for image, label in zip(
            source.train.inputs, source.train.targets["class"].tolist(), strict=True
        )
    }
    assert [originals[image.numpy().tobytes()] for image in one.inputs] == one.targets[
        "class"
    ].tolist()
    assert len({image.numpy().tobytes() for image in one.inputs}) == len(one)  # none is taken twice


def test_too_few_images_to_be_uneven_is_a_sentence(tmp_path):
    path = write_cifar100_binary(tmp_path)
    with refuses("Class 1", "4 (2 of 3 classes are short)"):
        read_uneven_cifar100(path)
    with pytest.raises(ValueError, match='Unknown test set "even"'):
        read_uneven_cifar100(path, test="even")


def test_label_names_that_are_not_text_are_a_sentence(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    (folder / "fine_label_names.txt").write_bytes(b"apple\n\xff\xfe\n")
    with pytest.raises(InputError, match='fine_label_names.txt" must be text in UTF-8'):
        read_cifar100(folder)


def test_a_pipe_in_place_of_a_file_does_not_wait_for_ever(tmp_path):
    folder = write_cifar100_binary(tmp_path)
    (folder / "train.bin").unlink()
    os.mkfifo(folder / "train.bin")
    with pytest.raises(
        InputError, match="must hold records of 3,074 bytes, 100,000 at most; got 0 bytes"
    ):
        read_cifar100(folder)
