"""Maximum cosine over dimensions: ours, the bound, the paper's method, chance."""

from collections.abc import Sequence
from pathlib import Path

from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.prototypes.compare import Comparison
from hyperproto.report.picture_format import picture_format

__all__ = ["draw_separation"]

LINES = (
    ("random", "random", "#999999", ":"),
    ("paper", "the paper's method (Eq. 5)", "#E69F00", "-"),
    ("ours", "hyperproto", "#0072B2", "-"),
    ("bound", "lower bound", "#000000", "--"),
)


def draw_separation(rows: Sequence[Comparison], path: str | Path, *, num_classes: int) -> None:
    """Draw the table of :func:`~hyperproto.prototypes.compare.compare_dims` and write it as PNG or SVG."""
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing the comparison")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    dims = [row.dim for row in rows]
    for name, label, colour, style in LINES:
        axes.plot(dims, [getattr(row, name) for row in rows], style, color=colour, label=label, marker=".")
    axes.set(xscale="log", xlabel="dimensions D", ylabel="maximum cosine (smaller is better)")
    axes.set_xticks(dims, [str(dim) for dim in dims], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_title(f"{num_classes} prototypes")
    axes.grid(alpha=0.3)
    axes.legend()
    with replacing(path) as beside:
        figure.savefig(beside, format=form)
