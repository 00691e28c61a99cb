import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

import hyperproto as hp
from hyperproto._core.errors import InputTypeError
from hyperproto._core.schema import from_plain
from hyperproto.data import (
    Arrays,
    Augment,
    Batches,
    ImageData,
    ImageFiles,
    ImagePreprocessing,
    Split,
    Standardizer,
    TablePreprocessing,
    as_examples,
    training_data,
)
from hyperproto.models import MLP
from hyperproto.runtime.tables import ColumnCode, TableEncoder
from tests.refusals import refuses

NUMBERS = TableEncoder(tuple(ColumnCode(name, "number", (0.0,)) for name in "abc"))
TABLE = TablePreprocessing(NUMBERS, Standardizer(mean=(1.0, 10.0, 5.0), scale=(2.0, 5.0, 1.0)))


def test_rows_of_a_table_are_standardized():
    rows = torch.tensor([[1.0, 20.0, 5.0], [5.0, 10.0, 7.0]])
    data = training_data(Split(rows, {"y": torch.tensor([0.5, 1.5])}), TABLE)
    assert isinstance(data, Arrays)
    assert data.inputs.dtype == torch.float32
    assert data.inputs.tolist() == [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0]]
    assert data.targets["y"].tolist() == [0.5, 1.5]


def test_infinity_in_a_table_is_left_for_the_check_of_inputs():
    data = training_data(Split(torch.tensor([[1.0, float("inf"), 5.0]]), {}), TABLE)
    assert data.inputs.tolist() == [[0.0, float("inf"), 0.0]]


def test_pixels_become_images_with_their_options():
    split = Split(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), {"class": torch.arange(4)})
    data = training_data(
        split, ImagePreprocessing(size=8), Augment(flip=True), keep="stream", workers=0
    )
    assert isinstance(data, ImageData)
    assert (data.augment, data.keep, data.workers) == (Augment(flip=True), "stream", 0)


def test_a_table_that_does_not_fit_is_refused(tmp_path):
    with refuses("Rows of a table", "(2, 4)"):
        training_data(Split(torch.zeros(2, 4), {}), TABLE)
    with refuses("The inputs", "image files", InputTypeError):
        training_data(Split(ImageFiles((tmp_path / "a.jpg",)), {}), TABLE)


ROWS, IDS = torch.arange(20.0).view(10, 2), torch.arange(10)
PIXELS = Split(torch.zeros(10, 1, 2, 2, dtype=torch.uint8), {"class": IDS})


@pytest.mark.parametrize(
    ("data", "in_memory"),
    [
        ((ROWS, IDS), True),
        ((ROWS.numpy(), {"class": IDS.tolist()}), True),
        (Arrays(ROWS, IDS), True),
        (ImageData(PIXELS, ImagePreprocessing(2, (0.0,), (1.0,))), True),
        (TensorDataset(ROWS, IDS), False),
    ],
)
def test_examples_are_asked_in_one_way_wherever_they_are(data, in_memory):
    examples = as_examples(data, name="train")
    assert len(examples) == 10
    assert (examples.targets is not None) == in_memory
    assert examples.loader is None
    assert len(examples.first()) == 1
    chosen = [torch.tensor([3, 1]), torch.tensor([8])]
    found = [targets for _, targets in examples.batches(chosen)]
    found = [targets["class"] if isinstance(targets, dict) else targets for targets in found]
    assert [ids.tolist() for ids in found] == [[3, 1], [8]]


def test_a_loader_has_its_own_batches():
    loader = DataLoader(TensorDataset(ROWS, IDS), batch_size=4)
    examples = as_examples(loader, name="train")
    assert (len(examples), len(examples.first()), examples.loader) == (10, 4, loader)
    batches = Batches(examples, 3, shuffle=True)
    assert [len(inputs) for inputs, _ in batches.epoch()] == [4, 4, 2]
    assert len(batches) == 3
    bare = as_examples(DataLoader(ROWS, batch_size=4), name="train")
    with pytest.raises(InputTypeError) as wrong:
        bare.first()
    assert wrong.value.got == "Tensor"


@pytest.mark.parametrize("data", ["ab", 3, (ROWS,), ROWS, Dataset(), DataLoader(Dataset())])
def test_what_are_no_examples_is_named(data):
    with pytest.raises(InputTypeError) as wrong:
        as_examples(data, name="valid")
    assert (wrong.value.argument, wrong.value.got) == ("valid", type(data).__name__)


def test_arrays_print_their_shape_and_not_their_values():
    assert repr(Arrays(torch.zeros(1000, 3, 8, 8), torch.zeros(1000))) == (
        "Arrays of 1,000 inputs of shape (3, 8, 8)"
    )


def test_arrays_can_be_entered_in_the_middle_of_an_epoch():
    batches = Batches(Arrays(torch.arange(10.0), torch.arange(10)), 3, shuffle=True, seed=2)
    whole, rest = (
        [targets.tolist() for _, targets in batches.epoch(4, start=start)] for start in (0, 2)
    )
    assert rest == whole[2:]


