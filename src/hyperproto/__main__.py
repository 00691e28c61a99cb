"""``python -m hyperproto``: the same as the command ``hyperproto``."""

from hyperproto.cli.main import main

if __name__ == "__main__":
    main()
