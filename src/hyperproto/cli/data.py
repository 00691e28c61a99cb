"""``hyperproto data check``: describe data before training on it."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tyro.conf import Positional, arg

from hyperproto.cli.console import plain_warnings, print_table

if TYPE_CHECKING:
    from hyperproto.data import Source


@dataclass
class Data:
    """Check data before training on it: counts, classes, ranges, and images that cannot be read."""

    KEYWORDS: ClassVar = {"numbers": "number", "ranges": "range"}

    action: Positional[Literal["check"]]
    """Describe the data at PATH."""

    path: Annotated[Positional[Path], arg(metavar="PATH")]
    """A data set as published, a folder with a subfolder for each class, or a table; or what holds
    it.
    """

    reader: Annotated[str | None, arg(metavar="NAME")] = None
    """Which data set, where PATH holds several: cifar-100, imagenet-200, cub-200-2011, omniart,
    mnist, ...
    """

    image: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Of a table: the column that names the images."""

    text: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Of a table: the column of free text to learn from."""

    classes: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """Of a table: the columns to predict as classes."""

    number: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """Of a table: the columns to predict as numbers."""

    range: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """Of a table: the columns to predict as numbers between bounds."""

    verify: bool = True
    """Decode every image file; --no-verify does not."""

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Read, describe, verify."""
        from hyperproto._core.errors import InputError
        from hyperproto.data.readers import detect
        from hyperproto.data.table_files import describe_columns, read_columns

        name = self.reader or detect(self.path)
        if name == "table" and not (self.classes or self.number or self.range):
            columns = describe_columns(read_columns(self.path))
            print(json.dumps(columns)) if self.json else _show_columns(self.path, columns)
            return
        for option in ("image", "text", "classes", "number", "range"):
            if name != "table" and getattr(self, option):
                raise InputError(
                    option, "name columns of a table", f'"{self.path}", which is {name}'
                )
        self._check_source(name)

    def _check_source(self, name: str) -> None:
        from hyperproto._core.errors import InputError
        from hyperproto.data.giveaway import find_giveaways
        from hyperproto.data.readers import READERS, describe_source, read_source

        options: dict[str, object] = {"image": self.image, "text": self.text}
        options |= {"classes": self.classes, "numbers": self.number, "ranges": self.range}
        with plain_warnings():
            source = read_source(self.path, name, **(options if name == "table" else {}))
        info = READERS[name].info
        report = describe_source(source) | {"published": list(info.counts) if info else [0, 0]}
        report["unreadable"] = _unreadable(source) if self.verify else None
        report["giveaways"] = [
            f"{giveaway.message} {giveaway.advice}" for giveaway in find_giveaways(source)
        ]
        print(json.dumps(report)) if self.json else _show_source(self.path, report)
        if report["unreadable"]:
            (faulty, reason), *others = report["unreadable"]
            got = f'{reason} in "{faulty}"' + (f" and {len(others)} more" if others else "")
            raise InputError("Every image", "be readable", got, "Replace or remove such files.")


def _unreadable(source: "Source") -> list[tuple[str, str]]:
    from hyperproto.data import ImageFiles, find_corrupt

    parts = [
        part.inputs
        for part in (source.train, source.test)
        if part and isinstance(part.inputs, ImageFiles)
    ]
    return [
        (str(part[row]), reason)
        for part in parts
        for row, reason in sorted(find_corrupt(part).items())
    ]


def _show_source(path: Path, report: dict[str, Any]) -> None:
    rows = []
    for (part, count), published in zip(
        report["examples"].items(), report["published"], strict=False
    ):
        whole = f" (the publisher has {published:,})" if published not in (0, count) else ""
        rows.append((part, f"{count:,} examples{whole}"))
    rows.append(("inputs", report["inputs"]))
    rows += [
        (name, "\n".join(_describe_target(target))) for name, target in report["targets"].items()
    ]
    if report["unreadable"] is not None and report["inputs"] == "image files":
        faulty = len(report["unreadable"])
        rows.append(("images", f"{faulty} cannot be read" if faulty else "every one can be read"))
    print_table(rows, title=f"{report['name']} in {path}")
    for sentence in report["giveaways"]:
        print(sentence)


def _describe_target(target: dict[str, Any]) -> Iterator[str]:
    """Yield a line about the target, and one for each part of the data."""
    kind = target["kind"]
    if kind == "classes":
        names = ", ".join(target["names"][:5]) + (", ..." if target["classes"] > 5 else "")
        yield f"{target['classes']} classes: {names}"
    elif kind == "range":
        yield f"a number from {target['low']:g} to {target['high']:g}"
    else:
        yield f"a number, median {target['center']:g}, interquartile range {target['scale']:g}"
    for part in ("train", "test"):
        if found := target.get(part):
            if kind == "classes":
                said = f"{found['least']} to {found['most']} examples per class"
            elif kind == "range":
                said = f"{found['beyond']} beyond"
            else:
                said = f"{found['least']:g} to {found['most']:g}"
            yield f"{part}: {said}, {found['missing']} missing"


def _show_columns(path: Path, report: dict[str, Any]) -> None:
    rows = ((name, *map(str, facts.values())) for name, facts in report.items())
    print_table(rows, "column", "rows", "empty", "different", "seems to be", title=str(path))
    texts = [name for name, facts in report.items() if facts["seems"] == "sentences"]
    words = "".join(f", --text {shlex.quote(name)} to learn from its words" for name in texts)
    print(
        f"Say what to predict: --classes COLUMN, --number COLUMN; --image COLUMN for images{words}."
    )
