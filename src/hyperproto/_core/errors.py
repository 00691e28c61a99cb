"""The errors a user can cause, as data: which argument, what must hold, what arrived, what to do.

Each is also the built-in type a caller would expect (`ValueError`, `TypeError`, ...), so ordinary
`except` clauses and scikit-learn's checks work. `str(error)` is the sentence for Python; under the
command line it has the names of options, and is printed with exit code 2. Anything that is not a
`HyperprotoError` or an `OSError` is a defect of ours and keeps its traceback.
"""

from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any

# This file is in the distribution without torch, too, which then is the one to name.
DISTRIBUTION = __name__.partition(".")[0].replace("_", "-")

# Enclose the name of an argument within advice until a front end puts it into its own words.
_OPEN, _VALUE, _CLOSE = "\ue000", "\ue001", "\ue002"


def arg(name: str, value: object = None) -> str:
    """Return a mention of an argument for a rule or advice, which each front end spells in its own
    way.

    In Python it becomes ```name``` or ``name=value``; on the command line ``--name`` or ``--name
    value``.
    """
    return f"{_OPEN}{name}{_VALUE}{'' if value is None else value}{_CLOSE}"


def python_name(name: str, value: str) -> str:
    """Return an argument as Python code mentions it.

    >>> python_name("epochs", ""), python_name("keep", '"best"')
    ('`epochs`', 'keep="best"')
    """
    return f"{name}={value}" if value else f"`{name}`"


SPELLING: ContextVar[Callable[[str, str], str]] = ContextVar("SPELLING", default=python_name)
"""How sentences mention arguments: a front end sets its own way once, and every error is then in
its words.
"""


class HyperprotoError(Exception):
    """Base of every error that is explained by a sentence.

    Parameters
    ----------
    argument : str
        The name of the argument at fault, or whatever else the rule is about, such as a file in
        quotes or "Class names". Without a rule, a whole sentence.
    rule : str
        What must hold: what follows "must".
    got : object, optional
        What arrived.
    advice : str
        What to do; may mention other arguments by :func:`arg`.

    Examples
    --------
    >>> print(InputError("epochs", "be at least 1", 0,
    ...     f"Leave {arg('epochs')} out to let the data decide."))
    `epochs` must be at least 1; got 0. Leave `epochs` out to let the data decide.
    >>> print(InputError('"runs/a"', "hold a run"))
    "runs/a" must hold a run.
    """

    def __init__(self, argument: str, rule: str = "", got: object = None, advice: str = "") -> None:
        self.argument, self.rule, self.got, self.advice = argument, rule, got, advice
        super().__init__(argument, rule, got, advice)

    def __str__(self) -> str:
        subject = (
            SPELLING.get()(self.argument, "")
            if self.argument.isidentifier()
            else _fill(self.argument)
        )
        if not self.rule:
            stated = subject
        else:
            got = "" if self.got is None else f"; got {self.got}"
            stated = f"{subject} must {_fill(self.rule)}{got}."
        return f"{stated} {_fill(self.advice)}".strip()


def _fill(text: str) -> str:
    """Replace the mentions of arguments in a text."""
    start, *mentions = text.split(_OPEN)
    for mention in mentions:
        named, _, rest = mention.partition(_CLOSE)
        start += SPELLING.get()(*named.split(_VALUE)) + rest
    return start


class InputError(HyperprotoError, ValueError):
    """A value, shape or choice that cannot work."""


class InputTypeError(HyperprotoError, TypeError):
    """An argument of the wrong type."""


class MissingDataError(HyperprotoError, FileNotFoundError):
    """A file of a data set is not there."""


class MissingExtraError(HyperprotoError, ImportError):
    """An optional dependency is needed and not installed."""


class NonFiniteError(InputError, FloatingPointError):
    """Outputs of a network are infinite or not a number."""


class NonFiniteLossError(HyperprotoError, FloatingPointError):
    """Training met a loss that is infinite or not a number."""


class StorageError(HyperprotoError, OSError):
    """A file of a run could not be written; what was written before is intact."""


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
            advice = f'Type: pip install "{DISTRIBUTION}[{extra}]"'
            raise MissingExtraError(
                f"{purpose} needs {package}, which is not installed.", advice=advice
            ) from None
        reason: Exception = error
    except (
        ImportError,
        OSError,
        RuntimeError,
    ) as error:  # as torchvision does where it was built for another torch
        reason = error
    raise MissingExtraError(
        f"{purpose} needs {package}, which is installed but does not load: {reason}."
    ) from reason
