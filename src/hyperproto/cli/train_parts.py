"""What ``hyperproto train`` does before and after training: from words to a recipe, and from a run to words."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperproto._core.errors import InputError
from hyperproto._core.processes import is_first

if TYPE_CHECKING:
    from hyperproto.training import Recipe, Run

__all__ = ["read_bounds", "read_pairs", "recipe_from", "report", "saying_how_to_go_on", "speak", "spoken_warnings"]

TABLE_ONLY = ("image", "columns", "classes", "range", "bounds", "test")
FOR_READER = ("image", "columns", "classes", "test", "held_out", "unseen", "size")
FOR_DATA = ("data", "table", "resume", "reader", "reader_options", "log", "folder", "range", "bounds", *FOR_READER)


def recipe_from(given: dict[str, Any]) -> "Recipe":
    """Return the recipe that the options of ``hyperproto train`` describe."""
    from hyperproto.data.tables import is_table
    from hyperproto.training import Recipe, describe_data

    if given["table"] is not None and given["data"] is not None:
        raise InputError("Give either --data PATH or --table FILE to train on; got both.")
    reader = "table" if given["table"] is not None else given["reader"]
    path = given["table"] or given["data"] or "digits"
    options = {name: _plain(given[name]) for name in FOR_READER} | {"ranges": _plain(given["range"])}
    options |= {"bounds": read_bounds(given["bounds"]), **read_pairs(given["reader_options"], "--reader-options")}
    if reader != "table" and not is_table(path):
        for name in TABLE_ONLY:
            if given[name]:
                raise InputError(f'--{name} is for tables; "{path}" is none. Leave it out, or give --table FILE.')
    data = describe_data(path, reader, seed=given["seed"], **options)
    rest = {name: _plain(value) for name, value in given.items() if name not in FOR_DATA}
    rest["prior_missing"] = rest.pop("missing")
    rest["backbone_options"] = read_pairs(given["backbone_options"], "--backbone-options")
    for name in ("prototypes", "prior"):
        if rest[name] not in (None, "data", "none") and Path(rest[name]).exists():
            rest[name] = str(Path(rest[name]).absolute())
    return Recipe(data=data, **rest)


@contextmanager
def saying_how_to_go_on(folder: Path | None) -> Iterator[None]:
    """Name the command that resumes a run, where a sentence says that it can be."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if folder is None or not str(stop):
            raise
        raise KeyboardInterrupt(f"{stop} Go on by: hyperproto train --resume {folder}") from None


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def read_pairs(given: tuple[str, ...], flag: str) -> dict[str, Any]:
    """Return settings given as KEY=VALUE; a value is JSON where it can be read as such, and text where not.

    >>> read_pairs(("depth=8", "shortcut=pool"), "--backbone-options")
    {'depth': 8, 'shortcut': 'pool'}
    """
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InputError(f'{flag} takes KEY=VALUE, such as depth=8; got "{text}".')
        try:
            pairs[key] = json.loads(value)
        except json.JSONDecodeError:
            pairs[key] = value
    return pairs


def read_bounds(given: tuple[str, ...]) -> dict[str, list[float]]:
    """Return bounds given as COLUMN=LOW:HIGH.

    >>> read_bounds(("year=1500:1900",))
    {'year': [1500.0, 1900.0]}
    """
    bounds = {}
    for text in given:
        name, _, ends = text.rpartition("=")
        try:
            low, high = map(float, ends.split(":"))
        except ValueError:
            raise InputError(f'--bounds takes COLUMN=LOW:HIGH, such as year=1500:1900; got "{text}".') from None
        bounds[name] = [low, high]
    return bounds


def speak(sentence: str) -> None:
    """Print a line, in the first process only."""
    if is_first():
        print(sentence, flush=True)


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Print warnings as sentences, without the line of code they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"hyperproto: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def report(run: "Run", folder: Path | None) -> None:
    """Print the measures, and what can be done with the run now."""
    from hyperproto.training.progress import describe

    best = run.best
    speak(f"Held out: {describe(run.metrics)}" if run.metrics else "Nothing was held out, so nothing is measured.")
    if best is not None and best is not run.history[-1]:
        speak(f"Best, after epoch {best['epoch'] + 1}: {describe(best['valid'])}")
    if folder is None:
        speak("Not stored; --folder RUN keeps the run.")
        return
    speak(f"Run: {folder}")
    speak(f"  hyperproto evaluate {folder}")
    speak(f"  hyperproto predict {folder} FILE")
    speak(f'  network, space = hyperproto.load("{folder}")')
