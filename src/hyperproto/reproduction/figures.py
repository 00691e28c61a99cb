"""The figures of a report: a table as dots, accuracy after every epoch, the idea, and outputs on the sphere."""

import base64
import html
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import require
from hyperproto._core.files import replacing
from hyperproto.report.pages import coordinates, new_picture, page_head, sphere_grid
from hyperproto.report.sphere_view import SphereView, draw_sphere, sphere_panel, write_sphere_page
from hyperproto.reproduction.grid import Grid, Summary, ours

# colors that stay distinct for most kinds of color blindness (Okabe and Ito)
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
COLORS = (BLUE, VERMILION, GREEN, "#CC79A7", ORANGE, "#56B4E9", "#000000")
CIRCLE = "#40B0A6"
LINE, WIDTH, LABEL = 0.42, 2.1, 36  # of dots: inches per row, inches per column, characters of a row's name
TEXT = 0.15  # inches per line of a row's name
LIFT = 0.17  # ours above the line of its row, the paper's below, so that equal ones are both seen
UNITS = {"accuracy": "accuracy, %", "mae": "mean absolute error", **dict.fromkeys(("min", "mean", "max"), "1 - cos")}
ELEVATION, AZIMUTH = 30.0, -60.0  # degrees, from where the sphere of the idea is seen
POLE_UP = [1, 2, 0]  # the axis of a range is drawn upwards, as the paper does

Sphere = dict[str, Any]  # what a record stores of a sphere


def draw_figures(grid: Grid, stem: Path) -> list[Path]:
    """Draw what there is to show: pictures as PNG and SVG, pages with spheres to turn; nothing without records."""
    if not any(summary.records for summary in grid.cells.values()):
        return []
    spheres = _stored_spheres(grid)
    if grid.experiment.figure == "idea" and spheres:
        page = stem.with_name(f"{stem.name}-sphere.html")
        _write_idea_page(spheres, page, title=grid.experiment.title)
        return [*_both_formats(stem, partial(_draw_ideas, spheres)), page]
    draw = _draw_curves if grid.experiment.figure == "curves" else _draw_dots
    drawn = _both_formats(stem, partial(draw, grid))
    pages = []
    if grid.experiment.figure == "sphere":
        for index, (row, sphere) in enumerate(spheres.items(), start=1):
            part, view = stem.with_name(f"{stem.name}-{index}"), _sphere_view(sphere)
            title = f"{row}, scale {grid.scale}: the first {len(view.points)} test images, one seed"
            drawn += _both_formats(part, partial(draw_sphere, view, title=title))
            pages.append(part.with_name(f"{part.name}-sphere.html"))
            write_sphere_page(view, pages[-1], title=f"{grid.experiment.title}: {row}")
    return [*drawn, *pages]


def _both_formats(stem: Path, draw: Callable[[Path], None]) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    for path in paths:
        draw(path)
    return paths


def _stored_spheres(grid: Grid) -> dict[str, Sphere]:
    """Return what the first seed of each row has to show."""
    found: dict[str, Sphere] = {}
    for (row, _), summary in grid.cells.items():
        for record in summary.records.values():
            if record.get("sphere"):
                found.setdefault(row, record["sphere"])
    return found


def _draw_dots(grid: Grid, path: Path) -> None:
    """Draw a table: a panel per column, a line per row; mean, standard deviation and every seed, and the paper's."""
    bands = row_bands(grid)
    heights = [
        max(LINE, *(TEXT * (_label(row).count("\n") + 1.3) for row in band)) * len(band) + 0.6 for band in bands
    ]
    with new_picture(path, 3.2 + WIDTH * len(grid.columns), sum(heights) + 1.1) as figure:
        panels = figure.subplots(len(bands), len(grid.columns), squeeze=False, sharey="row", height_ratios=heights)
        for line, band in zip(panels, bands, strict=True):
            _draw_band(grid, band, line)
        _explain_dots(figure, grid)


def row_bands(grid: Grid) -> list[tuple[str, ...]]:
    """Return the rows in bands of equal measures, for those of different ones cannot share an axis."""
    bands: dict[frozenset[str], list[str]] = {}
    for row in grid.rows:
        measures = frozenset(summary.entry.measure for (name, _), summary in grid.cells.items() if name == row)
        bands.setdefault(measures, []).append(row)
    return [tuple(rows) for rows in bands.values()]


