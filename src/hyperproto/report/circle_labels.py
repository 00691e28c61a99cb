"""Names around a circle, pointing outward, pushed apart where classes are close."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["outward", "spread"]

Array = NDArray[np.float64]

PUSHES = 20_000  # at most: n names on one spot need about n² of them


def spread(angles: Array, gap: float) -> Array:
    """Return angles near the given ones, in the same order around the circle, no two closer than ``gap``.

    Parameters
    ----------
    angles : array, shape (n,)
        In radians.
    gap : float
        At most ``2 π / n``, or it is taken to be that.

    Examples
    --------
    >>> spread(np.array([1.0, 1.0, 3.0]), 0.5).round(2).tolist()
    [0.75, 1.25, 3.0]
    """
    count = len(angles)
    gap = min(gap, 2 * np.pi / count * (1 - 1e-9))
    order = np.argsort(angles % (2 * np.pi), kind="stable")
    moved = (angles % (2 * np.pi))[order]
    for _ in range(PUSHES):
        ahead = np.append(moved[1:], moved[0] + 2 * np.pi) - moved
        push = np.maximum(gap - ahead, 0) / 2
        if push.max() < 1e-4 * gap:
            break
        moved = moved - push + np.roll(push, 1)
    result = np.empty(count)
    result[order] = moved
    return result


def outward(angle: float) -> dict[str, float | str]:
    """Return the settings of a text that reads outward from the circle, never upside down."""
    degrees = float(np.degrees(angle)) % 360
    flipped = 90 < degrees < 270
    return {
        "rotation": degrees - 180 if flipped else degrees,
        "rotation_mode": "anchor",
        "ha": "right" if flipped else "left",
        "va": "center",
    }
