"""How rows are scaled and binned, and that the numbers of a stored scaling fit its columns."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from hyperproto._core.schema import from_plain
from hyperproto.data import Standardizer, TablePreprocessing
from hyperproto.runtime.tables import TableEncoder
from tests.refusals import refuses

THREE = (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("center", "bend"), [((), (0.5, 0.0)), ((1.0,), ()), ((1.0,), (0.5,)), (THREE, THREE)]
)
def test_tails_are_bent_in_all_columns_or_in_none(center, bend):
    fitting = Standardizer((0.0, 0.0), (1.0, 1.0), (0.0, 0.0), (0.5, 0.0))
    assert fitting.check_width(2) is fitting
    with pytest.raises(ValueError, match="have centers and bends of no column, or of all 2"):
        Standardizer((0.0, 0.0), (1.0, 1.0), center, bend).check_width(2)


def many_rows(count=5000):
    rng = np.random.default_rng(0)
    ties = np.where(rng.random(count) < 0.8, 3.0, rng.normal(size=count))
    return np.column_stack(
        [rng.normal(size=count), rng.random(count) > 0.5, ties, rng.integers(0, 3, count)]
    )


def test_bins_say_how_far_a_number_is_through_each():
    scaling = Standardizer((0.0, 0.0), (1.0, 1.0), knots=((0.0, 1.0, 3.0), ()))
    found = scaling(np.array([[-5.0, 7.0], [0.5, 7.0], [2.0, 7.0], [9.0, 7.0]]))
    assert found.tolist() == [[-5, 7, 0, 0], [0.5, 7, 0.5, 0], [2, 7, 1, 0.5], [9, 7, 1, 1]]
    assert found.dtype == torch.float32
    assert scaling.out_width(2) == 4


def test_bins_have_about_equal_counts_and_ties_share_one():
    rows = many_rows()
    fitted = Standardizer.fit(rows, how="binned")
    normal, indicator, ties, three = fitted.knots
    assert np.histogram(rows[:, 0], normal)[0].tolist() == pytest.approx([1000] * 5, abs=1)
    assert indicator == ()
    assert ties == tuple(sorted(set(ties)))
    assert len(ties) < 5
    assert three == (0.0, 1.0, 2.0)
    width = fitted.out_width(4)
    assert fitted(rows).shape == (5000, width)
    torch.testing.assert_close(
        fitted(rows)[:, :4], Standardizer.fit(rows, how="robust")(rows).float()
    )
    assert from_plain(Standardizer, json.loads(json.dumps(asdict(fitted)))) == fitted


def test_a_linear_model_of_bins_turns_at_every_knot():
    x = np.linspace(0, 1, 6001)[:, None]
    rows = Standardizer.fit(x, how="binned")(x).double().numpy()
    steps = np.interp(x[:, 0], np.linspace(0, 1, 7), [0, 5, -3, 2, 2, 8, 0])
    design = np.column_stack([rows, np.ones(len(rows))])
    off = design @ np.linalg.lstsq(design, steps)[0] - steps
    assert np.abs(off).max() < 0.02
    plain = np.column_stack([x, np.ones(len(x))])
    assert np.abs(plain @ np.linalg.lstsq(plain, steps)[0] - steps).max() > 2


def test_a_weight_bins_as_repeated_rows_do():
    rows, weight = (
        many_rows(9000),
        np.random.default_rng(1).permutation(np.arange(9000) % 3),
    )  # 6,000 rows count
    weighed = Standardizer.fit(rows, weight.astype(float), how="binned")
    kept, twice = rows[weight > 0], weight[weight > 0]
    least = Standardizer.fit(kept, twice.astype(float), how="binned")
    assert weighed.knots == least.knots
    repeated = np.repeat(rows[:, 0], weight)
    shares = np.array([(repeated <= knot).mean() for knot in weighed.knots[0][1:-1]])
    np.testing.assert_allclose(shares, np.arange(1, 6) / 6, atol=1e-3)


def test_few_rows_and_wide_tables_have_no_bins_and_stay_as_precise_as_they_came():
    rows = many_rows(3999)
    few = Standardizer.fit(rows, how="binned")
    assert few == Standardizer.fit(rows, how="robust")
    assert few(rows).dtype == torch.float64
    wide = np.random.default_rng(0).normal(size=(4000, 130))
    assert Standardizer.fit(wide, how="binned").knots == ()


@pytest.mark.parametrize(
    ("knots", "rule"),
    [
        (((0.0, 1.0),), "have knots of no column, or of all 2"),
        (((0.0,), ()), "be none, or increase"),
        (((0.0, 0.0), ()), "be none, or increase"),
        (((1.0, 0.0), ()), "be none, or increase"),
        (((-1.7e308, 1.7e308), ()), "be none, or increase"),
    ],
)
def test_stored_knots_fit_their_columns(knots, rule):
    with pytest.raises(ValueError, match=rule):
        Standardizer((0.0, 0.0), (1.0, 1.0), knots=knots).check_width(2)


def test_a_table_is_checked_as_it_came_and_prepared_with_its_bins():
    encoder = TableEncoder.fit({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"] * 1})
    width = len(encoder.outputs)
    scaling = Standardizer((0.0,), (1.0,), knots=((0.0, 1.0, 2.0), *[()] * (width - 1)))
    table = TablePreprocessing(encoder, scaling)
    assert table.input_shape == (width + 2,)
    assert table.standardize(torch.ones(3, width)).shape == (3, width + 2)
    with refuses("Rows of a table", "(3, 4)"):
        table.standardize(torch.ones(3, width + 2))
