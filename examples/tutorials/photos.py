"""Draw a small folder of pictures, sorted by class, to train on: circles, squares and triangles of
any color.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SHAPES = {
    "circle": lambda draw, x, y, r, color: draw.ellipse([x - r, y - r, x + r, y + r], fill=color),
    "square": lambda draw, x, y, r, color: draw.rectangle([x - r, y - r, x + r, y + r], fill=color),
    "triangle": lambda draw, x, y, r, color: draw.polygon(
        [(x - r, y + r), (x + r, y + r), (x, y - r)], fill=color
    ),
}

rng = np.random.default_rng(0)
for name, shape in SHAPES.items():
    folder = Path("shapes") / name
    folder.mkdir(parents=True)
    for i in range(40):
        image = Image.new("RGB", (64, 64), tuple(rng.integers(150, 256, 3)))
        x, y, r = rng.uniform(24, 40), rng.uniform(24, 40), rng.uniform(9, 18)
        shape(ImageDraw.Draw(image), x, y, r, tuple(rng.integers(0, 130, 3)))
        image.save(folder / f"{i}.png")
