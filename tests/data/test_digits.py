import pytest
import torch

from hyperproto.data import load_digits, load_rotated_digits
from hyperproto.data.digits import rotate


def test_digits_are_split_without_overlap_and_completely():
    train, held = load_digits(seed=3)
    assert len(train) + len(held) == 1797
    assert len(held) == 449
    assert train.inputs.shape[1:] == (1, 8, 8)
    assert 0 <= train.inputs.min() < train.inputs.max() <= 1
    assert set(train.targets.tolist()) == set(range(10))
    fit, valid = load_digits(seed=3, part="valid")
    assert torch.equal(torch.cat([fit.inputs, valid.inputs]), train.inputs)  # the test quarter stays aside
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
