"""How far known codes are from the bound, over K and D: a table, and the plot in
docs/images/gaps.png.
"""

from pathlib import Path

import numpy as np

from hyperproto.codes.best import known_max_cosine
from hyperproto.codes.certificate import separation_bound

SIZES = [round(10 ** (e / 8)) for e in range(8, 49)]  # 10 ... 1,000,000
DIMS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512, 1024)
PLOT = Path(__file__).parents[1] / "docs" / "images" / "gaps.png"


def measure() -> tuple[str, list[dict[str, object]]]:
    gaps = np.array(
        [[known_max_cosine(k, d) - separation_bound(k, d) for k in SIZES] for d in DIMS]
    )
    draw(gaps)
    shown = [SIZES.index(k) for k in (10, 100, 1000, 10_000, 100_000, 1_000_000)]
    rows = [
        {"D": d} | {f"K = {SIZES[i]}": round(float(row[i]), 4) for i in shown}
        for d, row in zip(DIMS, gaps, strict=True)
    ]
    return "Maximum cosine of the best known code minus the lower bound, without any search", rows


def draw(gaps: np.ndarray) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(gaps, aspect="auto", origin="lower", cmap="viridis", vmin=0, vmax=0.3)
    axes.set_xticks(range(0, len(SIZES), 8), [f"{SIZES[i]:,}" for i in range(0, len(SIZES), 8)])
    axes.set_yticks(range(len(DIMS)), [str(d) for d in DIMS])
    axes.set(
        xlabel="prototypes K",
        ylabel="dimensions D",
        title="Best known code minus lower bound, without any search",
    )
    figure.colorbar(image, label="gap in maximum cosine")
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT)
