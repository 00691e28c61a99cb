"""The version, which is the runtime's too, and those of other packages as files note them."""

import platform
from importlib import metadata

from hyperproto_runtime._version import __version__

__all__ = ["__version__", "versions"]


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of hyperproto, torch, further packages and Python that something was made with."""
    others = {name: metadata.version(name) for name in ("torch", *packages)}
    return {"hyperproto": __version__, **others, "python": platform.python_version()}
