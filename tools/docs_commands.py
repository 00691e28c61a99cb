"""Write docs/reference/commands.md: every command with its options, from the help that the commands
print.
"""

import contextlib
import io
import os
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
GROUP = re.compile(r"^ (\w[\w ]*?) *\n -+ *\n(.*?)(?=\n *\n \w|\s*\Z)", re.DOTALL | re.MULTILINE)
TOP = "# Commands\n\nEvery command with its options, as `hyperproto COMMAND --help` prints them.\n"


def help_of(verb: str) -> str:
    """Return what a command's help prints."""
    os.environ["COLUMNS"] = "120"  # wide enough for tables, and for one column
    from hyperproto.cli.main import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([verb, "--help"])
    return printed.getvalue()


def section(verb: str) -> str:
    """Return the section of a command: what it does, and a table of options for each group."""
    text = help_of(verb)
    parts = [f"## {verb}\n\n{text.split(chr(10) * 2)[1].strip()}\n"]
    for title, body in re.findall(
        r"^ (\w[\w ]*?) *\n -+ *\n(.*?)(?=\n *\n \w|\s*\Z)", text, re.DOTALL | re.MULTILINE
    ):
        rows: list[list[str]] = []
        for line in filter(str.strip, body.splitlines()):
            name, _, rest = line.strip().partition("  ")
            if line.startswith("   "):  # more of the option above
                rows[-1][1] += " " + line.strip()
            elif (
                line.startswith(("  -", "  "))
                and not name.startswith(("---", "-h,"))
                and (rest or name[0] in "-[")
            ):
                rows.append([name, rest.strip()])
        if rows:
            table = "\n".join(f"| `{name}` | {escape(what)} |" for name, what in rows)
            parts.append(f"| {title} | |\n| --- | --- |\n{table}\n")
    return "\n".join(parts)


def escape(text: str) -> str:
    """Return text that does not end the cell of a table."""
    return text.strip().replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """Return the whole page."""
    from hyperproto.cli.main import VERBS

    return "\n".join([TOP, *map(section, VERBS)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
