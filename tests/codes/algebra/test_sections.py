"""The table that a search wrote: of every parent some sections are built again and measured."""

import numpy as np
import pytest

from hyperproto.codes.algebra.sections import parents, section_entries

ENTRIES = section_entries()
PARENTS = sorted({entry.name.split(" at ")[0] for entry in ENTRIES})


@pytest.mark.parametrize("parent", PARENTS)
def test_sections_of_a_parent_are_what_the_table_says(parent):
    mine = [entry for entry in ENTRIES if entry.name.startswith(parent + " at ")]
    rng = np.random.default_rng(0)
    for i in rng.choice(len(mine), min(4, len(mine)), replace=False):
        entry = mine[i]
        points = entry.build()
        assert points.shape == (entry.num_points, entry.dim)
        assert np.abs(np.linalg.norm(points, axis=1) - 1).max() < 1e-15
        sample = rng.choice(len(points), min(len(points), 1000), replace=False)
        cosines = points[sample] @ points.T
        cosines[np.arange(len(sample)), sample] = -1
        assert cosines.max() <= entry.max_cosine + 1e-12
        if len(points) <= 1000:
            assert cosines.max() == pytest.approx(entry.max_cosine, abs=1e-12)


@pytest.mark.parametrize(
    ("dim", "num_points", "cosine"),
    [
        (62, 1116, 1 / 10),
        (61, 660, 1 / 11),
        (60, 414, 1 / 12),
        (50, 204, 1 / 18),
        (14, 70, 1 / 6),
        (13, 42, 1 / 8),
    ],
)
def test_known_derived_codes_are_reached(dim, num_points, cosine):
    fits = [e.max_cosine for e in ENTRIES if e.num_points >= num_points and e.dim <= dim]
    assert min(fits) <= cosine + 1e-12


def test_every_parent_is_built_from_an_entry():
    names = {name.removeprefix("section of ") for name in PARENTS}
    assert names <= set(parents())
