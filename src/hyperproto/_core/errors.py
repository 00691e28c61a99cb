"""The errors that a user can cause; the runtime raises the same ones."""

from hyperproto_runtime.errors import (
    SPELLING,
    HyperprotoError,
    InputError,
    InputTypeError,
    MissingDataError,
    MissingExtraError,
    NonFiniteError,
    NonFiniteLossError,
    StorageError,
    arg,
    python_name,
    require,
)

__all__ = [
    "SPELLING",
    "HyperprotoError",
    "InputError",
    "InputTypeError",
    "MissingDataError",
    "MissingExtraError",
    "NonFiniteError",
    "NonFiniteLossError",
    "StorageError",
    "arg",
    "python_name",
    "require",
]
