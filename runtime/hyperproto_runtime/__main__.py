"""``python -m hyperproto_runtime``."""

from .runtime.cli import main

main()
