"""``hyperproto predict``: classes, cosines and numbers for files."""

import csv
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from hyperproto._core.files import Plain
from hyperproto.cli.console import print_table
from hyperproto.cli.evaluate import StoredRun


@dataclass
class Predict(StoredRun):
    """Predict images, the rows of a table, or texts, by a run or an exported model, with its
    confidence where calibrated.
    """

    paths: Annotated[Positional[tuple[Path, ...]], arg(metavar="FILE...")] = ()
    """Images and folders of images; for a run on a table, tables with its columns."""

    text: Annotated[tuple[str, ...], arg(metavar="TEXT")] = ()
    """Texts, in place of files, for a run on a column of text."""

    top: int = 3
    """How many classes to name."""

    format: Literal["table", "csv", "json"] | None = None
    """How to write predictions (default: what the name of --output ends in, otherwise a table)."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write to this file and not to the screen."""

    overwrite: bool = False
    """Replace the file of --output where there is one."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read."""

    def run(self) -> None:
        """Predict, then print or write."""
        from hyperproto._core.errors import InputError
        from hyperproto._core.errors import arg as mention
        from hyperproto._core.files import check_can_write, replacing
        from hyperproto.runtime.model import is_model

        ending = "" if self.output is None else self.output.suffix.lower().removeprefix(".")
        style = self.format or (ending if ending in ("csv", "json") else "table")
        if self.output is not None:
            if style == "table":
                raise InputError(
                    "output",
                    f"end in .csv or .json where {mention('format')} does not say",
                    self.output,
                )
            check_can_write(self.output)
            if self.output.exists() and not self.overwrite:
                raise InputError(
                    "output",
                    "be a new file",
                    f'"{self.output}"',
                    f"{mention('overwrite')} replaces it.",
                )
        answers = self._by_model() if is_model(self.run_folder) else self._by_run()
        if style == "table":
            return _show(answers)
        text = json.dumps(answers, indent=2) + "\n"
        if style == "csv":
            lines, rows = io.StringIO(), _flat(answers)
            writer = csv.DictWriter(lines, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            text = lines.getvalue()
        if self.output is None:
            return print(text, end="")
        with replacing(self.output) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
        return None

    def _by_run(self) -> list[Plain]:
        from hyperproto.evaluation import predict_files

        found = predict_files(
            self.open(),
            self.paths,
            texts=self.text,
            top=self.top,
            skip_corrupt=self.skip_corrupt,
        )
        if found.skipped:
            print(
                f'Left out, unreadable: {len(found.skipped)}, the first "{found.skipped[0]}".',
                file=sys.stderr,
            )
        return found.rows

    def _by_model(self) -> list[Plain]:
        """Predict by an exported model, without torch."""
        from hyperproto._core.errors import InputError
        from hyperproto.runtime.cli import predict_files
        from hyperproto.runtime.csv_files import DELIMITERS, read_table

        def read(path: Path) -> list[Plain]:
            if path.suffix.lower() in DELIMITERS:
                return read_table(path)
            from hyperproto.data.table_files import read_rows

            return read_rows(path)

        for name in ("which", "skip_corrupt"):
            if getattr(self, name) != getattr(type(self), name):
                raise InputError(name, "be left out for an exported model", getattr(self, name))
        rows = predict_files(self.run_folder, self.paths, texts=self.text, top=self.top, read=read)
        found = []
        for row in rows:
            del row["point"]
            for answer in row["predictions"].values():  # as a run's: with calibrated probabilities
                for part in (answer, *answer["top"]) if not answer.get("calibrated", True) else ():
                    del part["probability"]
            found.append(row)
        return found


def _told(answer: Any) -> Plain:
    """Return a prediction by its parts; a number alone is its value, and so are labels."""
    if isinstance(answer, tuple):
        return {"value": "; ".join(answer)}
    return answer if isinstance(answer, dict) else {"value": answer}


def _flat(rows: list[Plain]) -> list[Plain]:
    """Return columns for each row: "class", "class/cosine", then of the second class "class/2", ...

    >>> _flat([{"file": "a.png", "predictions": {"=cmd": 1.5}}])
    [{'file': 'a.png', "'=cmd": 1.5}]
    """
    flat = []
    for row in rows:
        columns = {key: value for key, value in row.items() if key != "predictions"}
        for task, answer in row["predictions"].items():
            answer = _told(answer)
            if "value" in answer:
                ends = {f"{task}/{end}": answer[end] for end in ("low", "high") if end in answer}
                columns |= {task: answer["value"], **ends}
            else:
                for place, guess in enumerate(answer["top"], start=1):
                    numbered = task if place == 1 else f"{task}/{place}"
                    columns[numbered] = guess["name"]
                    columns |= {
                        f"{numbered}/{key}": value for key, value in guess.items() if key != "name"
                    }
                columns[task] = answer["name"]  # which may be "unknown"
                columns |= {f"{task}/set": " | ".join(answer["set"])} if "set" in answer else {}
        flat.append({_safe(name): _safe(value) for name, value in columns.items()})
    return flat


def _safe(value: Any) -> Any:
    """Return text such that a spreadsheet does not take it for a formula: behind a quote, unless it
    is a number.

    >>> _safe("=cmd|' /C calc'!A0"), _safe("-1.5"), _safe("cat")
    ("'=cmd|' /C calc'!A0", '-1.5', 'cat')
    """
    if not str(value).startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _show(rows: list[Plain]) -> None:
    """Print a table with one column per task, and in it one line per class."""
    origin, tasks = [key for key in rows[0] if key != "predictions"], list(rows[0]["predictions"])
    lines = [
        [*(str(row[key]) for key in origin), *(_cell(row["predictions"][task]) for task in tasks)]
        for row in rows
    ]
    print_table(lines, *origin, *tasks)


def _cell(answer: Any) -> str:
    """Return one prediction as people read it: classes with their probability or score, or a
    number.
    """
    answer = _told(answer)
    if "value" in answer:
        ends = f" ({answer['low']:.4g} to {answer['high']:.4g})" if "low" in answer else ""
        value = answer["value"]
        return f"{value:.4g}{ends}" if isinstance(value, float) else str(value)
    lines = ["unknown"] if answer.get("unknown") else []
    lines += [f"labels: {answer['name'] or 'none'}"] if "labels" in answer else []
    for guess in answer["top"]:
        kind = next(key for key in ("probability", "cosine", "score") if key in guess)
        lines.append(f"{guess['name']}  {kind} {guess[kind]:.3f}")
    return "\n".join([*lines, f"set: {', '.join(answer['set'])}"] if "set" in answer else lines)
