"""A class and a number together: the default of ``hyperproto train`` beside two heads of the same network.

Two heads (``--space conventional``) have their own defaults, then each of three weights of the number. Tables from
``--data`` are split by the seed as ``hyperproto train`` does, diamonds after drawing 10,000 of their rows; paintings
have their publisher's test part and the features of ``hyperproto reproduce --scale head``, from ``runs/features`` or
computed there. One seed; the constant answer is the most frequent class and the median.
"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from hyperproto.data import describe_data
from hyperproto.defaults import HEAD
from hyperproto.models import create_backbone
from hyperproto.reproduction.cell import at_scale, paper_cell
from hyperproto.reproduction.placements import Places
from hyperproto.reproduction.run_cell import read_cell_data
from hyperproto.spec import RunSpec, SpaceSpec, TrainSettings
from hyperproto.training import fit, train
from hyperproto.training.build import build_space
from hyperproto.training.fit import resolve_settings
from hyperproto.training.outputs import constant_measures

TABLES = {"mpg": ("origin", "mpg"), "penguins": ("species", "body_mass_g"), "diamonds": ("cut", "price")}
ROWS, SEED = 10_000, 0
HEADS = SpaceSpec(kind="conventional")
SPACES = {"by default": SpaceSpec(), "two heads": HEADS}
SPACES |= {f"two heads, weight {weight}": replace(HEADS, task_weight=weight) for weight in (0.1, 0.5, 0.9)}
Measures = dict[str, float]


def measure() -> tuple[str, list[dict[str, object]]]:
    folder = os.environ.get("HYPERPROTO_DATA")
    if not folder:
        return "A class and a number", [{"skipped": "set HYPERPROTO_DATA to the folder that holds the data"}]
    rows = []
    for data in (*TABLES, "paintings"):
        for name, space in SPACES.items():
            measures, constant = paintings(Path(folder), space) if data == "paintings" else table(data, folder, space)
            rows.append({"data": data, "space": name, **told(measures)})
            print(rows[-1], flush=True)
        rows.append({"data": data, "space": "constant answer", **told(constant)})
    return "A class and a number together, one seed", rows


def told(measures: Measures) -> dict[str, object]:
    accuracy, error = sorted(measures.items(), key=lambda item: not item[0].endswith("accuracy"))
    return {"class": accuracy[0], "accuracy, %": f"{100 * accuracy[1]:.1f}", "mean error": f"{error[1]:.4g}"}


def table(name: str, folder: str, space: SpaceSpec) -> tuple[Measures, Measures]:
    label, number = TABLES[name]
    rows = pd.read_csv(Path(folder) / "tables" / f"{name}.csv").dropna(subset=[label, number])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{name}.csv"
        rows.sample(min(len(rows), ROWS), random_state=SEED).to_csv(path, index=False)
        data = describe_data(path, classes=[label], ranges=[number])
        run = train(RunSpec(data=data, space=space, train=TrainSettings(seed=SEED)), progress=False)
    return run.metrics, run.constant


def paintings(folder: Path, spec: SpaceSpec) -> tuple[Measures, Measures]:
    cell = at_scale(paper_cell(reader="omniart", kind="conventional"), "head")
    source = read_cell_data(cell, Places(data=folder))
    assert source.test is not None
    assert isinstance(source.train.inputs, Tensor)
    space = build_space(spec, source, seed=SEED)
    torch.manual_seed(SEED)
    network = create_backbone("efficientnet-lite0", out_dim=space.dim, hidden=HEAD).output
    chosen = resolve_settings(TrainSettings(seed=SEED), space, len(source.train), "images")
    options = {name: getattr(chosen, name) for name in ("epochs", "batch_size", "lr", "reduction", "weight_decay")}
    parts = [(split.inputs, split.targets) for split in (source.train, source.test)]
    run = fit(network, space, parts[0], valid=parts[1], seed=SEED, progress=False, **options)
    return run.metrics, constant_measures(space, source.test.targets)
