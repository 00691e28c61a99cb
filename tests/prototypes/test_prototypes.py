import json
import math
import os
import time

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from hyperproto import Prototypes, place
from hyperproto._core.checks import check_names
from hyperproto._core.errors import InputError
from hyperproto.sphere import normalize

OLD_PRIOR = {"cat": [1, 0], "dog": [1, 0.2], "car": [0, 1], "bus": [0.1, 1]}


def test_names_and_sizes():
    prototypes = place(["cat", "dog", "bird"], 2)
    assert prototypes.names == ("cat", "dog", "bird")
    assert (prototypes.num_classes, prototypes.dim) == (3, 2)
    assert prototypes.vectors.dtype == torch.float64
    assert place(3, 2).names is None


def test_prototypes_are_frozen():
    with pytest.raises(AttributeError):
        place(3, 2).vectors = torch.eye(3)


def test_large_sets_are_float32():
    rows = 2**24 // 1024 + 1
    points = torch.zeros(rows, 1024)
    points[:, 0] = 1
    from hyperproto.codes.certificate import Certificate, Code

    certificate = Certificate(1.0, 0.0, False, "", "test", None)
    assert Prototypes.from_code(Code(points.numpy(), certificate)).vectors.dtype == torch.float32
    assert (
        Prototypes.from_code(Code(points[:-1].numpy(), certificate)).vectors.dtype == torch.float64
    )


def test_separation_is_table_2():
    separation = Prototypes.one_hot(100).separation()
    assert (separation.min, separation.mean, separation.max) == (
        1.0,
        1.0,
        1.0,
    )  # the paper's one-hot row
    circle = place(4, 2).separation()
    assert (circle.min, circle.mean, circle.max) == pytest.approx((1, 4 / 3, 2))


def test_one_hot_needs_a_dimension_per_class():
    assert Prototypes.one_hot(3, 5).vectors.shape == (3, 5)
    with pytest.raises(
        ValueError, match="at least the number of classes, 5, for one-hot prototypes; got 3"
    ):
        Prototypes.one_hot(5, 3)


def test_random_is_fixed_by_its_seed():
    assert torch.equal(
        place(5, 3, seed=1, method="random").vectors, place(5, 3, seed=1, method="random").vectors
    )
    assert not torch.equal(
        place(5, 3, seed=1, method="random").vectors, place(5, 3, seed=2, method="random").vectors
    )


def test_save_and_load_are_exact(tmp_path):
    placed = place(["a", "b", "c", "d", "ö"], 3, seed=4)
    placed.save(tmp_path / "p.safetensors")
    loaded = Prototypes.load(tmp_path / "p.safetensors")
    assert torch.equal(loaded.vectors, placed.vectors)
    assert loaded.names == placed.names
    assert loaded.certificate == placed.certificate
    assert os.listdir(tmp_path) == ["p.safetensors"]  # nothing left beside it


def test_equal_prototypes_give_equal_bytes(tmp_path):
    for name in ("a", "b", "c", "d"):
        place(["x", "y", "z"], 3).save(tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in ("a", "b", "c", "d")}) == 1


def test_saving_replaces_an_old_file_or_leaves_it_alone(tmp_path, monkeypatch):
    path = tmp_path / "p.safetensors"
    place(3, 2).save(path)

    def full_disk(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr("hyperproto.prototypes.prototypes.save_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        place(4, 2).save(path)
    assert Prototypes.load(path).num_classes == 3
    assert os.listdir(tmp_path) == ["p.safetensors"]


def test_a_truncated_file_gets_a_sentence(tmp_path):
    path = tmp_path / "p.safetensors"
    place(10, 3).save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="must be a readable prototype file"):
        Prototypes.load(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="must be a readable prototype file"):
        Prototypes.load(path)


def test_a_foreign_file_gets_a_sentence(tmp_path):
    path = tmp_path / "weights.safetensors"
    save_file({"weight": torch.ones(2)}, path)
    with pytest.raises(InputError) as wrong:
        Prototypes.load(path)
    assert wrong.value.argument == f'"{path}"'
    assert "hyperproto.prototypes/2" in wrong.value.rule
    np.save(tmp_path / "authors.npy", np.eye(3))
    with pytest.raises(InputError) as wrong:
        Prototypes.load(tmp_path / "authors.npy")
    assert "from_npy" in wrong.value.advice
    about = {"format": "hyperproto.prototypes/2", "certificate": {}, "names": None}
    save_file({"weight": torch.ones(2)}, path, metadata={"prototypes": json.dumps(about)})
    with pytest.raises(InputError, match="vectors"):
        Prototypes.load(path)
    with pytest.raises(FileNotFoundError, match="No prototype file at"):
        Prototypes.load(tmp_path / "nothing")


def test_the_authors_files_are_read_and_normalized(tmp_path):
    matrix = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    np.save(tmp_path / "prototypes-4d-7c.npy", matrix)
    read = Prototypes.from_npy(tmp_path / "prototypes-4d-7c.npy")
    torch.testing.assert_close(read.vectors, normalize(torch.from_numpy(matrix).double()))
    assert read.certificate.method == "file prototypes-4d-7c.npy"


def test_an_npy_file_that_needs_pickle_is_refused(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="must be a readable .npy file of numbers"):
        Prototypes.from_npy(tmp_path / "evil.npy")
    np.save(tmp_path / "flat.npy", np.ones(3))
    with pytest.raises(ValueError, match="must contain one matrix of numbers"):
        Prototypes.from_npy(tmp_path / "flat.npy")


def test_rows_that_are_not_unit_get_a_sentence():
    with pytest.raises(ValueError, match="got norm 2 in row 1 \\(1 of 2 rows"):
        Prototypes.from_tensor(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), method="test")
    with pytest.raises(ValueError, match="got norm nan in row 0"):
        Prototypes.from_tensor(torch.tensor([[math.nan, 0.0], [0.0, 1.0]]), method="test")


def test_names_must_fit():
    with pytest.raises(ValueError, match="must name each of the 2 prototypes; got 3 names"):
        Prototypes.from_tensor(torch.eye(2), ["a", "b", "c"], method="test")
    with pytest.raises(ValueError, match='must differ; got "a" 2 times'):
        place(["a", "b", "a"], 2)
    with pytest.raises(TypeError, match="got 3 as name 1"):
        place(["a", 3], 2)


def test_a_pipe_called_npy_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(FileNotFoundError, match=r'pipe.npy" must be a .npy file'):
        Prototypes.from_npy(tmp_path / "pipe.npy")


def test_names_are_compared_in_time_that_grows_with_their_number():
    names = [str(index) for index in range(30_000)]
    start = time.process_time()
    with pytest.raises(ValueError, match='Class names must differ; got "29999" 2 times'):
        check_names([*names, "29999"])
    assert time.process_time() - start < 2
