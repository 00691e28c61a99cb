"""The Python of docs/how-to/new_classes.md runs as it stands."""

import re
import warnings
from pathlib import Path

import torch

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "new_classes.md"


def test_what_docs_say_about_new_classes_is_true(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The old classes lost")
        for code in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
            exec(code, names)
    assert names["fewer"].space.prototypes.names == ("zero", "two", "three")
    assert names["space"].prototypes.names == ("zero", "one", "two", "three")
    assert names["model"].classes_.tolist() == [1, 2, 3, 14]
    out = capsys.readouterr().out
    assert "Old classes: " in out
