"""Reading the pickles of CIFAR-100 without running anything they ask for.

A pickle is a program: it names functions and calls them. Here a name stands for one of a few small stand-ins of our
own, which make plain arrays, dicts, lists, numbers and strings, and every other name is refused. Not even numpy's own
constructors are called: a dtype with forged flags would make them follow pointers that the file holds.
"""

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from hyperproto._core.errors import InputError

__all__ = ["load_restricted"]

PLAIN_DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")


def load_restricted(file: BinaryIO, name: str | Path) -> dict[str, Any]:
    """Return the dict that a pickle holds, its keys as str and its arrays as numpy arrays.

    Parameters
    ----------
    file : binary file
        The pickle, of any protocol, written by Python 2 or 3.
    name : str or Path
        What to call it in an error.
    """
    try:
        content = _Reader(file, encoding="bytes").load()
    except _RefusedError as refused:
        raise InputError(
            f'"{name}"',
            "hold only arrays, lists and text",
            f'a request for "{refused}"',
            "It was not read and nothing was run. It is not the publisher's file: get it from there again.",
        ) from None
    except Exception as error:  # broken pickles raise nearly anything
        got = f"an error ({type(error).__name__}: {error})"
        advice = "It may be cut short: get it again."
        raise InputError(f'"{name}"', "be a pickle as the publisher wrote it", got, advice) from None
    if not isinstance(content, dict):
        raise InputError(f'"{name}"', "hold a dict", type(content).__name__)
    return {_text(key): value.array if isinstance(value, _Array) else value for key, value in content.items()}


def _text(key: Any) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)


class _RefusedError(Exception):
    """A name that is not on the list."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[f"{module}.{name}"]
        except KeyError:
            raise _RefusedError(f"{module}.{name}") from None

    def persistent_load(self, pid: Any) -> NoReturn:
        raise _RefusedError(f"persistent id {pid!r}")


class _StandIn:
    """What a permitted name stands for: to be called, and nothing else. A pickle cannot change it."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setstate__(self, state: Any) -> NoReturn:
        raise _RefusedError("a change to a permitted name")


class _Dtype:
    """Which numbers, and in which order of bytes."""

    __slots__ = ("order", "plain")

    def __init__(self, plain: Any, *_: Any) -> None:
        plain = plain.decode("latin1") if isinstance(plain, bytes) else plain
        if plain not in PLAIN_DTYPES:
            raise _RefusedError(f"an array of {plain!r}")
        self.plain, self.order = plain, "|"

    def __setstate__(self, state: Any) -> None:
        order = state[1].decode("latin1") if isinstance(state[1], bytes) else state[1]
        if order not in ("|", "<", ">", "=") or any(part is not None for part in state[2:5]):
            raise _RefusedError("an array with fields")
        self.order = order


class _Array:
    """An array that is filled when its state arrives."""

    __slots__ = ("array",)

    def __init__(self, *_: Any) -> None:
        self.array: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, content = state
        self._fill(content, dtype, shape, "F" if fortran else "C")

    def _fill(self, content: Any, dtype: Any, shape: Any, order: Any) -> None:
        if not (isinstance(dtype, _Dtype) and isinstance(content, bytes | bytearray) and order in ("C", "F")):
            raise _RefusedError("an array of objects")
        numbers = np.frombuffer(content, np.dtype(dtype.order + dtype.plain))
        if math.prod(shape) != numbers.size:
            raise ValueError(f"an array of shape {shape} holds {numbers.size} numbers")
        self.array = numbers.reshape(shape, order=order)


def _array_from_buffer(content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array._fill(content, dtype, shape, order)
    return array


def _encode(text: str, encoding: str) -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise _RefusedError(f"the encoding {encoding!r}")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    return b""


_ALLOWED: dict[str, Any] = {
    "numpy.ndarray": None,  # named as an argument only, never called
    "numpy.dtype": _StandIn(_Dtype),
    "_codecs.encode": _StandIn(_encode),
    "__builtin__.bytes": _StandIn(_no_bytes),
    "builtins.bytes": _StandIn(_no_bytes),
}
for _core in ("numpy.core", "numpy._core"):  # before numpy 2, and since
    _ALLOWED[f"{_core}.multiarray._reconstruct"] = _StandIn(_Array)
    _ALLOWED[f"{_core}.numeric._frombuffer"] = _StandIn(_array_from_buffer)
