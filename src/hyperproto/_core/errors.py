"""The errors a user can cause.

Each carries one sentence: what must hold, what arrived, what to do. Each is also the built-in type a caller
would expect (`ValueError`, `TypeError`, ...), so ordinary `except` clauses and scikit-learn's checks work.
The command line prints the sentence and exits with 2; anything that is not a `HyperprotoError` or an
`OSError` is a defect of ours and keeps its traceback.
"""

__all__ = [
    "HyperprotoError",
    "InputError",
    "InputTypeError",
    "MissingDataError",
    "MissingExtraError",
    "NonFiniteLossError",
    "StorageError",
]


class HyperprotoError(Exception):
    """Base of every error that is explained by a sentence."""


class InputError(HyperprotoError, ValueError):
    """A value, shape or choice that cannot work."""


class InputTypeError(HyperprotoError, TypeError):
    """An argument of the wrong type."""


class MissingDataError(HyperprotoError, FileNotFoundError):
    """A file of a data set is not there."""


class MissingExtraError(HyperprotoError, ImportError):
    """An optional dependency is needed and not installed."""


class NonFiniteLossError(HyperprotoError, FloatingPointError):
    """Training met a loss that is infinite or not a number."""


class StorageError(HyperprotoError, OSError):
    """A file of a run could not be written; what was written before is intact."""
