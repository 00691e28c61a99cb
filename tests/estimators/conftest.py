"""Small tables that can be learned in a moment."""

import numpy as np
import pytest


@pytest.fixture
def three_kinds() -> tuple[np.ndarray, np.ndarray]:
    """Ninety rows around three centres, and the names of the centres."""
    draw = np.random.default_rng(0)
    centres = 3 * draw.normal(size=(3, 4))
    ids = np.arange(90) % 3
    return centres[ids] + draw.normal(size=(90, 4)), np.array(["ant", "bee", "cat"])[ids]


@pytest.fixture
def a_slope() -> tuple[np.ndarray, np.ndarray]:
    """A hundred rows, and a number that grows along them."""
    draw = np.random.default_rng(1)
    X = draw.normal(size=(100, 3))
    return X, 10 + 2 * X[:, 0] - X[:, 1] + 0.1 * draw.normal(size=100)