def _draw_band(grid: Grid, band: Sequence[str], line: Sequence[Any]) -> None:
    """Draw a line of panels; panels of one unit have one scale, from 0."""
    first: dict[str, Any] = {}  # the first panel of each unit
    for axes, column in zip(line, grid.columns, strict=True):
        for height, row in enumerate(band):
            if (row, column) in grid.cells:
                summary = grid.cells[row, column]
                unit = UNITS.get(summary.entry.measure.rpartition("/")[2], summary.entry.measure)
                axes.set_xlabel(unit, fontsize=8)
                if first.setdefault(unit, axes) is not axes:
                    axes.sharex(first[unit])
                _draw_dot(axes, summary, height, grid.experiment.decimals)
        axes.set_title(column, fontsize=10)
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=8)
        axes.tick_params(axis="y", left=axes is line[0])
        axes.set_ylim(len(band) - 0.4, -0.6)
    for axes in line:
        axes.set_xlim(left=0)
    line[0].set_yticks(range(len(band)), [_label(row) for row in band], fontsize=9)


def _label(row: str) -> str:
    """Break a long name, after a colon if it has one."""
    return "\n".join(fill(part, LABEL) for part in row.replace(": ", ":\n").split("\n"))


def _draw_dot(axes: Any, summary: Summary, height: int, decimals: int) -> None:
    """Draw one entry of the table; where nothing was run, or all of it diverged, say so."""
    color, paper = GREEN if summary.entry.past else BLUE, summary.entry.paper
    axes.axhline(height, color="#dddddd", linewidth=0.6, zorder=0)
    if summary.mean is None:
        spot = {"xy": (0.02, height - LIFT), "xycoords": ("axes fraction", "data"), "va": "center"}
        axes.annotate(ours(summary, decimals), **spot, fontsize=7, color="#888888")
    else:
        axes.errorbar(summary.mean, height - LIFT, xerr=summary.std, fmt="o", color=color, markersize=5, capsize=2.5)
        if len(summary.values) > 1:
            seeds = list(summary.values.values())
            axes.plot(seeds, [height - LIFT] * len(seeds), "|", color=color, markersize=9, alpha=0.7)
    if paper is not None:
        style = {"fmt": "o", "color": VERMILION, "markerfacecolor": "white", "markersize": 5, "capsize": 2.5}
        axes.errorbar(paper.mean, height + LIFT, xerr=paper.std, **style)


def _explain_dots(figure: Any, grid: Grid) -> None:
    """Add title and legend: which dots are ours, and that the paper's are of its own protocol."""
    from matplotlib.lines import Line2D

    trained = grid.experiment.trained
    spread = f", scale {grid.scale}, mean ± standard deviation; ticks are seeds" if trained else ""
    reduced = ", its own protocol" if trained and grid.scale != "full" else ""
    styles: dict[str, dict[str, Any]] = {f"ours{spread}": {"color": BLUE}}
    if any(map(grid.is_past, grid.rows)):
        styles["rows past the paper"] = {"color": GREEN}
    if any(summary.entry.paper for summary in grid.cells.values()):
        styles[f"as the paper prints it{reduced}"] = {"color": VERMILION, "markerfacecolor": "white"}
    handles = [Line2D([], [], marker="o", linestyle="", **style) for style in styles.values()]
    width = round(figure.get_figwidth() * 11)
    figure.suptitle(fill(grid.experiment.title, width), fontsize=11)
    columns = len(styles) if width > 90 else 1
    figure.legend(handles, list(styles), loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def _draw_curves(grid: Grid, path: Path) -> None:
    """Draw the measure after every epoch: the mean over seeds, and the range of the seeds as a band."""
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
        title = fill(f"{grid.experiment.title}; scale {grid.scale}", round(figure.get_figwidth() * 10))
        figure.suptitle(title, fontsize=11)
        lines = {name: line for axes in panels for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
        if lines:
            style = {"ncols": 2 if len(panels) == 1 else 4, "fontsize": 8, "title_fontsize": 8, "frameon": False}
            about = "mean of the seeds, and their range as a band; dashed: past the paper"
            figure.legend(list(lines.values()), list(lines), loc="outside lower center", title=about, **style)


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
    axes.plot(epochs, seeds.mean(axis=0), "--" if entry.past else "-", **style)
    if len(seeds) > 1:
        axes.fill_between(epochs, seeds.min(axis=0), seeds.max(axis=0), color=color, alpha=0.15, linewidth=0)


def _draw_ideas(spheres: dict[str, Sphere], path: Path) -> None:
    """Draw Figures 1 and 2: the sphere, its marks, and the path of one output, the far side paler."""
    up, around = np.radians([ELEVATION, AZIMUTH])
    viewer = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
    with new_picture(path, 5 * len(spheres), 5) as figure:
        for index, (title, sphere) in enumerate(spheres.items(), start=1):
            axes = sphere_panel(figure, 100 + 10 * len(spheres) + index, title)
            axes.view_init(elev=ELEVATION, azim=AZIMUTH)
            marks, steps, is_range = _points(sphere["marks"]), _points(sphere["path"]), sphere["target"] == 0
            dots = {"color": BLUE, "s": 40, "depthshade": False}
            near = marks @ viewer > 0
            axes.scatter(*marks[near].T, label="poles: the bounds" if is_range else "prototypes", **dots)
            axes.scatter(*marks[~near].T, alpha=0.35, **dots)
            if is_range:
                axes.plot(*_equator().T, color=CIRCLE, label="its value: cosine 0 to the upper pole")
            else:
                ring = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 2, "s": 110}
                axes.scatter(*marks[0], label="the prototype of its class", depthshade=False, **ring)
            axes.plot(*steps.T, color=ORANGE, linewidth=2, label="the output, moved by the gradient")
            axes.scatter(*steps[-1], color=ORANGE, s=30, depthshade=False)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, fontsize=8, frameon=False)