def test_batches_cover_every_example_once_whatever_the_number_of_processes():
    data = Arrays(torch.arange(23).float(), torch.arange(23))
    whole = Batches(data, 5, shuffle=True, seed=1).ids(0)
    parts = [Batches(data, 5, shuffle=True, seed=1, rank=rank, world=2).ids(0) for rank in range(2)]
    for batch, *shares in zip(whole, *parts, strict=True):
        assert sorted(torch.cat(shares).tolist()) == sorted(batch.tolist())
    assert sorted(torch.cat(whole).tolist()) == list(range(23))
    assert not torch.equal(whole[0], Batches(data, 5, shuffle=True, seed=1).ids(1)[0])
    evaluation = Batches(data, 5, shuffle=False)
    assert torch.cat([inputs for inputs, _ in evaluation.epoch()]).tolist() == list(range(23))


def test_a_training_batch_too_small_for_every_process_is_left_out():
    data = Arrays(torch.arange(12).float(), torch.arange(12))
    assert len(Batches(data, 5, shuffle=True, world=1)) == 3
    assert len(Batches(data, 5, shuffle=True, world=2)) == 3
    assert len(Batches(data, 5, shuffle=True, world=3)) == 2
    assert len(Batches(data, 5, shuffle=False, world=3)) == 3
    assert len(Batches(data, 9, shuffle=True, world=2)) == 2
    assert len(Batches(data, 9, shuffle=True, world=2, least=2)) == 1  # two rows and one
    assert len(Batches(data, 100, shuffle=True)) == 1
    assert (
        len(Batches(Arrays(torch.ones(6), torch.ones(6)), 5, shuffle=True)) == 1
    )  # one alone has no variance


def test_the_standardizer_agrees_with_scikit_learn_and_is_stored_as_plain_values():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    rng = np.random.default_rng(0)
    rows, weight = rng.normal(3, 2, (40, 3)), rng.integers(1, 4, 40)
    rows[:, 2] = 7.0  # never changes
    reference = preprocessing.StandardScaler().fit(rows, sample_weight=weight)
    fitted = Standardizer.fit(rows, weight)
    np.testing.assert_allclose(fitted(rows).numpy(), reference.transform(rows), atol=1e-12)
    assert from_plain(Standardizer, json.loads(json.dumps(asdict(fitted)))) == fitted


def test_columns_of_zeros_and_ones_stay_as_they_are():
    rows = np.zeros((100, 3))
    rows[0, 0], rows[:, 1], rows[::2, 2] = 1, np.arange(100), 1
    scaled = Standardizer.fit(rows)(rows).numpy()
    np.testing.assert_array_equal(scaled[:, [0, 2]], rows[:, [0, 2]])
    assert abs(scaled[:, 1].std() - 1) < 1e-9


def test_heavy_tails_are_bent_and_nothing_else():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(500, 4))
    rows = np.column_stack(
        [np.exp(2 * normal[:, 0]), normal[:, 1], rng.uniform(size=500), normal[:, 2] > 1]
    )
    fitted, plain = Standardizer.fit(rows, how="robust"), Standardizer.fit(rows)
    assert [bend > 0 for bend in fitted.bend] == [True, False, False, False]
    scaled = fitted(rows).numpy()
    np.testing.assert_allclose(scaled[:, 1:], plain(rows).numpy()[:, 1:], atol=1e-12)
    assert np.abs(scaled[:, 0]).max() < 4 < 10 < np.abs(plain(rows).numpy()[:, 0]).max()
    assert (np.argsort(scaled[:, 0]) == np.argsort(rows[:, 0])).all()
    assert from_plain(Standardizer, json.loads(json.dumps(asdict(fitted)))) == fitted
    assert Standardizer.fit(normal, how="robust").bend == ()


def test_a_weight_bends_as_repeated_rows_do():
    rng = np.random.default_rng(1)
    rows, weight = np.exp(2 * rng.normal(size=(60, 2))), rng.integers(0, 4, 60)
    weighed, repeated = (
        Standardizer.fit(*given, how="robust")
        for given in ((rows, weight), (rows.repeat(weight, 0),))
    )
    assert weighed.bend == repeated.bend
    np.testing.assert_allclose(weighed(rows).numpy(), repeated(rows).numpy(), atol=1e-9)


def test_the_standardizer_takes_channels_of_images():
    images = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 4), dtype=np.uint8)
    scaled = Standardizer.fit(images)(images)
    assert scaled.dtype == torch.float32
    torch.testing.assert_close(scaled.mean((0, 2, 3)), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        scaled.var((0, 2, 3), correction=0), torch.ones(3), atol=1e-5, rtol=0
    )


def test_training_starts_from_sparse_rows():
    rows = scipy.sparse.eye_array(12, 5, format="csr", dtype=np.float32)
    space = hp.Space(2, hp.Classes(2))
    run = hp.fit(MLP(2, 5), space, (rows, torch.arange(12) % 2), epochs=1, progress=False)
    assert len(run.history) == 1
