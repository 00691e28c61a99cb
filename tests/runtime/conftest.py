"""A small exported model."""

import warnings

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.export import export_model
from hyperproto.models import create_backbone


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("exported") / "model"
    space = hp.Space(4, kind=hp.Classes(["cat", "dog", "bird"]), size=hp.Range(0, 9))
    sets = {"kind": "conformal_sets", "threshold": 0.7, "coverage": 0.9}
    fitted = {"model": {"scale": 3.0}, "outlier": "strength", "sets": sets, "rejection": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        export_model(
            folder,
            create_backbone("mlp", out_dim=4, in_features=3),
            space,
            np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32),
            columns=("a", "b", "c"),
            calibrations={"kind": fitted},
        )
    return folder
