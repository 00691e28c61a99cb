"""``hyperproto``: the verbs, and one sentence for every mistake."""

import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import tyro

from hyperproto._core.errors import HyperprotoError, InputError
from hyperproto._core.registry import unknown_choice
from hyperproto._version import __version__
from hyperproto.cli.calibrate import Calibrate
from hyperproto.cli.data import Data
from hyperproto.cli.demo import Demo
from hyperproto.cli.doctor import Doctor
from hyperproto.cli.evaluate import Evaluate
from hyperproto.cli.place import Place
from hyperproto.cli.predict import Predict
from hyperproto.cli.reproduce import Reproduce
from hyperproto.cli.runs import Runs
from hyperproto.cli.train import Train
from hyperproto.cli.wording import in_options

__all__ = ["main"]

VERBS: dict[str, Any] = {
    "calibrate": Calibrate,
    "data": Data,
    "demo": Demo,
    "doctor": Doctor,
    "evaluate": Evaluate,
    "place": Place,
    "predict": Predict,
    "reproduce": Reproduce,
    "runs": Runs,
    "train": Train,
}
ABOUT = "Hyperspherical prototype networks: classify and regress on one sphere, laid out before training."


def main(argv: Sequence[str] | None = None) -> None:
    """Run one verb. A user's mistake prints one sentence and exits with 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"hyperproto {__version__}")
        return
    try:
        _check(arguments)
        verb = tyro.extras.subcommand_cli_from_dict(VERBS, prog="hyperproto", description=ABOUT, args=arguments)
        with in_options(verb):
            verb.run()
    except (HyperprotoError, OSError) as error:
        print(f"hyperproto: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as error:
        print(f"hyperproto: {str(error) or 'interrupted'}", file=sys.stderr)
        sys.exit(130)


def _check(arguments: Sequence[str]) -> None:
    """Refuse a verb that is none, and a list given in two parts, of which only the last would count."""
    if not arguments or arguments[0].startswith("-"):
        return
    name, *rest = arguments
    if name not in VERBS:
        raise unknown_choice(name, VERBS, what="verb")
    given = [word.partition("=")[0].replace("_", "-") for word in rest]
    hints = get_type_hints(VERBS[name])
    for field in fields(VERBS[name]):
        flag = "--" + field.name.replace("_", "-")
        if any(get_origin(hint) is tuple for hint in (hints[field.name], *get_args(hints[field.name]))) and (
            given.count(flag) > 1
        ):
            raise InputError(
                f"{flag} must be given once; got it {given.count(flag)} times. List all after one: {flag} A B."
            )


if __name__ == "__main__":
    main()
