"""The Python of docs/reference/spaces.md runs as it stands."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "spaces.md"


def test_what_docs_say_about_spaces_is_true():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    assert names["space"].dim == 2
    assert names["space"].prototypes.names == ("cat", "dog", "owl")
