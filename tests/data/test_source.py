"""Targets describe themselves, and rows are drawn by class in one way."""

import torch

from hyperproto._core.processes import derive_seed
from hyperproto.data.source import draw_rows, hold_out_rows
from hyperproto.tasks import Range
from tests.refusals import refuses

LABELS = torch.tensor([0] * 12 + [1] * 6 + [2] * 4 + [-1] * 2)


def test_bounds_are_two_finite_numbers_in_order():
    assert (Range(1, 2, outside="clip").low, type(Range(1, 2, outside="clip").low)) == (1.0, float)
    with refuses("low", "2 and 1"):
        Range(2, 1, outside="clip")
    with refuses("high", "inf"):
        Range(0, float("inf"))


def test_a_draw_keeps_the_share_of_every_class():
    rows = draw_rows(LABELS, 12, seed=0)
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert torch.bincount(LABELS[rows] + 1).tolist() == [1, 6, 3, 2]
    assert torch.equal(rows, draw_rows(LABELS, 12, seed=0))
    assert not torch.equal(rows, draw_rows(LABELS, 12, seed=1))
    assert draw_rows(LABELS, 99, seed=0).tolist() == list(range(24))


def test_a_draw_takes_as_many_of_each_class_as_it_is_asked_for():
    labels = LABELS[:22]
    rows = draw_rows(labels, torch.tensor([1, 6, 0]), seed=4)
    assert torch.bincount(labels[rows], minlength=3).tolist() == [1, 6, 0]
    assert rows.tolist() == sorted(rows.tolist())


def test_draws_are_those_of_the_recorded_cells():
    # Recorded runs depend on these rows, so they must never change.
    assert draw_rows(LABELS, 8, seed=derive_seed(0, "thin out", "train")).tolist() == [
        0,
        3,
        5,
        11,
        16,
        17,
        20,
        22,
    ]
    kept, out = hold_out_rows([LABELS], 24, share=0.25, seed=3)
    assert out.tolist() == [2, 4, 7, 13, 16, 21]
    assert sorted(kept.tolist() + out.tolist()) == list(range(24))
