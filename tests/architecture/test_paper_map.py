"""The map from the paper to the code points at things that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "reference" / "paper_map.md").read_text(encoding="utf-8")


def test_every_test_the_map_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", MAP)
    assert len(named) >= 6
    for path, function in named:
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8"), (path, function)


def test_every_module_the_map_names_exists():
    for shelf, module in re.findall(
        r"`(codes|tasks|spaces|sphere|prototypes|losses|baselines)\.(\w+)\.", MAP
    ):
        place = ROOT / "src" / "hyperproto" / shelf
        assert (place / f"{module}.py").exists() or (place / module / "__init__.py").exists(), (
            module
        )
