"""Every example runs, ends in an assertion, and fits on a screen."""

import os
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path for path in HERE.glob("*.py") if path.stem != "minimal")  # it has a test


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_holds(path, monkeypatch, tmp_path):
    text = path.read_text()
    assert len(text.splitlines()) < 80
    assert text.splitlines()[-1].startswith("assert ")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert os.listdir(tmp_path) == []


def test_there_are_examples():
    assert len(EXAMPLES) >= 10
