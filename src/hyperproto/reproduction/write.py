"""Everything there is to see of an experiment, written from its records."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hyperproto._core.errors import MissingExtraError
from hyperproto._core.files import replacing
from hyperproto.report.sphere_page import write_sphere_page
from hyperproto.report.sphere_picture import draw_sphere
from hyperproto.reproduction.curves import draw_curves
from hyperproto.reproduction.dots import draw_dots
from hyperproto.reproduction.experiment import Experiment
from hyperproto.reproduction.grid import Grid, make_grid
from hyperproto.reproduction.ideas import draw_ideas, write_idea_page
from hyperproto.reproduction.page import to_html
from hyperproto.reproduction.spheres import sphere_view_of
from hyperproto.reproduction.summary import summarise
from hyperproto.reproduction.texts import to_csv, to_latex, to_markdown

__all__ = ["write_report"]


def write_report(experiment: Experiment, scale: str, results: Path, folder: Path) -> tuple[Grid, list[Path]]:
    """Write ``NAME-SCALE`` as .md, .csv, .tex and .html, figures as .png and .svg; nothing is trained.

    Returns
    -------
    Grid, list of Path
        The numbers, and what was written.
    """
    grid = make_grid(experiment, scale, summarise(experiment, scale, results))
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{experiment.name}-{scale}"
    grid, pictures, pages = _figures(grid, stem)
    texts = {".md": to_markdown(grid), ".csv": to_csv(grid), ".tex": to_latex(grid)}
    texts[".html"] = to_html(grid, [path for path in pictures if path.suffix == ".png"], pages)
    written = []
    for suffix, text in texts.items():
        path = stem.with_name(stem.name + suffix)
        with replacing(path) as beside:
            beside.write_text(text, encoding="utf-8")
        written.append(path)
    return grid, [*written, *pictures, *pages]


def _figures(grid: Grid, stem: Path) -> tuple[Grid, list[Path], list[Path]]:
    """Draw what there is to show; without the packages that draw, numbers are reported all the same."""
    try:
        return grid, *_drawn(grid, stem)
    except MissingExtraError as error:
        return replace(grid, remarks=(*grid.remarks, f"No pictures: {error}.")), [], []


def _drawn(grid: Grid, stem: Path) -> tuple[list[Path], list[Path]]:
    """Return pictures and pages to turn; where there are no records yet, none."""
    if not any(held.records for held in grid.cells.values()):
        return [], []
    looks = _looks(grid)
    if grid.experiment.figure == "idea" and looks:
        return _draw_idea(grid, stem, looks)
    pictures = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    for path in pictures:
        draw_curves(grid, path) if grid.experiment.figure == "curves" else draw_dots(grid, path)
    if grid.experiment.figure != "sphere":
        return pictures, []
    spheres, pages = _draw_spheres(grid, stem, looks)
    return [*pictures, *spheres], pages


def _looks(grid: Grid) -> list[tuple[str, dict[str, Any]]]:
    """Return what the first seed of each row has to show."""
    found: dict[str, dict[str, Any]] = {}
    for (row, _), held in grid.cells.items():
        for record in held.records.values():
            if record.get("look"):
                found.setdefault(row, record["look"])
    return list(found.items())


def _draw_idea(grid: Grid, stem: Path, looks: list[tuple[str, dict[str, Any]]]) -> tuple[list[Path], list[Path]]:
    pictures = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    for path in pictures:
        draw_ideas(looks, path)
    page = stem.with_name(f"{stem.name}-sphere.html")
    write_idea_page(looks, page, title=grid.experiment.title)
    return pictures, [page]


def _draw_spheres(grid: Grid, stem: Path, looks: list[tuple[str, dict[str, Any]]]) -> tuple[list[Path], list[Path]]:
    pictures, pages = [], []
    for index, (row, look) in enumerate(looks, start=1):
        view = sphere_view_of(look)
        told = f"{row}, scale {grid.scale}: the first {len(view.points)} test images, one seed"
        for suffix in (".png", ".svg"):
            pictures.append(stem.with_name(f"{stem.name}-{index}{suffix}"))
            draw_sphere(view, pictures[-1], title=told)
        pages.append(stem.with_name(f"{stem.name}-{index}-sphere.html"))
        write_sphere_page(view, pages[-1], title=f"{grid.experiment.title}: {row}")
    return pictures, pages
