"""``hyperproto``: the verbs, and one sentence for every mistake."""

import sys
from collections.abc import Sequence
from typing import Any

import tyro

from hyperproto._core.errors import HyperprotoError
from hyperproto._version import __version__
from hyperproto.cli.calibrate import Calibrate
from hyperproto.cli.data import Data
from hyperproto.cli.demo import Demo
from hyperproto.cli.doctor import Doctor
from hyperproto.cli.evaluate import Evaluate
from hyperproto.cli.place import Place
from hyperproto.cli.predict import Predict
from hyperproto.cli.report import Report
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
    "report": Report,
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
    verb = tyro.extras.subcommand_cli_from_dict(VERBS, prog="hyperproto", description=ABOUT, args=arguments)
    try:
        with in_options(verb):
            verb.run()
    except (HyperprotoError, OSError) as error:
        print(f"hyperproto: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as error:
        print(f"hyperproto: {str(error) or 'interrupted'}", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
