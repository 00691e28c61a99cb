"""The pages of the documentation, and the code that they show."""

import contextlib
import io
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from hyperproto.cli.main import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {DOCS / "reference" / "commands.md"}  # `make docs` writes it
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(path for path in DOCS.rglob("*.md") if path not in GENERATED),
]


@dataclass(frozen=True)
class Block:
    """Python or commands that a page shows: run as they stand, part of an example, or not run for a
    reason.
    """

    code: str
    language: str = "python"
    example: str = ""
    reason: str = ""

    @property
    def runs(self) -> bool:
        """Whether it runs by itself, not as part of an example."""
        return not (self.reason or self.example or self.code.startswith("--8<--"))

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The lines to type, those behind a prompt or all where there is none, and what the page
        says they print.
        """
        if "$ " not in self.code:
            return [(line, "") for line in self.code.splitlines()]
        return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", self.code, re.MULTILINE)


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the Python of a page. A comment before a block says where it is from, or why it is not
    run.

    With other languages, "python" and "console": those as they follow. Text that begins with a
    prompt is "console".
    """
    said = r"(?:<!-- (?:from (?P<example>\S+)|not run: (?P<reason>[^>]+)) -->\n)?"
    shown = r"```(?P<language>python|console|text(?=\n\$ ))(?: title=[^\n]*)?\n(?P<code>.*?)```"
    found = []
    for part in re.finditer(said + shown, page.read_text(encoding="utf-8"), re.DOTALL):
        language = "python" if part["language"] == "python" else "console"
        if language in (languages or ("python",)):
            found.append(Block(part["code"], language, part["example"] or "", part["reason"] or ""))
    return found


def run(name: str, names: dict[str, object] | None = None) -> dict[str, object]:
    """Run what can be run of a page, block by block as they follow, and return the names that are
    left.
    """
    names = {} if names is None else names
    for block in blocks(DOCS / name, "python", "console"):
        if block.runs and block.language == "python":
            exec(compile(block.code, name, "exec"), names)
        elif block.runs:
            for line, told in block.commands:
                printed = type_in(line)
                assert not told or alike(printed, told), (line, printed)
    return names


def type_in(line: str) -> str:
    """Run a command as it stands, but for one epoch of training where it does not say; return what
    it prints.
    """
    program, *words = map(os.path.expanduser, shlex.split(line, comments=True))
    assert program == "hyperproto", f"{line}: say why it is not run"
    quick = (
        ["--epochs", "1"]
        if words[0] == "train" and not {"--epochs", "--resume"} & set(words)
        else []
    )
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main([*words, *quick])
    return printed.getvalue()


def alike(printed: str, told: str, share: float = 0.15) -> bool:
    """Return whether two texts have the same words, and numbers that are near: processors do not
    round alike, and training multiplies what differs.
    """
    number = r"-?\d+\.?\d*(?:e-?\d+)?"
    texts = [re.sub(r"\d+:\d\d:\d\d", "TIME", text) for text in (printed, told)]
    words, numbers = zip(
        *((re.sub(number, "#", t).split(), re.findall(number, t)) for t in texts), strict=True
    )
    near = all(
        abs(float(a) - float(b)) <= 0.05 + share * abs(float(b))
        for a, b in zip(*numbers, strict=False)
    )
    return words[0] == words[1] and near
