"""The Python of docs/how-to/using.md runs as it stands, on a folder like the one it speaks of."""

import re
from pathlib import Path

import torch

from tests.evaluation.conftest import write_images

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "using.md"


def test_what_docs_say_about_a_trained_run_is_true(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "photos" / "train", n=20)
    write_images(tmp_path / "photos" / "test", n=6, seed=1)
    torch.manual_seed(0)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    assert names["found"].examples == len(names["rows"]) == 18
    assert "photos/test/dark/0.png" in capsys.readouterr().out
