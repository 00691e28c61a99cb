"""The version, which is the runtime's too."""

from hyperproto_runtime._version import __version__

__all__ = ["__version__"]
