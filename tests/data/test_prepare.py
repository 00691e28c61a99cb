import pytest
import torch

from hyperproto.data import (
    Arrays,
    Augment,
    Batches,
    ImageData,
    ImageFiles,
    ImagePreprocessing,
    Split,
    TablePreprocessing,
    training_data,
)

TABLE = TablePreprocessing(columns=("a", "b", "c"), mean=(1.0, 10.0, 5.0), std=(2.0, 5.0, 0.0))


def test_rows_of_a_table_are_standardised_and_empty_cells_become_the_mean():
    rows = torch.tensor([[1.0, 20.0, 5.0], [5.0, float("nan"), 7.0]])
    data = training_data(Split(rows, {"y": torch.tensor([0.5, 1.5])}), TABLE)
    assert isinstance(data, Arrays)
    assert data.inputs.dtype == torch.float32
    assert data.inputs.tolist() == [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0]]  # a column that never changes is only shifted
    assert data.targets["y"].tolist() == [0.5, 1.5]


def test_infinity_in_a_table_is_left_for_the_check_of_inputs():
    data = training_data(Split(torch.tensor([[1.0, float("inf"), 5.0]]), {}), TABLE)
    assert data.inputs.tolist() == [[0.0, float("inf"), 0.0]]


def test_pixels_become_images_with_their_options():
    split = Split(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), {"class": torch.arange(4)})
    data = training_data(split, ImagePreprocessing(size=8), Augment(flip=True), keep="stream", workers=0)
    assert isinstance(data, ImageData)
    assert (data.augment, data.keep, data.workers) == (Augment(flip=True), "stream", 0)


def test_a_table_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"Rows of a table must have shape \(n, 3\), one per column; got \(2, 4\)"):
        training_data(Split(torch.zeros(2, 4), {}), TABLE)
    with pytest.raises(TypeError, match="must be rows of numbers for TablePreprocessing; got image files"):
        training_data(Split(ImageFiles((tmp_path / "a.jpg",)), {}), TABLE)


def test_arrays_can_be_entered_in_the_middle_of_an_epoch():
    batches = Batches(Arrays(torch.arange(10.0), torch.arange(10)), 3, shuffle=True, seed=2)
    whole, rest = ([targets.tolist() for _, targets in batches.epoch(4, start=start)] for start in (0, 2))
    assert rest == whole[2:]
