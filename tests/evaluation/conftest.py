"""Tiny runs of each kind, trained once for all tests that only read them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.data import ImagePreprocessing, Source, read_image_folder, read_table, training_data
from hyperproto.models import DigitNet, create_backbone
from hyperproto.training import DataSpec, Run, RunSpec
from hyperproto.training.folder import RunFolder
from tests.data import layouts

SIZE = 8
KINDS = ("dark", "gray", "light")


@dataclass(frozen=True)
class Trained:
    """A run, its folder, and what it was trained on."""

    run: Run
    folder: Path
    data: Path
    source: Source
    valid: object


def write_images(folder: Path, kinds=KINDS, *, n: int = 5, seed: int = 0) -> Path:
    """Write n images for each class, the brightness saying which."""
    for kind in kinds:
        labels = np.full(n, KINDS.index(kind) if kind in KINDS else 0)
        for i, pixels in enumerate(layouts.noise(labels, 3, SIZE, seed=seed)):
            layouts.save_image(folder / kind / f"{i}.png", pixels)
    return folder


def write_numbers(path: Path, *, n: int = 40, seed: int = 0, beyond: float | None = None) -> Path:
    """Write a table: two columns to learn from, a class and a number to predict."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)).round(3)
    lines = [
        f"{x},{y},{'right' if x > 0 else 'left'},{10 * np.tanh(y):.3f}"
        for x, y in zip(a, b, strict=True)
    ]
    if beyond is not None:
        lines[-1] = lines[-1].rpartition(",")[0] + f",{beyond}"
    path.write_text("\n".join(["a,b,side,height", *lines]) + "\n")
    return path


@pytest.fixture(scope="session")
def image_run(tmp_path_factory) -> Trained:
    root = tmp_path_factory.mktemp("images")
    write_images(root / "data" / "train", seed=0)
    write_images(root / "data" / "test", seed=1)
    source = read_image_folder(root / "data")
    preprocessing = ImagePreprocessing(SIZE)
    torch.manual_seed(0)
    space = hp.Space(3, source.targets)
    valid = training_data(source.test, preprocessing)
    run = hp.fit(
        DigitNet(3, size=SIZE, width=4, channels=3),
        space,
        training_data(source.train, preprocessing),
        valid=valid,
        epochs=4,
        batch_size=3,  # so validation takes 12 at once: 15 examples are a batch and an uneven one
        lr=0.05,  # too much, so that there are mistakes to look at
        folder=root / "run",
        preprocessing=preprocessing,
    )
    return Trained(run, root / "run", root / "data", source, valid)


@pytest.fixture(scope="session")
def table_run(tmp_path_factory) -> Trained:
    """A joint task, a class and a number, with the recipe that says where the data is."""
    root = tmp_path_factory.mktemp("table")
    path = write_numbers(root / "numbers.csv")
    options = {"classes": ["side"], "ranges": ["height"]}
    source = read_table(path, **options)
    torch.manual_seed(0)
    space = hp.Space(3, source.targets)
    valid = training_data(source.test, source.preprocessing)
    run = hp.fit(
        create_backbone("mlp", out_dim=3, in_features=2, hidden=[8], norm="batch"),
        space,
        training_data(source.train, source.preprocessing),
        valid=valid,
        epochs=3,
        batch_size=8,
        folder=RunFolder(
            root / "run", RunSpec(data=DataSpec(reader="table", path=str(path), options=options))
        ),
        preprocessing=source.preprocessing,
    )
    return Trained(run, root / "run", path, source, valid)
