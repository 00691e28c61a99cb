"""``python -m hyperproto_runtime``."""

from hyperproto_runtime.cli import main

main()
