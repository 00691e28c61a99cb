"""What the tests of the algebraic codes share."""

import numpy as np
import pytest


def assert_is_code(points, num_points, dim, max_cosine):
    """Check size, unit rows, distinct points and the largest cosine of a code
    that fits in memory.
    """
    assert points.shape == (num_points, dim)
    assert np.abs(np.linalg.norm(points, axis=1) - 1).max() < 1e-15
    cosines = points @ points.T
    np.fill_diagonal(cosines, -1)
    assert cosines.max() == pytest.approx(
        max_cosine, abs=1e-12
    )  # below 1, so no point stands twice


def spectrum(points):
    """Return the cosines from the first point, and how often each occurs."""
    values, counts = np.unique((points @ points[0]).round(9) + 0.0, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
