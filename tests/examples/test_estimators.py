"""The Python of docs/how-to/estimators.md runs as it stands."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "estimators.md"


def test_what_docs_say_about_estimators_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    model, X, y = names["model"], names["X"], names["y"]
    assert (model.predict(X) == -1).any()
    assert (model.predict(X) == y).mean() > 0.9
    assert model.calibration_error_ < 0.05
