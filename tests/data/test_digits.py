import gzip
import tracemalloc

import numpy as np
import pytest
import torch

from hyperproto.data import load_digits, load_rotated_digits, read_mnist, read_rotated_mnist
from hyperproto.data.digits import rotate
from tests.data.layouts import idx, write_mnist


def test_digits_are_split_without_overlap_and_completely():
    train, held = load_digits(seed=3)
    assert len(train) + len(held) == 1797
    assert len(held) == 449
    assert train.inputs.shape[1:] == (1, 8, 8)
    assert 0 <= train.inputs.min() < train.inputs.max() <= 1
    assert set(train.targets.tolist()) == set(range(10))
    fit, valid = load_digits(seed=3, part="valid")
    assert torch.equal(
        torch.cat([fit.inputs, valid.inputs]), train.inputs
    )  # the test quarter stays aside
    with pytest.raises(ValueError, match='Unknown part of the digits "tset"'):
        load_digits(part="tset")


def test_rotated_digits_hold_five_classes_and_their_angles():
    train, held = load_rotated_digits(seed=0, copies=3, held_out_copies=2, size=16)
    assert train.inputs.shape[1:] == (1, 16, 16)
    assert set(train.targets["digit"].tolist()) == set(range(5))
    angles = train.targets["angle"]
    assert angles.min() >= 0
    assert angles.max() < 180
    assert len(train) % 3 == 0
    assert len(held) % 2 == 0
    again, _ = load_rotated_digits(seed=0, copies=3, held_out_copies=2, size=16)
    assert torch.equal(again.inputs, train.inputs)


def test_a_quarter_turn_counter_clockwise_is_rot90():
    images = torch.rand(2, 1, 6, 6)
    turned = rotate(images, torch.tensor([90.0, 180.0]))
    torch.testing.assert_close(turned[0], torch.rot90(images[0], 1, (1, 2)), atol=1e-5, rtol=0)
    torch.testing.assert_close(turned[1], torch.rot90(images[1], 2, (1, 2)), atol=1e-5, rtol=0)
    torch.testing.assert_close(rotate(images, torch.zeros(2)), images, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("gzipped", "mark"), [(True, "-"), (False, "-"), (False, "."), (True, ".")]
)
def test_the_four_files_are_read_gzipped_or_not(tmp_path, gzipped, mark):
    folder = write_mnist(tmp_path, gzipped=gzipped, mark=mark)
    for path in (folder, tmp_path):
        source = read_mnist(path)
        assert source.train.inputs.shape == (40, 1, 28, 28)
        assert source.train.inputs.dtype == torch.uint8
        assert source.test.targets["digit"].tolist() == [*range(10)] * 2
        assert source.targets["digit"].names == tuple("0123456789")
        assert source.preprocessing.channels == 1


def test_torchvisions_folder_is_found(tmp_path):
    (tmp_path / "MNIST").mkdir()
    write_mnist(tmp_path).rename(tmp_path / "MNIST" / "raw")
    assert len(read_mnist(tmp_path).train) == 40


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda held: gzip.compress(gzip.decompress(held)[:-5]), "It is cut short"),
        (lambda held: held[:-20], "must be a complete gzip file"),
        (lambda held: b"<html>", "must be a complete gzip file"),
        (
            lambda held: gzip.compress(b"<html></html>and more"),
            "must be an idx file of bytes in 3 dimensions",
        ),
        (lambda held: gzip.compress(idx(np.zeros((3, 28, 28)))), "got 3 inputs and 40 of"),
    ],
)
def test_a_broken_file_is_a_sentence(tmp_path, change, sentence):
    file = write_mnist(tmp_path) / "train-images-idx3-ubyte.gz"
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(ValueError, match=sentence):
        read_mnist(tmp_path)


def test_a_label_that_is_no_digit_is_a_sentence(tmp_path):
    (write_mnist(tmp_path) / "t10k-labels-idx1-ubyte.gz").write_bytes(
        gzip.compress(idx(np.arange(20)))
    )
    with pytest.raises(ValueError, match=r"must be in \[0, 10\); got 10 for image 10 \(10 of 20\)"):
        read_mnist(tmp_path)


def test_a_missing_file_says_where_the_publisher_has_it(tmp_path):
    (write_mnist(tmp_path) / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r'"train-images\*ubyte\*" missing.*yann.lecun.com'):
        read_mnist(tmp_path)


def test_rotated_digits_are_rotated_by_the_angle_of_their_label(tmp_path):
    path = write_mnist(tmp_path)
    source, rotated = read_mnist(path), read_rotated_mnist(path, seed=3)
    assert rotated.targets["digit"].names == ("2", "3", "4", "5", "7")
    assert (rotated.targets["angle"].low, rotated.targets["angle"].high) == (0, 180)
    assert len(rotated.train) == 20
    angles = rotated.train.targets["angle"]
    assert angles.dtype == torch.float64
    assert 0 <= angles.min() < angles.max() < 180
    assert rotated.train.targets["digit"].tolist() == [0, 1, 2, 3, 4] * 4
    chosen = source.train.inputs[
        torch.isin(source.train.targets["digit"], torch.tensor([2, 3, 4, 5, 7]))
    ]
    assert torch.equal(rotated.train.inputs, rotate(chosen.float(), angles.float()).round().byte())


def test_the_rotations_depend_on_the_seed_alone(tmp_path):
    path = write_mnist(tmp_path)
    one, same, other = (read_rotated_mnist(path, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.train.inputs, same.train.inputs)
    assert not torch.equal(one.train.targets["angle"], other.train.targets["angle"])
    assert not torch.equal(one.train.targets["angle"][:10], one.test.targets["angle"])


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused_early(tmp_path):
    folder = write_mnist(tmp_path)
    path = next(folder.glob("train-images*"))
    header = (
        gzip.decompress(path.read_bytes())[:16] if path.suffix == ".gz" else path.read_bytes()[:16]
    )
    bomb = folder / f"{path.name.removesuffix('.gz')}.gz"
    path.unlink()
    bomb.write_bytes(gzip.compress(header + bytes(50_000_000), compresslevel=9))
    tracemalloc.start()
    with pytest.raises(
        ValueError, match="bytes for shape .* after its header, 268,435,456 at most; got more"
    ):
        read_mnist(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    bomb.write_bytes(gzip.compress(header[:4] + b"\xff" * 12))
    with pytest.raises(ValueError, match="must hold 79,.* bytes for shape"):
        read_mnist(tmp_path)
