"""Optional dependencies: imported when first needed, and answered by the line to type when missing."""

from importlib import import_module
from typing import Any

from hyperproto._core.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import and return an optional module.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``"matplotlib.pyplot"``.
    extra : str
        The extra of this package that installs it.
    purpose : str
        What needs it, as the start of a sentence: ``"Drawing figures"``.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there and something inside it is broken
        advice = f'Type: pip install "hyperproto[{extra}]"'
        raise MissingExtraError(f"{purpose} needs {package}, which is not installed.", advice=advice) from None
