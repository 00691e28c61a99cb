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
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == package:
            advice = f'Type: pip install "hyperproto[{extra}]"'
            raise MissingExtraError(f"{purpose} needs {package}, which is not installed.", advice=advice) from None
        reason: Exception = error
    except (ImportError, OSError, RuntimeError) as error:  # as torchvision does where it was built for another torch
        reason = error
    raise MissingExtraError(f"{purpose} needs {package}, which is installed but does not load: {reason}.") from reason
