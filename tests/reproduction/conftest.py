"""Every data set in small, word vectors of the authors' layout, and folders for
records and runs.
"""

import numpy as np
import pytest

from reproduction.placements import Places
from tests.data import layouts


def write_authors(root):
    """Write prototypes of three classes in three dimensions, named as the authors name theirs."""
    rng = np.random.default_rng(0)
    for kind, names in (
        ("sgd", ["prototypes"]),
        ("sem", ["cifar100", "imagenet200"]),
        ("sgd-sem", ["cifar100"]),
    ):
        (root / kind).mkdir(parents=True)
        for name in names:
            np.save(root / kind / f"{name}-3d-3c.npy", rng.normal(size=(3, 3)))
    return root


@pytest.fixture(scope="session")
def small_places(tmp_path_factory):
    """All data, read by every test; records and placements are shared, as they
    are between tables.
    """
    root = tmp_path_factory.mktemp("reproduce")
    data = root / "data"
    for write in (
        layouts.write_cifar100_binary,
        layouts.write_tiny_imagenet,
        layouts.write_cub200,
        layouts.write_omniart,
        layouts.write_mnist,
    ):
        write(data)
    return Places(data, None, write_authors(root / "authors"), root / "results", root / "runs")