def _write_idea_page(spheres: dict[str, Sphere], path: Path, *, title: str) -> None:
    """Write a page with each sphere to turn with the mouse; it needs no network."""
    plotly = require("plotly.io", extra="plots", purpose="Writing the interactive page")
    parts = [f"{page_head(title)}</head><body><h1>{html.escape(title)}</h1>"]
    for index, (name, sphere) in enumerate(spheres.items()):
        options = {"include_plotlyjs": index == 0, "full_html": False, "config": {"displaylogo": False}}
        parts.append(f"<h2>{html.escape(name)}</h2>{plotly.to_html(_idea_scene(sphere), **options)}")
    with replacing(path) as file:
        file.write_text("\n".join([*parts, "</body></html>\n"]), encoding="utf-8")


def _idea_scene(sphere: Sphere) -> dict[str, Any]:
    """Return the same as plotly draws it."""
    marks = {"mode": "markers", "marker": {"size": 5, "color": BLUE}, **coordinates(_points(sphere["marks"]))}
    steps = {"mode": "lines", "line": {"width": 6, "color": ORANGE}, **coordinates(_points(sphere["path"]))}
    circle = {"mode": "lines", "line": {"width": 4, "color": CIRCLE}, **coordinates(_equator())}
    shown = [marks, steps] + ([circle] if sphere["target"] == 0 else [])
    hidden = {"visible": False}
    scene = {"xaxis": hidden, "yaxis": hidden, "zaxis": hidden, "aspectmode": "cube"}
    data = [{"type": "scatter3d", "hoverinfo": "skip", **part} for part in shown]
    return {"data": [*data, sphere_grid()], "layout": {"showlegend": False, "height": 520, "scene": scene}}


def _points(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows, dtype=np.float64)[:, POLE_UP]


def _equator() -> NDArray[np.float64]:
    angles = np.linspace(0, 2 * np.pi, 120)
    return np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)


def _sphere_view(sphere: Sphere) -> SphereView:
    """Return what a cell of the rotated-MNIST figure stored, as the pictures of the sphere take it."""
    side = int(sphere["side"])
    return SphereView(
        points=np.asarray(sphere["points"], dtype=np.float64),
        labels=np.asarray(sphere["labels"], dtype=np.int64),
        values=np.asarray(sphere["values"], dtype=np.float64),
        prototypes=np.asarray(sphere["prototypes"], dtype=np.float64),
        names=tuple(sphere["names"]),
        value_name="angle in degrees",
        images=np.frombuffer(base64.b64decode(sphere["images"]), dtype=np.uint8).reshape(-1, side, side),
    )
