"""Meridians and parallels of the unit sphere, for plotly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["coordinates", "sphere_grid"]


def coordinates(points: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return the columns of points (n, 2) or (n, 3) under their axes, rounded for the page."""
    return {axis: np.round(points[:, i], 4).tolist() for i, axis in enumerate("xyz"[: points.shape[1]])}


def sphere_grid() -> dict[str, Any]:
    """Return meridians and parallels as one line with gaps."""
    turn = np.linspace(0, 2 * np.pi, 73)
    rings = []
    for latitude in np.deg2rad(np.arange(-60, 61, 30)):
        ring = np.column_stack([np.cos(turn), np.sin(turn)]) * np.cos(latitude)
        rings.append(np.column_stack([ring, np.full(len(turn), np.sin(latitude))]))
    for longitude in np.deg2rad(np.arange(0, 180, 30)):
        flat = np.column_stack([np.cos(turn) * np.cos(longitude), np.cos(turn) * np.sin(longitude)])
        rings.append(np.column_stack([flat, np.sin(turn)]))
    gap = np.full((1, 3), np.nan)
    line = np.concatenate([part for ring in rings for part in (ring, gap)])
    spots = {axis: [None if np.isnan(v) else round(float(v), 4) for v in line[:, i]] for i, axis in enumerate("xyz")}
    return {
        "type": "scatter3d",
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "line": {"color": "#cccccc", "width": 1},
        **spots,
    }
