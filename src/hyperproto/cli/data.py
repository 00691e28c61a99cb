"""``hyperproto data check``: describe data before training on it."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from tyro.conf import Positional, arg

from hyperproto._core.files import Plain
from hyperproto.cli.console import plain_warnings, print_table
from hyperproto.tasks import KINDS, METAVARS

if TYPE_CHECKING:
    from hyperproto.data import Source


SAID = {"number": "numbers", "range": "numbers between bounds"}
KEYWORDS = {"classes": "classes", "number": "numbers", "range": "ranges"}  # of `read_table`

KindOptions = make_dataclass(
    "KindOptions",
    [
        (
            kind,
            Annotated[tuple[str, ...], arg(metavar=METAVARS.get(kind, "COLUMN"))],
            field(
                default=(),
                metadata={"help": f"The columns of a table to predict as {SAID.get(kind, kind)}."},
            ),
        )
        for kind in KINDS
    ],
    frozen=True,
    kw_only=True,
)
"""An option for each kind of task."""


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(KindOptions):  # type: ignore[misc,valid-type]
    """What the columns of a table are for."""

    image: Annotated[str | None, arg(metavar="COLUMN")] = None
    """The column of a table that names image files."""

    text: Annotated[str | None, arg(metavar="COLUMN")] = None
    """The column of a table that holds free text to learn from."""

    def for_reader(self) -> Plain:
        """Return the options by the keywords of :func:`~hyperproto.data.read_table`."""
        named = {kind: list(getattr(self, kind)) for kind in KINDS}
        others = dict(
            read_kind(kind, given)
            for kind in named
            if kind not in KEYWORDS
            for given in named[kind]
        )
        own = {KEYWORDS[kind]: names for kind, names in named.items() if kind in KEYWORDS}
        return {"image": self.image, "text": self.text, "kinds": others, **own}


@dataclass(frozen=True, kw_only=True)
class Data(ColumnOptions):
    """Check data before training on it: counts, classes, ranges, and images that cannot be read."""

    KEYWORDS: ClassVar = {keyword: kind for kind, keyword in KEYWORDS.items()}

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

    verify: bool = True
    """Decode every image file; --no-verify does not."""

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Read, describe, verify."""
        from hyperproto._core.errors import InputError
        from hyperproto.data.hints import suggest_kinds
        from hyperproto.data.readers import detect
        from hyperproto.data.table_files import describe_columns, read_columns

        name = self.reader or detect(self.path)
        asked = {option: getattr(self, option) for option in (*KINDS, "image", "text")}
        if name == "table" and not any(asked[kind] for kind in KINDS):
            table = read_columns(self.path)
            columns = describe_columns(table)
            print(json.dumps(columns)) if self.json else _show_columns(self.path, columns)
            hints = [
                f"--{kind} {shlex.quote(said)}" for kind, said in suggest_kinds(table).values()
            ]
            if hints and not self.json:
                print(f"If one of these is to be predicted: {', '.join(hints)}.")
            return
        for option, given in asked.items():
            if name != "table" and given:
                got = f'"{self.path}", which is {name}'
                raise InputError(option, "name columns of a table", got)
        self._check_source(name)

    def _check_source(self, name: str) -> None:
        from hyperproto._core.errors import InputError
        from hyperproto.data.giveaway import find_giveaways
        from hyperproto.data.readers import READERS, describe_source, read_source

        with plain_warnings():
            source = read_source(self.path, name, **self.for_reader())
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


def read_kind(kind: str, given: str) -> tuple[str, str]:
    """Return the column to predict as a kind of task, and the kind with what stands behind ``=``.

    >>> read_kind("labels", "genres"), read_kind("angle", "wind=360")
    (('genres', 'labels'), ('wind', 'angle=360'))
    """
    if kind not in METAVARS or "=" not in given:
        return given, kind
    column, _, more = given.rpartition("=")
    return column, f"{kind}={more}"


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


def _show_source(path: Path, report: Plain) -> None:
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


FACTS = {
    "low": "a number from {low:g} to {high:g}",
    "center": "a number, median {center:g}, interquartile range {scale:g}",
    "period": "an angle that begins anew after {period:g}",
}
"""How to say what a task without names tells of itself, by one of its facts."""


def _describe_target(target: Plain) -> Iterator[str]:
    """Yield a line about the target, and one for each part of the data."""
    kind, names = target["kind"], target.get("names")
    each = "class" if kind == "classes" else kind.removesuffix("s")
    if names:
        yield f"{len(names)} {kind}: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
    else:
        said = (sentence.format(**target) for fact, sentence in FACTS.items() if fact in target)
        yield next(said, f"of kind {kind}")
    for part in ("train", "test"):
        if found := target.get(part):
            facts = [f"{found['beyond']} beyond"] if "beyond" in found else []
            if names:
                facts += [f"{found['least']} to {found['most']} examples per {each}"]
            elif "least" in found:
                facts += [f"{found['least']:g} to {found['most']:g}"]
            yield f"{part}: {', '.join([*facts, str(found['missing'])])} missing"


def _show_columns(path: Path, report: Plain) -> None:
    rows = ((name, *map(str, facts.values())) for name, facts in report.items())
    print_table(rows, "column", "rows", "empty", "different", "seems to be", title=str(path))
    texts = [name for name, facts in report.items() if facts["seems"] == "sentences"]
    words = "".join(f", --text {shlex.quote(name)} to learn from its words" for name in texts)
    print(
        f"Say what to predict: --classes COLUMN, --number COLUMN; --image COLUMN for images{words}."
    )
