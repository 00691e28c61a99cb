"""The figures of a report: accuracy after every epoch, the idea, and outputs on the sphere."""

import base64
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto.report.pages import CLASS_COLORS, new_picture
from hyperproto.report.sphere_view import (
    SphereView,
    draw_sphere,
    sphere_panel,
    viewer_from,
    write_sphere_page,
)
from reproduction.grid import Grid
from reproduction.summaries import Summary

BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = CLASS_COLORS[:6]
COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000")
CIRCLE = "#40B0A6"
ELEVATION, AZIMUTH = 30.0, -60.0  # degrees, from where the sphere of the idea is seen
POLE_UP = [1, 2, 0]  # the axis of a range is drawn upwards, as the paper does

Sphere = dict[str, Any]  # what a record stores of a sphere


def draw_figures(grid: Grid, stem: Path) -> list[Path]:
    """Draw what there is to show: pictures as PNG and SVG, pages with spheres to turn; nothing
    without records.
    """
    if not grid.experiment.figure or not any(summary.records for summary in grid.cells.values()):
        return []
    draws: dict[Any, Callable[[Grid, Path], None]] = {"idea": _draw_ideas, "curves": _draw_curves}
    if grid.experiment.figure != "sphere":
        figure: Any = grid.experiment.figure
        return _both_formats(stem, partial(draws.get(figure, figure), grid))
    drawn = []
    for index, (row, sphere) in enumerate(_stored_spheres(grid).items(), start=1):
        part, view = stem.with_name(f"{stem.name}-{index}"), _sphere_view(sphere)
        title = f"{row}, scale {grid.scale}: the first {len(view.points)} test images, one seed"
        drawn += _both_formats(part, partial(draw_sphere, view, title=title))
        drawn.append(part.with_name(f"{part.name}-sphere.html"))
        write_sphere_page(view, drawn[-1], title=f"{grid.experiment.title}: {row}")
    return drawn


def _both_formats(stem: Path, draw: Callable[[Path], None]) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    for path in paths:
        draw(path)
    return paths


def _stored_spheres(grid: Grid) -> dict[str, Sphere]:
    """Return what the first seed of each row has to show."""
    spheres: dict[str, Sphere] = {}
    for (row, _), summary in grid.cells.items():
        for record in summary.records.values():
            if record.get("sphere"):
                spheres.setdefault(row, record["sphere"])
    return spheres


def _draw_curves(grid: Grid, path: Path) -> None:
    """Draw the measure after every epoch: the mean over seeds, and the range of the seeds as a
    band.
    """
    with new_picture(path, 1.5 + 4.5 * len(grid.columns), 5) as figure:
        panels = figure.subplots(1, len(grid.columns), squeeze=False)[0]
        for axes, column in zip(panels, grid.columns, strict=True):
            for index, row in enumerate(grid.rows):
                if (row, column) in grid.cells:
                    _draw_curve(axes, grid.cells[row, column], COLORS[index % len(COLORS)])
            axes.set(xlabel="epoch", title=column if len(grid.columns) > 1 else "")
            axes.grid(alpha=0.3)
            axes.xaxis.get_major_locator().set_params(integer=True)
        panels[0].set_ylabel("test accuracy, %")
        title = fill(
            f"{grid.experiment.title}; scale {grid.scale}", round(figure.get_figwidth() * 10)
        )
        figure.suptitle(title, fontsize=11)
        lines = {
            name: line
            for axes in panels
            for line, name in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        if lines:
            style = {
                "ncols": 2 if len(panels) == 1 else 4,
                "fontsize": 8,
                "title_fontsize": 8,
                "frameon": False,
            }
            about = "mean of the seeds, and their range as a band; dashed: beyond the paper"
            figure.legend(
                list(lines.values()), list(lines), loc="outside lower center", title=about, **style
            )


def _draw_curve(axes: Any, summary: Summary, color: str) -> None:
    """Draw the epochs of the seeds that ended well."""
    entry, factor = summary.entry, 100 if summary.entry.percent else 1
    curves = [
        [factor * epoch["valid"][entry.measure] for epoch in record["epochs"]]
        for record in summary.records.values()
        if record["state"] == "done" and record["epochs"]
    ]
    if not curves:
        return
    seeds, epochs = np.array(curves), np.arange(1, len(curves[0]) + 1)
    style = {"color": color, "label": entry.row, "marker": ".", "markersize": 3}
    axes.plot(epochs, seeds.mean(axis=0), "--" if entry.beyond else "-", **style)
    if len(seeds) > 1:
        axes.fill_between(
            epochs, seeds.min(axis=0), seeds.max(axis=0), color=color, alpha=0.15, linewidth=0
        )


def _draw_ideas(grid: Grid, path: Path) -> None:
    """Draw Figures 1 and 2: the sphere, its marks, and the path of one output,
    the far side paler.
    """
    spheres = _stored_spheres(grid)
    viewer = viewer_from(ELEVATION, AZIMUTH)
    with new_picture(path, 5 * len(spheres), 5) as figure:
        for index, (title, sphere) in enumerate(spheres.items(), start=1):
            axes = sphere_panel(figure, 100 + 10 * len(spheres) + index, title)
            axes.view_init(elev=ELEVATION, azim=AZIMUTH)
            marks, steps, is_range = (
                _points(sphere["marks"]),
                _points(sphere["path"]),
                sphere["target"] == 0,
            )
            dots = {"color": BLUE, "s": 40, "depthshade": False}
            near = marks @ viewer > 0
            axes.scatter(
                *marks[near].T, label="poles: the bounds" if is_range else "prototypes", **dots
            )
            axes.scatter(*marks[~near].T, alpha=0.35, **dots)
            if is_range:
                axes.plot(
                    *_equator().T, color=CIRCLE, label="its value: cosine 0 to the upper pole"
                )
            else:
                ring = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 2, "s": 110}
                axes.scatter(
                    *marks[0], label="the prototype of its class", depthshade=False, **ring
                )
            axes.plot(
                *steps.T, color=ORANGE, linewidth=2, label="the output, moved by the gradient"
            )
            axes.scatter(*steps[-1], color=ORANGE, s=30, depthshade=False)
            axes.legend(
                loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, fontsize=8, frameon=False
            )


def _points(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows, dtype=np.float64)[:, POLE_UP]


def _equator() -> NDArray[np.float64]:
    angles = np.linspace(0, 2 * np.pi, 120)
    return np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)


def _sphere_view(sphere: Sphere) -> SphereView:
    """Return what a cell of the rotated-MNIST figure stored, as the pictures of
    the sphere take it.
    """
    side = int(sphere["side"])
    return SphereView(
        points=np.asarray(sphere["points"], dtype=np.float64),
        labels=np.asarray(sphere["labels"], dtype=np.int64),
        values=np.asarray(sphere["values"], dtype=np.float64),
        prototypes=np.asarray(sphere["prototypes"], dtype=np.float64),
        names=tuple(sphere["names"]),
        value_name="angle in degrees",
        images=np.frombuffer(base64.b64decode(sphere["images"]), dtype=np.uint8).reshape(
            -1, side, side
        ),
    )
