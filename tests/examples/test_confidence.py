"""The Python of docs/how-to/confidence.md runs as it stands, after that of docs/how-to/using.md."""

import re
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tests.evaluation.conftest import write_images

DOCS = Path(__file__).parents[2] / "docs" / "how-to"


def blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)


def test_what_docs_say_about_confidence_is_true(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "photos" / "train", n=20)
    write_images(tmp_path / "photos" / "test", n=6, seed=1)
    write_images(tmp_path / "calibration", n=30, seed=2)
    (tmp_path / "strangers").mkdir()
    rng = np.random.default_rng(0)
    for i in range(12):
        pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "strangers" / f"{i}.png")
    torch.manual_seed(0)
    names = {}
    for code in [blocks("using.md")[0], *blocks("confidence.md")]:
        exec(code, names)
    assert names["found"].tasks["class"].confidence.calibration_error < 0.1
    assert names["found"].unknown["class"]["auroc"] > 0.9
    assert names["answer"]["unknown"]
    assert "True" in capsys.readouterr().out
