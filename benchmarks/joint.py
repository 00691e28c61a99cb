"""A class and a number together: the default of ``hyperproto train`` beside two heads of the same
network.

Two heads (``--space conventional``) have their own defaults, and then squared error as in the
paper, at the best of three weights of the number and three rates, for the class and for the number,
chosen on the very rows that are reported: no search can do better. The sphere has its defaults
alone. A weight and rate at which a seed diverges is left out. Tables from ``--data`` are split by
the seed as ``hyperproto train`` does, ten times, diamonds after drawing 10,000 of their rows;
paintings have their publisher's test part and the features of ``python -m reproduction --scale
head``, from ``runs/features`` or computed there; of rotated MNIST 2,000 images are trained on,
once. The constant answer is the most frequent class and the median.
"""

import contextlib
import os
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from hyperproto._core.errors import NonFiniteLossError
from hyperproto.data import describe_data
from hyperproto.defaults import HEAD
from hyperproto.models import create_backbone
from hyperproto.spec import DataSpec, RunSpec, SpaceSpec, TrainSettings
from hyperproto.training import fit, train
from hyperproto.training.fit import resolve_settings
from hyperproto.training.outputs import baseline_metrics
from hyperproto.training.space import build_space
from reproduction.cell import at_scale, paper_cell
from reproduction.placements import Places
from reproduction.run_cell import read_cell_data

TABLES = {
    "mpg": ("origin", "mpg"),
    "penguins": ("species", "body_mass_g"),
    "diamonds": ("cut", "price"),
}
SEEDS = {"mpg": 10, "penguins": 10, "diamonds": 10, "paintings": 3, "rotated-mnist": 1}
ROWS, IMAGES = 10_000, 2_000
HEADS = SpaceSpec(kind="conventional")
SQUARED = replace(
    HEADS, loss="squared_cosine"
)  # as in the paper, whose loss comes with squared errors of numbers
SEARCHED = [(weight, rate) for weight in (0.1, 0.5, 0.9) for rate in (0.01, 0.03, 0.1)]
Measures = dict[str, float]


def measure() -> tuple[str, list[dict[str, object]]]:
    folder = os.environ.get("HYPERPROTO_DATA")
    if not folder:
        return "A class and a number", [
            {"skipped": "set HYPERPROTO_DATA to the folder that holds the data"}
        ]
    rows = []
    for data, seeds in SEEDS.items():
        asked: dict[str, tuple[SpaceSpec, float | None]] = {
            "by default": (SpaceSpec(), None),
            "two heads": (HEADS, None),
        }
        for weight, rate in SEARCHED:
            asked[f"two heads, weight {weight}, rate {rate}"] = (
                replace(SQUARED, task_weight=weight),
                rate,
            )
        tried, constant = {}, []
        for name, (space, rate) in asked.items():
            with contextlib.suppress(NonFiniteLossError):
                pairs = [run(data, Path(folder), space, rate, seed) for seed in range(seeds)]
                tried[name], constant = [found for found, _ in pairs], [best for _, best in pairs]
                print(data, name, told(tried[name]), flush=True)
        shown = [name for name in tried if name not in list(asked)[2:]]
        searched = {name: means(found) for name, found in tried.items() if name not in shown}
        best = {
            "the class": max(searched, key=lambda name: searched[name][0]),
            "the number": min(searched, key=lambda name: searched[name][1]),
        }
        rows += [{"data": data, "space": name, **told(tried[name])} for name in shown]
        rows += [
            {"data": data, "space": f"{name}: best for {task}", **told(tried[name])}
            for task, name in best.items()
        ]
        rows.append({"data": data, "space": "constant answer", **told(constant)})
    return "A class and a number together", rows


def means(runs: list[Measures]) -> tuple[float, float]:
    """Return the mean accuracy in percent and the mean of mean errors."""
    values = [statistics.mean(measures[name] for measures in runs) for name in names(runs[0])]
    return 100 * values[0], values[1]


def names(measures: Measures) -> list[str]:
    return sorted(measures, key=lambda name: not name.endswith("accuracy"))


def told(runs: list[Measures]) -> dict[str, object]:
    """Return means, and their standard errors over the seeds."""
    accuracy, error = means(runs)
    spread = [0.0, 0.0]
    if len(runs) > 1:
        spread = [
            statistics.stdev(found[name] for found in runs) / len(runs) ** 0.5
            for name in names(runs[0])
        ]
    return {
        "class": names(runs[0])[0],
        "seeds": len(runs),
        "accuracy, %": f"{accuracy:.1f} ± {100 * spread[0]:.1f}"
        if len(runs) > 1
        else f"{accuracy:.1f}",
        "mean error": f"{error:.4g} ± {spread[1]:.2g}" if len(runs) > 1 else f"{error:.4g}",
    }


def run(
    data: str, folder: Path, space: SpaceSpec, rate: float | None, seed: int
) -> tuple[Measures, Measures]:
    """Return what a space measures on a data set's test part, and the constant answer."""
    settings = TrainSettings(seed=seed, lr=rate)
    if data == "paintings":
        return paintings(folder, space, settings)
    if data == "rotated-mnist":
        described = DataSpec(
            reader=data, path=str(folder / "mnist"), options={"seed": 0}, train_examples=IMAGES
        )
        return trained(RunSpec(data=described, space=space, train=settings))
    label, number = TABLES[data]
    rows = pd.read_csv(folder / "tables" / f"{data}.csv").dropna(subset=[label, number])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{data}.csv"
        rows.sample(min(len(rows), ROWS), random_state=seed).to_csv(path, index=False)
        described = describe_data(path, classes=[label], ranges=[number])
        return trained(RunSpec(data=described, space=space, train=settings))


def trained(spec: RunSpec) -> tuple[Measures, Measures]:
    done = train(spec, progress=False)
    return done.metrics, done.baseline


def paintings(folder: Path, spec: SpaceSpec, settings: TrainSettings) -> tuple[Measures, Measures]:
    cell = at_scale(paper_cell(reader="omniart", kind="conventional"), "head")
    source = read_cell_data(cell, Places(data=folder))
    assert source.test is not None
    assert isinstance(source.train.inputs, Tensor)
    space = build_space(spec, source.targets, source.train, seed=settings.seed, frozen=True)
    torch.manual_seed(settings.seed)
    network = create_backbone("efficientnet-lite0", out_dim=space.dim, hidden=HEAD).output
    chosen = resolve_settings(settings, space, len(source.train), "images")
    options = {
        name: getattr(chosen, name)
        for name in ("epochs", "batch_size", "lr", "reduction", "weight_decay")
    }
    parts = [(split.inputs, split.targets) for split in (source.train, source.test)]
    done = fit(
        network, space, parts[0], valid=parts[1], seed=settings.seed, progress=False, **options
    )
    return done.metrics, baseline_metrics(space, source.test.targets)
