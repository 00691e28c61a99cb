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
from hyperproto._core.files import Plain, replacing
from hyperproto._version import __version__
from hyperproto.codes.certificate import Certificate
from hyperproto.prototypes import Prototypes

HIDDEN = {"visible": False}
# layout of a plot in three dimensions: no axes and no margins
SCENE: Plain = {
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
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  body {{ margin: 0; font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; }}
</style>
"""


def class_colors(count: int) -> list[str]:
    """Return a color for each class; they repeat."""
    return [CLASS_COLORS[index % len(CLASS_COLORS)] for index in range(count)]


def write_page(
    path: str | Path, template: str, title: str, data: object, parts: Mapping[str, str]
) -> None:
    """Fill a template's ``@PLACEHOLDERS@`` in one pass, so that a name which looks like one stays a
    name.

    ``data`` becomes JSON for the page's script; ``parts`` are HTML.
    """
    escaped = html.escape(title)
    filled = {
        "HEAD": HEAD.format(title=escaped),
        "TITLE": escaped,
        "DATA": json.dumps(data).replace("<", "\\u003c"),
        "VERSION": __version__,
        **parts,
    }
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    page = re.sub(r"@([A-Z]+)@", lambda match: filled[match[1]], text)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def plot_html(figure: Plain, *, name: str, script: bool = True, **config: bool) -> str:
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


def scatter(points: NDArray[np.float64], mode: str, **look: object) -> Plain:
    """Return points (n, 3) for plotly, rounded for the page; NaN becomes a gap."""
    columns = points.round(4).T.tolist()
    axes = {
        axis: [None if number != number else number for number in column]
        for axis, column in zip("xyz", columns, strict=True)
    }
    return {"type": "scatter3d", "mode": mode, **look, **axes}


def ball(*, across: int, down: int) -> NDArray[np.float64]:
    """Return a grid of points on the unit sphere, shape (3, across, down)."""
    around, below = np.mgrid[0 : 2 * np.pi : across * 1j, 0 : np.pi : down * 1j]
    flat = np.sin(below)
    return np.stack([np.cos(around) * flat, np.sin(around) * flat, np.cos(below)])


def sphere_grid() -> Plain:
    """Return meridians and parallels of the unit sphere, for plotly, as one line with gaps."""
    parallels = ball(across=73, down=7)[:, :, 1:-1].transpose(2, 1, 0)
    meridians = ball(across=13, down=37)[:, :-1].transpose(1, 2, 0)
    lines = [np.vstack([line, np.full(3, np.nan)]) for line in (*parallels, *meridians)]
    line = {"color": "#b8c0c8", "width": 1}
    return scatter(np.concatenate(lines), "lines", line=line, hoverinfo="skip", showlegend=False)


def sphere_surface() -> Plain:
    """Return a translucent ball for plotly, just inside the unit sphere: what lies behind it is
    pale.

    Plotly draws what is translucent last, so it covers points, lines and text on the far side and
    none in front.
    """
    grid = 0.985 * ball(across=49, down=25)
    return {
        "type": "surface",
        **{axis: values.round(3).tolist() for axis, values in zip("xyz", grid, strict=True)},
        "surfacecolor": np.zeros(grid.shape[1:]).tolist(),
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
    (count, height, width), channels = images.shape[:3], images.shape[3:]
    rows = -(-count // columns)
    cells = np.zeros((rows * columns, height, width, *channels), dtype=np.uint8)
    cells[:count] = images
    sheet = cells.reshape(rows, columns, height, width, *channels).swapaxes(1, 2)
    image = pillow.fromarray(sheet.reshape(rows * height, columns * width, *channels).squeeze())
    buffer = io.BytesIO()
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
    same = {"svg.hashsalt": "hyperproto", "svg.fonttype": "none"}
    with mpl.rc_context(same), replacing(path) as temporary:  # type: ignore[arg-type]
        figure.savefig(temporary, format=form, metadata={"Date": None} if form == "svg" else None)
