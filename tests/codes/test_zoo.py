"""Every stored code is what its certificate says, and earns its place."""

import numpy as np
import pytest

from hyperproto.codes.algebra import best_entry
from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.zoo import ZOO, from_zoo, zoo_shapes


def test_the_zoo_is_small():
    assert sum(path.stat().st_size for path in ZOO.glob("*.safetensors")) <= 8_000_000
    assert len(zoo_shapes()) > 10


@pytest.mark.parametrize(("num_points", "dim"), zoo_shapes())
def test_a_stored_code_beats_the_registry_and_not_the_bound(num_points, dim):
    code = from_zoo(num_points, dim)
    assert code.points.shape == (num_points, dim)
    products = code.points @ code.points.T
    np.fill_diagonal(products, -1)
    assert code.certificate.max_cosine == pytest.approx(products.max(), abs=1e-12)
    assert products.max() >= separation_bound(num_points, dim) - 1e-12
    entry = best_entry(num_points, dim)
    assert entry is None or products.max() < entry.max_cosine


def test_what_is_not_stored_is_none():
    assert from_zoo(11, 3) is None
