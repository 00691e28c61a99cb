"""The map in CONTRIBUTING.md names files that are there."""

import re
from pathlib import Path

import hyperproto

ROOT = Path(__file__).parents[2]
PACKAGE = Path(hyperproto.__file__).parent


def test_every_file_of_the_map_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    names = re.findall(r"`([\w/]+(?:\.py|\.md|/))`", shown)
    assert len(names) > 20
    missing = [
        name for name in names if not (PACKAGE / name).exists() and not (ROOT / name).exists()
    ]
    assert missing == ["table8.py"]  # the one to write
