"""What all pages and still pictures have in common: pages need no network,
pictures are PNG or SVG.
"""

import base64
import html
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import require
from hyperproto._core.files import replacing
from hyperproto._version import __version__
from hyperproto.codes.certificate import Certificate
from hyperproto.prototypes import Prototypes

HIDDEN = {"visible": False}
# layout of a plot in three dimensions: no axes and no margins
SCENE: dict[str, Any] = {
    "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
    "scene": {
        "xaxis": HIDDEN,
        "yaxis": HIDDEN,
        "zaxis": HIDDEN,
        "aspectmode": "data",
        "camera": {"eye": {"x": 1.1, "y": 0.85, "z": 0.5}},
    },
}
# colors that most kinds of color blindness can tell from each other (Okabe and Ito), without black
CLASS_COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")


def write_page(
    path: str | Path, template: str, title: str, data: Any, parts: Mapping[str, str]
) -> None:
    """Fill a template's ``@PLACEHOLDERS@`` in one pass, so that a name which looks like one stays a
    name.

    ``data`` becomes JSON for the page's script; ``parts`` are HTML.
    """
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>"
        "body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; }"
        "</style>\n"
    )
    script = json.dumps(data).replace("<", "\\u003c")
    filled = {
        "HEAD": head,
        "TITLE": html.escape(title),
        "DATA": script,
        "VERSION": __version__,
        **parts,
    }
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    page = re.sub(r"@([A-Z]+)@", lambda match: filled[match[1]], text)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def plot_html(figure: dict[str, Any], *, name: str, script: bool = True, **config: Any) -> str:
    """Return a plotly figure as HTML in an element called ``name``; the first of a page carries
    plotly's script.
    """
    writer = require("plotly.io", extra="plots", purpose="Writing the interactive page")
    settings = {"displaylogo": False, "responsive": True, **config}
    return writer.to_html(
        figure, include_plotlyjs=script, full_html=False, div_id=name, config=settings
    )


def table_html(rows: Iterable[Iterable[str]], *headings: str) -> str:
    """Return the inside of a table of plain text, the first cell of a row as its heading."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in headings)
    body = ""
    for first, *others in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in others)
        body += f"<tr><th>{html.escape(first)}</th>{cells}</tr>"
    return (f"<thead><tr>{head}</tr></thead>" if head else "") + f"<tbody>{body}</tbody>"


def scene_text(name: str) -> str:
    """Return a name as text in three dimensions, where plotly reads tags but no ``&lt;``."""
    return name.replace("<", "<\u200b")


def coordinates(points: NDArray[np.float64]) -> dict[str, list[float | None]]:
    """Return the columns of points (n, 3) under their axes, rounded for the page; NaN becomes a
    gap.
    """
    return {
        a: [None if np.isnan(v) else round(float(v), 4) for v in points[:, i]]
        for i, a in enumerate("xyz")
    }


def sphere_grid() -> dict[str, Any]:
    """Return meridians and parallels of the unit sphere, for plotly, as one line with gaps."""
    turn = np.linspace(0, 2 * np.pi, 73)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    gap = np.full((1, 3), np.nan)
    rings = []
    for latitude in np.deg2rad(np.arange(-60, 61, 30)):
        rings += [
            np.column_stack([circle * np.cos(latitude), np.full(len(turn), np.sin(latitude))]),
            gap,
        ]
    for longitude in np.deg2rad(np.arange(0, 180, 30)):
        flat = circle[:, :1] * [np.cos(longitude), np.sin(longitude)]
        rings += [np.column_stack([flat, circle[:, 1]]), gap]
    look = {"type": "scatter3d", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    return {**look, "line": {"color": "#b8c0c8", "width": 1}, **coordinates(np.concatenate(rings))}


def sphere_surface() -> dict[str, Any]:
    """Return a translucent ball for plotly, just inside the unit sphere: what lies behind it is
    pale.

    Plotly draws what is translucent last, so it covers points, lines and text on the far side and
    none in front.
    """
    around, down = np.mgrid[0 : 2 * np.pi : 49j, 0 : np.pi : 25j]
    ball = 0.985 * np.stack(
        [np.cos(around) * np.sin(down), np.sin(around) * np.sin(down), np.cos(down)]
    )
    return {
        "type": "surface",
        **{axis: values.round(3).tolist() for axis, values in zip("xyz", ball, strict=True)},
        "surfacecolor": np.zeros(around.shape).tolist(),
        "colorscale": [[0, "#f3f5f7"], [1, "#f3f5f7"]],
        "showscale": False,
        "showlegend": False,
        "opacity": 0.75,
        "hoverinfo": "skip",
        "contours": {axis: {"highlight": False} for axis in "xyz"},
        "lighting": {"ambient": 0.9, "diffuse": 0.15, "specular": 0, "fresnel": 0},
    }


def prototype_rows(prototypes: Prototypes) -> dict[str, str]:
    """Return how many prototypes there are, and what their certificate says, to be listed."""
    counts = {"classes": str(prototypes.num_classes), "dimensions": str(prototypes.dim)}
    return counts | certificate_rows(prototypes.certificate)


def certificate_rows(certificate: Certificate) -> dict[str, str]:
    """Return what a certificate says, to be listed: names of facts and their values."""
    rows = {
        "maximum cosine": f"{certificate.max_cosine:.9f}",
        "lower bound": f"{certificate.bound:.9f}",
        "gap": f"{certificate.gap:.3g}",
        "optimal": f"{'proved' if certificate.proved else 'not proved'}: {certificate.proof}",
        "measured": certificate.measured,
        "method": certificate.method,
        "seed": "none needed" if certificate.seed is None else str(certificate.seed),
    }
    if (agreement := certificate.prior_agreement) is not None:
        rows |= {
            "prior": f"{agreement.prior}, weight {agreement.weight:.3g}",
            "triplets ordered as in the prior": f"{100 * agreement.ranked_by_margin:.1f} %"
            ", by more than 0.01",
            "rank correlation": f"Spearman {agreement.spearman:.3f}",
            "ranking loss (Eq. 6)": f"{agreement.loss:.5f} over {agreement.measured}",
        }
    if certificate.note:
        rows["note"] = certificate.note
    return rows


def image_sheet(images: NDArray[np.uint8], columns: int) -> str:
    """Return images, shape (n, height, width) or with channels last, side by side as one PNG in a
    data address.
    """
    pillow = require("PIL.Image", extra="images", purpose="Showing images in a report")
    count, height, width = images.shape[:3]
    rows = -(-count // columns)
    cells = np.zeros((rows * columns, *images.shape[1:]), dtype=np.uint8)
    cells[:count] = images
    sheet = cells.reshape(rows, columns, *images.shape[1:]).swapaxes(1, 2)
    buffer = io.BytesIO()
    image = pillow.fromarray(
        sheet.reshape(rows * height, columns * width, *images.shape[3:]).squeeze()
    )
    image.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


@contextmanager
def new_picture(path: str | Path, width: float, height: float) -> Iterator[Any]:
    """Give an empty matplotlib figure of a size in inches; write it once the block has drawn on it.

    The name of ``path`` ends in the format, ".png", ".svg" or another one that matplotlib knows.
    """
    form = Path(path).suffix.lower().removeprefix(".")
    require("matplotlib", extra="plots", purpose="Drawing a picture")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    # the same bytes every time; names stay text
    settings: Any = {"svg.hashsalt": "hyperproto", "svg.fonttype": "none"}
    with mpl.rc_context(settings), replacing(path) as temporary:
        figure.savefig(temporary, format=form, metadata={"Date": None} if form == "svg" else None)
