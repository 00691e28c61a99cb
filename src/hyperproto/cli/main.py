"""``hyperproto``: the verbs, and one sentence for every mistake."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro
from docstring_parser import parse_from_object
from tyro.conf import (
    DisallowNone,
    FlagCreatePairsOff,
    OmitSubcommandPrefixes,
    Positional,
    Suppress,
    arg,
    subcommand,
)

from hyperproto._core.checks import nearest_name, unknown_choice
from hyperproto._core.errors import SPELLING, HyperprotoError, InputError, python_name
from hyperproto._version import __version__
from hyperproto.cli.calibrate import Calibrate
from hyperproto.cli.compare import Compare, Sweep
from hyperproto.cli.data import Data
from hyperproto.cli.demo import Demo
from hyperproto.cli.doctor import Doctor
from hyperproto.cli.evaluate import Evaluate
from hyperproto.cli.export import Export
from hyperproto.cli.extend import Extend
from hyperproto.cli.place import Place
from hyperproto.cli.predict import Predict
from hyperproto.cli.report import Report
from hyperproto.cli.runs import Runs
from hyperproto.cli.serve import Serve
from hyperproto.cli.train import Train

# One dataclass per verb, called like it, with a method ``run``. Its fields are the options, named
# like the keywords of the function that it calls; where an option has another name, there is
# ``KEYWORDS: ClassVar = {keyword: field}``.
VERBS: dict[str, type[Any]] = {
    verb.__name__.lower(): verb
    for verb in (
        *(Calibrate, Compare, Data, Demo, Doctor, Evaluate, Export, Extend),
        *(Place, Predict, Report, Runs, Serve, Sweep, Train),
    )
}
POSITIONAL, HIDDEN, FLAG = (
    get_args(mark)[1] for mark in (Positional[str], Suppress[str], FlagCreatePairsOff[bool])
)
ABOUT = (
    "Hyperspherical prototype networks: classify and regress on one sphere, laid out before "
    "training."
)
COMMON = """
  hyperproto train --data PATH        learn from a folder of images, a table, or published data
  hyperproto evaluate RUN             measure the run that train stored
  hyperproto predict RUN FILE         predict images, or the rows of a table

