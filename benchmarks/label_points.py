"""Labels in fewer dimensions than there are labels: how often a set is not read off its own point.

Every output is exactly the normalized sum of the prototypes of its set, so that whatever is wrong
is the prototypes' fault. With more dimensions than labels nothing is.
"""

import numpy as np
import torch

import hyperproto as hp

SIZES, SETS = (1, 2, 3), 1000


def measure() -> tuple[str, list[dict[str, object]]]:
    rows: list[dict[str, object]] = []
    for count, dim in ((62, 63), (62, 40), (62, 32), (62, 20), (20, 12), (20, 8), (200, 100)):
        space = hp.Space(dim, hp.Labels(count, loss="paper"))
        shares = {f"sets of {size}": wrong(space, count, size) for size in SIZES}
        rows.append({"labels": count, "dimensions": dim, **shares})
    return f"Sets that are not read off their own points, in % of {SETS}", rows


def wrong(space: hp.Space, count: int, size: int) -> str:
    """Return the share of sets of a size that are not the nearest to their own point, in %."""
    generator = np.random.default_rng(size)
    masks = np.zeros((SETS, count), dtype=np.float64)
    for mask in masks:
        mask[generator.choice(count, size, replace=False)] = 1
    sets = torch.from_numpy(masks)
    points = space.named_heads()["target"].targets(sets)
    missed = (space.predict(points) != sets).any(dim=1)  # type: ignore[operator, union-attr]
    return f"{100 * float(missed.double().mean()):.1f}"
