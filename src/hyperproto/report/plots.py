"""Two plots of placements: separation over dimensions, and what a prior costs in separation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperproto.prototypes import Prototypes
from hyperproto.prototypes.explore import Comparison
from hyperproto.report.pictures import new_picture

LINES = (
    ("random", "random", "#999999", ":"),
    ("paper", "the paper's method (Eq. 5)", "#E69F00", "-"),
    ("ours", "hyperproto", "#0072B2", "-"),
    ("bound", "lower bound", "#000000", "--"),
)
# of separation only, assignment and auto
MARKS = (("D", "#D55E00"), ("s", "#009E73"), ("^", "#CC79A7"))
SWEEP = "#0072B2"


def draw_separation(rows: Sequence[Comparison], path: str | Path, *, num_classes: int) -> None:
    """Draw the maximum cosine over dimensions and write PNG or SVG, whichever the name ends in.

    Parameters
    ----------
    rows : sequence
        The table of :func:`~hyperproto.prototypes.explore.compare_dims`.
    path : str or Path
        Ends in ``.png`` or ``.svg``.
    num_classes : int
        For the title.
    """
    with new_picture(path, 7, 4.5) as figure:
        axes = figure.add_subplot()
        dims = [row.dim for row in rows]
        for name, label, color, style in LINES:
            axes.plot(dims, [getattr(row, name) for row in rows], style, color=color, label=label, marker=".")
        axes.set(xscale="log", xlabel="dimensions D", ylabel="maximum cosine (smaller is better)")
        axes.set_xticks(dims, [str(dim) for dim in dims], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_title(f"{num_classes} prototypes")
        axes.grid(alpha=0.3)
        axes.legend()


def draw_trade_off(rows: Sequence[tuple[str, Prototypes]], path: str | Path) -> None:
    """Draw triplets ranked as the prior ranks them against the maximum cosine, and write PNG or SVG.

    Parameters
    ----------
    rows : sequence of pairs (label, placement with a prior)
        Placements without a label are joined in the order of their weights; the others are marked and named.
    path : str or Path
        Ends in ``.png`` or ``.svg``.
    """
    placed = rows[0][1]
    bound = placed.certificate.bound  # no placement has a smaller maximum cosine
    with new_picture(path, 7.5, 5) as figure:
        axes = figure.add_subplot()
        _draw_sweep(axes, sorted(_measures(placement) for label, placement in rows if not label))
        for (label, placement), (marker, color) in zip((row for row in rows if row[0]), MARKS, strict=False):
            style = {"s": 70, "marker": marker, "color": color, "zorder": 4}
            axes.scatter(*_measures(placement)[1:], label=label, **style)
        axes.axvline(bound, color="black", linestyle="--", linewidth=1, label=f"lower bound {bound:.4f}")
        axes.set_xlabel("maximum cosine (smaller is better)")
        axes.set_ylabel("triplets ranked as in the prior (larger is better)")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_title(f"{placed.num_classes} prototypes in {placed.dim} dimensions")
        axes.grid(alpha=0.3)
        axes.margins(0.08)
        axes.legend()


def _measures(placed: Prototypes) -> tuple[float, float, float]:
    """Return the weight of the prior, the maximum cosine, and the share of triplets ranked right by more than .01."""
    agreement = placed.certificate.prior_agreement
    assert agreement is not None
    return agreement.weight, placed.certificate.max_cosine, agreement.ranked_by_margin


def _draw_sweep(axes: Any, sweep: Sequence[tuple[float, float, float]]) -> None:
    """Join the points of the sweep, each with its weight next to it where there is room."""
    if not sweep:
        return
    _, x, y = zip(*sweep, strict=True)
    axes.plot(x, y, "-o", color=SWEEP, markersize=4, label="by weight of the prior")
    wide, high = max(x) - min(x) or 1.0, max(y) - min(y) or 1.0
    last: tuple[float, float] | None = None
    for weight, max_cosine, ranked in sweep:
        here = max_cosine / wide, ranked / high
        if last is None or (here[0] - last[0]) ** 2 + (here[1] - last[1]) ** 2 > 0.08**2:
            offset = {"xytext": (5, -10), "textcoords": "offset points"}
            axes.annotate(f"{weight:g}", (max_cosine, ranked), color=SWEEP, fontsize=8, **offset)
            last = here
