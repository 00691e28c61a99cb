"""What all still pictures have in common: how they are written, and their colors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError, require
from hyperproto._core.files import replacing

FORMATS = {".png": "png", ".svg": "svg"}
# colors that most kinds of color blindness can tell from each other (Okabe and Ito), without black
CLASS_COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
REPEATABLE = {"svg.hashsalt": "hyperproto", "svg.fonttype": "none"}  # the same bytes every time; names stay text


def picture_format(path: str | Path) -> str:
    """Return the format that the name of a picture ends in.

    >>> picture_format("map.SVG")
    'svg'
    """
    form = FORMATS.get(Path(path).suffix.lower())
    if form is None:
        raise InputError("A picture", 'be named ".png" or ".svg"', f'"{Path(path).name}"')
    return form


@contextmanager
def new_picture(path: str | Path, width: float, height: float) -> Iterator[Any]:
    """Give an empty matplotlib figure of a size in inches; write it to ``path`` once the block has drawn on it."""
    form = picture_format(path)
    require("matplotlib", extra="plots", purpose="Drawing a picture")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    with mpl.rc_context(REPEATABLE), replacing(path) as temporary:  # type: ignore[arg-type]
        figure.savefig(temporary, format=form, metadata={"Date": None} if form == "svg" else None)
