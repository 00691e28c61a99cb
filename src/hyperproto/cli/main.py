"""``hyperproto``: the verbs, and one sentence for every mistake."""

import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

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
            _parse(name, arguments[1:]).run()
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


def _parse(name: str, words: list[str]) -> Any:
    """Return the verb with its options."""
    given = [word.partition("=")[0].replace("_", "-") for word in words]
    options = _fields(VERBS[name])
    takes_words = any(POSITIONAL in get_args(hint) for hint in options.values())
    if words and not words[0].startswith("-") and "data" in options and not takes_words:
        advice = f"hyperproto {name} --data {words[0]}"
        raise InputError(f'"{words[0]}"', "come after an option", advice=advice)
    _check_options(name, options, words)
    for key, hint in options.items():
        flag, plain = _flag(key), get_args(hint)[0]
        if (count := given.count(flag)) > 1 and any(
            get_origin(part) is tuple for part in (plain, *get_args(plain))
        ):
            raise InputError(
                flag, "be given once", f"it {count} times", f"List all after one: {flag} A B."
            )
    return tyro.cli(VERBS[name], prog=f"hyperproto {name}", args=words, config=[DisallowNone])


def _check_options(name: str, options: dict[str, Any], words: list[str]) -> None:
    """Raise where a verb has no such option, naming the nearest, or where one gets no number or
    choice of its.
    """
    known: dict[str, Any] = {"--help": (), "--learning-rate": ()}
    for key, hint in options.items():
        about = [item for item in get_args(hint) if hasattr(item, "aliases")]
        named = [_flag(next((item.name for item in about if item.name), key))]
        named += [alias for item in about for alias in item.aliases or ()]
        plain = get_args(hint)[0]
        known |= dict.fromkeys(named, get_args(plain) or (plain,))
        known |= {"--no-" + named[0][2:]: ()} if plain is bool else {}
    for word, following in zip(words, [*words[1:], ""], strict=False):
        flag, equals, value = word.partition("=")
        flag = flag.replace("_", "-")
        if not flag.startswith("--"):
            continue
        if flag not in known or flag == "--learning-rate":
            near = nearest_name(flag, known).replace("--learning-rate", "--lr")
            advice = f"{near} hyperproto {name} --help lists all.".strip()
            raise InputError(f'"{flag}" is no option of hyperproto {name}.', advice=advice)
        kinds, got = set(known[flag]) - {type(None), ...}, value if equals else following
        choices = [
            choice for kind in known[flag] if kind in kinds for choice in get_args(kind) or (kind,)
        ]
        if choices and got not in choices and all(isinstance(choice, str) for choice in choices):
            raise unknown_choice(got, choices, what=f"value of {flag}")
        if kinds and kinds <= {int, float}:
            try:
                float(got) if float in kinds else int(got)
            except ValueError:
                rule = "be a number" if float in kinds else "be a whole number"
                raise InputError(flag, rule, f'"{got}"') from None


def _fields(verb: Any) -> dict[str, Any]:
    """Return the types of a verb's options by name, those of nested groups among them.

    On the way the options get their help from their docstrings, in one paragraph, and without
    defaults of None.
    """
    hints, plain = get_type_hints(verb, include_extras=True), get_type_hints(verb)
    documented = [
        item for part in reversed(verb.__mro__[:-1]) for item in parse_from_object(part).params
    ]
    texts = {item.arg_name: " ".join((item.description or "").split()) for item in documented}
    options: dict[str, Any] = {}
    for field in fields(verb):
        if is_dataclass(plain[field.name]):
            options |= _fields(plain[field.name])
        elif HIDDEN not in get_args(hints[field.name]):
            marks = [FLAG] if field.default is False else []
            about = texts.get(field.name) or field.metadata.get("help")
            marks.append(arg(help=about, help_behavior_hint=_say_default))
            options[field.name] = verb.__annotations__[field.name] = Annotated[
                hints[field.name], *marks
            ]
    return options


def _say_default(default: str) -> str:
    return "" if default in ("None", "False", "") else f"(default: {default})"


def _spell(verb: Any, name: str, value: str) -> str:
    """Return how a sentence mentions an argument: as an option of a verb where it has one, else as
    Python does.
    """
    options = {} if verb is None else _fields(verb)
    key = getattr(verb, "KEYWORDS", {}).get(name, name)
    if key not in options:
        return python_name(name, value)
    annotations = get_args(options[key])
    if POSITIONAL in annotations:
        named = next(
            (str(item.metavar) for item in annotations if getattr(item, "metavar", None)),
            key.upper(),
        )
        return named.strip("[]")  # around what may be left out
    flag = _flag(
        next((item.name for item in annotations if hasattr(item, "metavar") and item.name), key)
    )
    return flag if value in ("", "True") else f"{flag} {value.strip(chr(34))}"


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


if __name__ == "__main__":
    main()
