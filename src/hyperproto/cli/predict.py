"""``hyperproto predict``: classes, cosines and numbers for files."""

import csv
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg


@dataclass
class Predict:
    """Predict images, or the rows of a table; a calibrated run also gives its confidence."""

    run_folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """The folder of the run."""

    paths: Annotated[Positional[tuple[Path, ...]], arg(metavar="FILE...")]
    """Images and folders of images; for a run on a table, tables with its columns."""

    top: int = 3
    """How many classes to name; on a screen too narrow for them, only the first is shown."""

    which: Literal["last", "best"] = "last"
    """The weights after the last epoch, or after the best on validation data."""

    format: Literal["table", "csv", "json"] | None = None
    """How to write predictions (default: what the name of --output ends in, otherwise a table)."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write to this file and not to the screen."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read."""

    def run(self) -> None:
        """Predict, then print or write."""
        from hyperproto._core.errors import InputError
        from hyperproto._core.errors import arg as mention
        from hyperproto._core.files import check_can_write, replacing
        from hyperproto.evaluation import predict_files

        ending = "" if self.output is None else self.output.suffix.lower().removeprefix(".")
        style = self.format or (ending if ending in ("csv", "json") else "table")
        if self.output is not None:
            if style == "table":
                raise InputError(
                    "output", f"end in .csv or .json where {mention('format')} does not say", self.output
                )
            check_can_write(self.output)
        found = predict_files(
            self.run_folder, self.paths, top=self.top, which=self.which, skip_corrupt=self.skip_corrupt
        )
        if found.skipped:
            print(f'Left out, unreadable: {len(found.skipped)}, the first "{found.skipped[0]}".', file=sys.stderr)
        if style == "table":
            return _show(found.rows)
        text = json.dumps(found.rows, indent=2) + "\n"
        if style == "csv":
            lines = io.StringIO()
            csv.writer(lines, lineterminator="\n").writerows(_flat(found.rows))
            text = lines.getvalue()
        if self.output is None:
            return print(text, end="")
        with replacing(self.output) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
        return None


def _flat(rows: list[dict[str, Any]], *, classes: int | None = None, cosines: bool = True) -> list[list[Any]]:
    """Return a header and a line for each row; at most so many classes, and cosines where there is a probability."""
    header = [key for key in rows[0] if key != "predictions"]
    lines = [[row[key] for key in header] for row in rows]
    for task, answer in rows[0]["predictions"].items():
        header += _columns(task, answer, classes, cosines)
        for line, row in zip(lines, rows, strict=True):
            line += _columns(task, row["predictions"][task], classes, cosines).values()
    return [header, *lines]


def _columns(task: str, answer: Any, classes: int | None, cosines: bool) -> dict[str, Any]:
    """Return columns of one prediction: "class", "class/cosine", then of the second class "class/2", ..."""
    if not isinstance(answer, dict):
        return {task: answer}
    if "value" in answer:
        return {task: answer["value"], f"{task}/low": answer["low"], f"{task}/high": answer["high"]}
    columns = {}
    for place, guess in enumerate(answer["top"][:classes]):
        numbered = task if place == 0 else f"{task}/{place + 1}"
        columns[numbered] = guess["name"] if place else answer["name"]  # which may be "unknown"
        left_out = ("name",) if cosines or "probability" not in guess else ("name", "cosine")
        columns |= {f"{numbered}/{key}": value for key, value in guess.items() if key not in left_out}
    if "set" in answer:
        columns[f"{task}/set"] = " | ".join(answer["set"])
    return columns


def _show(rows: list[dict[str, Any]]) -> None:
    """Print a table; where it is wider than the screen, without further classes, and then without cosines."""
    from hyperproto.cli.console import table_console, text_table

    console, everything = table_console(), _flat(rows)
    endless = console.options.update(width=10_000)
    for lines in (everything, _flat(rows, classes=1), _flat(rows, classes=1, cosines=False)):
        text = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in line] for line in lines]
        shortened = [[line[0][-20:], *line[1:]] for line in text]  # a file's name may fold without harm
        if console.measure(text_table(shortened[1:], *shortened[0]), options=endless).maximum <= console.width:
            break
    console.print(text_table(text[1:], *text[0]))
    if len(lines[0]) < len(everything[0]):
        print("Too wide for the screen: further classes or cosines are left out; -o FILE.csv has everything.")