hyperproto --help lists all commands, hyperproto train --help the options of one."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run one verb. A user's mistake prints one sentence and exits with 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"hyperproto {__version__}")
        return
    name = arguments[0] if arguments else ""
    before = SPELLING.set(partial(_spell, VERBS.get(name)))
    try:
        if not name:
            print(ABOUT + "\n" + COMMON)
        elif name.startswith("-"):
            _print_help(arguments)
        elif name not in VERBS:
            raise unknown_choice(name, VERBS, what="command")
        else:
            words = arguments[1:]
            _check_words(name, words)
            tyro.cli(
                VERBS[name], prog=f"hyperproto {name}", args=words, config=[DisallowNone]
            ).run()
    except (HyperprotoError, OSError) as error:
        print(f"hyperproto: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as error:
        print(f"hyperproto: {str(error) or 'interrupted'}", file=sys.stderr)
        sys.exit(130)
    finally:
        SPELLING.reset(before)


def _print_help(arguments: list[str]) -> None:
    """Let tyro print the verbs, or what is wrong with options that stand before any verb."""
    listed = tuple(Annotated[Any, subcommand(key, constructor=verb)] for key, verb in VERBS.items())
    verbs: Any = Union[listed]  # noqa: UP007  # of as many types as there are verbs

    def hyperproto(
        verb: OmitSubcommandPrefixes[verbs],
        *,
        version: Annotated[FlagCreatePairsOff[bool], arg(help_behavior_hint="")] = False,
    ) -> None:
        """Accept what only the help lists.

        Args:
            verb: What to do.
            version: Print the version and exit.
        """

    tyro.cli(hyperproto, prog="hyperproto", description=ABOUT, args=arguments)


@dataclass(frozen=True)
class Option:
    """One option of a verb: how it is written, and what it takes.

    Attributes
    ----------
    flags : tuple of str
        Its names, the usual one first; none where it is given by its place.
    shown : str
        How a sentence calls it.
    kinds : tuple
        The types of its values.
    """

    flags: tuple[str, ...]
    shown: str
    kinds: tuple[Any, ...]

    def check(self, flag: str, got: str) -> None:
        """Raise where a word is no number or choice of the option."""
        choices = [
            one for kind in self.kinds if get_origin(kind) is Literal for one in get_args(kind)
        ]
        if choices and got not in choices:
            raise unknown_choice(got, choices, what=f"value of {flag}")
        if self.kinds in ((int,), (float,)):
            try:
                self.kinds[0](got)
            except ValueError:
                rule = "be a whole number" if self.kinds == (int,) else "be a number"
                raise InputError(flag, rule, f'"{got}"') from None


def options_of(verb: Any) -> dict[str, Option]:
    """Return the options of a verb by the names of its fields, those of nested groups among them.

    On the way the options get their help from their docstrings, in one paragraph, and without
    defaults of None.
    """
    hints, plain = get_type_hints(verb, include_extras=True), get_type_hints(verb)
    documented = [
        item for part in reversed(verb.__mro__[:-1]) for item in parse_from_object(part).params
    ]
    texts = {item.arg_name: " ".join((item.description or "").split()) for item in documented}
    options: dict[str, Option] = {}
    for field in fields(verb):
        kind, hint = plain[field.name], hints[field.name]
        if is_dataclass(kind):
            options |= options_of(kind)
        elif HIDDEN not in get_args(hint):
            marks = [FLAG] if field.default is False else []
            about = texts.get(field.name) or field.metadata.get("help")
            marks.append(arg(help=about, help_behavior_hint=_say_default))
            verb.__annotations__[field.name] = Annotated[hint, *marks]
            options[field.name] = _read_option(field.name, hint, kind)
    return options


def _read_option(key: str, hint: Any, plain: Any) -> Option:
    """Return the option of a field, by its annotation with and without marks."""
    marks: list[Any] = [mark for mark in get_args(hint) if hasattr(mark, "aliases")]
    mark: Any = marks[0] if marks else arg()
    flag = "--" + (mark.name or key).replace("_", "-")
    kinds = (plain,)
    if get_origin(plain) in (Union, UnionType):
        kinds = tuple(kind for kind in get_args(plain) if kind is not NoneType)
    if POSITIONAL in get_args(hint):
        return Option((), (mark.metavar or key.upper()).strip("[]"), kinds)
    opposite = ("--no-" + flag[2:],) if plain is bool else ()
    return Option((flag, *(mark.aliases or ()), *opposite), flag, kinds)


def _check_words(name: str, words: list[str]) -> None:
    """Raise where a verb has no such option, naming the nearest, or where one gets what it cannot
    take: tyro would answer at length.
    """
    options = options_of(VERBS[name])
    known = {flag: option for option in options.values() for flag in option.flags}
    takes_words = any(not option.flags for option in options.values())
    if words and not words[0].startswith("-") and "data" in options and not takes_words:
        advice = f"hyperproto {name} --data {words[0]}"
        raise InputError(f'"{words[0]}"', "come after an option", advice=advice)
    split = [word.partition("=") for word in words]
    given = [flag.replace("_", "-") for flag, _, _ in split]
    for flag, (_, equals, value), following in zip(given, split, [*words[1:], ""], strict=False):
        if not flag.startswith("--") or flag == "--help":
            continue
        if flag not in known:
            near = nearest_name(flag, [*known, "--learning-rate"])
            near = near.replace("--learning-rate", "--lr")
            advice = f"{near} hyperproto {name} --help lists all.".strip()
            raise InputError(f'"{flag}" is no option of hyperproto {name}.', advice=advice)
        option, times = known[flag], given.count(flag)
        if times > 1 and any(get_origin(kind) is tuple for kind in option.kinds):
            advice = f"List all after one: {flag} A B."
            raise InputError(flag, "be given once", f"it {times} times", advice)
        option.check(flag, value if equals else following)


def _say_default(default: str) -> str:
    return "" if default in ("None", "False", "") else f"(default: {default})"


def _spell(verb: Any, name: str, value: str) -> str:
    """Return how a sentence mentions an argument: as an option of a verb where it has one, else as
    Python does.
    """
    key = getattr(verb, "KEYWORDS", {}).get(name, name)
    option = None if verb is None else options_of(verb).get(key)
    if option is None:
        return python_name(name, value)
    if not option.flags or value in ("", "True"):
        return option.shown
    return f"{option.shown} {value.strip(chr(34))}"


if __name__ == "__main__":
    main()
