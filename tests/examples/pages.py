"""The pages of the documentation, and the code that they show."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {DOCS / "reference" / "commands.md"}  # `make docs` writes it
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(path for path in DOCS.rglob("*.md") if path not in GENERATED),
]


@dataclass(frozen=True)
class Block:
    """Python that a page shows: run as it stands, part of an example, or not run for a reason."""

    code: str
    example: str = ""
    reason: str = ""

    @property
    def runs(self) -> bool:
        """Whether it runs by itself, not as part of an example."""
        return not (self.reason or self.example or self.code.startswith("--8<--"))


def blocks(page: Path) -> list[Block]:
    """Return the Python of a page. A comment before a block says where it is from, or why it is not run."""
    pattern = r"(?:<!-- (?:from (?P<example>\S+)|not run: (?P<reason>[^>]+)) -->\n)?```python\n(?P<code>.*?)```"
    found = re.finditer(pattern, page.read_text(encoding="utf-8"), re.DOTALL)
    return [Block(part["code"], part["example"] or "", part["reason"] or "") for part in found]


def run(name: str, names: dict[str, object] | None = None) -> dict[str, object]:
    """Run what can be run of a page, block by block as they follow, and return the names that are left."""
    names = {} if names is None else names
    for block in blocks(DOCS / name):
        if block.runs:
            exec(compile(block.code, name, "exec"), names)
    return names
