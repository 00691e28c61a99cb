"""``python -m hyperproto`` and the command ``hyperproto``."""

import sys

from hyperproto._core.errors import MissingExtraError, require


def main() -> None:
    """Run the command line, or say in one sentence which extra it needs."""
    try:
        for module in ("tyro", "docstring_parser", "rich"):
            require(module, extra="cli", purpose="The command line")
    except MissingExtraError as error:
        sys.exit(f"hyperproto: {error}")
    from hyperproto.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
