"""A few steps on the publishers' own files: ``HYPERPROTO_DATA=FOLDER make test-data``."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hyperproto.data.readers import BUILT_IN, READERS, describe_data
from hyperproto.data.source import select
from hyperproto.training import build, train
from tests.training.test_spec import spec_of

FOLDER = os.environ.get("HYPERPROTO_DATA", "")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not FOLDER, reason="HYPERPROTO_DATA does not name a folder of data sets"),
]
PUBLISHED = [name for name in READERS if name not in (*BUILT_IN, "table", "image-folder")]


def few(source, n=48):
    """Return the source with examples from all over each part."""
    parts = (
        select(part, torch.linspace(0, len(part) - 1, n).long())
        for part in (source.train, source.test)
    )
    return replace(source, **dict(zip(("train", "test"), parts, strict=True)))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_few_steps_on_real_images(name, tmp_path, monkeypatch):
    if not READERS[name].is_at(Path(FOLDER)):
        pytest.skip(f"{name} is not in {FOLDER}")
    whole = build.read_data
    monkeypatch.setattr(build, "read_data", lambda spec, path: few(whole(spec, path)))
    size = 64 if name in ("cub-200-2011", "omniart") else None
    small = {"backbone": "resnet", "backbone_options": {"depth": 8, "width": 8}, "batch_size": 16}
    run = train(
        spec_of(
            describe_data(FOLDER, name), image_size=size, epochs=4, loss="cosine_softmax", **small
        ),
        tmp_path / "run",
    )
    assert run.history[-1]["loss"] < run.history[0]["loss"]
    assert (tmp_path / "run" / "metrics.json").is_file()
