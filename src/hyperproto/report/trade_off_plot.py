"""What meaning costs: triplets ranked as the prior ranks them, against the maximum cosine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from hyperproto._core.errors import InputError
from hyperproto._core.extras import require
from hyperproto._core.files import replacing
from hyperproto.report.picture_format import picture_format

__all__ = ["TradeOffPoint", "draw_trade_off"]

# marker and colour of each labelled point, in the order in which they come
MARKS = (("D", "#D55E00"), ("s", "#009E73"), ("^", "#CC79A7"), ("v", "#8C6D00"), ("P", "#56A0D3"), ("X", "#7A0177"))
SWEEP = "#0072B2"


class TradeOffPoint(Protocol):
    """One placement: how much the prior weighed, and what came of it."""

    @property
    def prior_weight(self) -> float:
        """How much the prior weighed."""

    @property
    def max_cosine(self) -> float:
        """The separation: smaller is better."""

    @property
    def ranked(self) -> float:
        """The share of triplets ranked as in the prior, by more than 0.01: larger is better."""

    @property
    def label(self) -> str:
        """What this point is, such as "auto"; empty for a point of the sweep."""


def draw_trade_off(
    rows: Sequence[TradeOffPoint], path: str | Path, *, title: str = "", bound: float | None = None
) -> None:
    """Draw the trade-off and write PNG or SVG, whichever the name ends in.

    Parameters
    ----------
    rows : sequence
        Points without a label are joined in the order of their ``prior_weight``; the others are marked and named.
    path : str or Path
        Ends in ``.png`` or ``.svg``.
    title : str, optional
        Printed above.
    bound : float, optional
        No placement has a smaller maximum cosine: drawn as a vertical line.
    """
    if not rows:
        raise InputError("A trade-off needs one placement or more to draw; got none.")
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing the trade-off")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw_sweep(axes, sorted((row for row in rows if not row.label), key=lambda row: row.prior_weight))
    labelled = [row for row in rows if row.label]
    for index, row in enumerate(labelled):
        marker, colour = MARKS[index % len(MARKS)]
        label = row.label.replace("$", r"\$")
        axes.scatter(row.max_cosine, row.ranked, s=70, marker=marker, color=colour, label=label, zorder=4)
    if bound is not None:
        axes.axvline(bound, color="black", linestyle="--", linewidth=1, label=f"lower bound {bound:.4f}")
    axes.set(xlabel="maximum cosine (smaller is better)", ylabel="triplets ranked as in the prior (larger is better)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_title(title.replace("$", r"\$"))
    axes.grid(alpha=0.3)
    axes.margins(0.08)
    axes.legend()
    with replacing(path) as beside:
        figure.savefig(beside, format=form)


def _draw_sweep(axes: Any, sweep: Sequence[TradeOffPoint]) -> None:
    """Join the points of the sweep, each with its weight beside it where there is room."""
    if not sweep:
        return
    x, y = [row.max_cosine for row in sweep], [row.ranked for row in sweep]
    axes.plot(x, y, "-o", color=SWEEP, markersize=4, label="by weight of the prior")
    wide, high = max(x) - min(x) or 1.0, max(y) - min(y) or 1.0
    last: tuple[float, float] | None = None
    for row in sweep:
        here = row.max_cosine / wide, row.ranked / high
        if last is None or (here[0] - last[0]) ** 2 + (here[1] - last[1]) ** 2 > 0.08**2:
            beside = {"xytext": (5, -10), "textcoords": "offset points"}
            axes.annotate(f"{row.prior_weight:g}", (row.max_cosine, row.ranked), color=SWEEP, fontsize=8, **beside)
            last = here
