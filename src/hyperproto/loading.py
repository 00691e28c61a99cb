"""``hp.load``: a run, or an estimator, by what the folder holds."""

from pathlib import Path
from typing import Any, TypeVar, overload

from torch import nn

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.folders import whole
from hyperproto.spaces import OutputSpace
from hyperproto.training import Run
from hyperproto.training import load as load_run

T = TypeVar("T")


@overload
def load(
    folder: str | Path,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Run: ...


@overload
def load(folder: str | Path, kind: type[T]) -> T: ...


def load(folder: str | Path, kind: type[Any] | None = None, **options: Any) -> Any:
    """Give back what was written to a folder.

    Parameters
    ----------
    folder : path
        What :func:`hyperproto.fit` wrote, or the ``save`` of an estimator.
    kind : type, optional
        The class of an estimator that is saved there, such as ``HypersphericalClassifier``: it is
        checked, and known to type checkers.
    **options
        For a run: ``which="last" | "best"``, ``network=``, ``space=``; see
        :func:`hyperproto.training.load`.

    Returns
    -------
    Run or estimator
        ``network, space = hp.load("runs/digits")``; ``classifier = hp.load("models/digits")``.
    """
    if not is_estimator(folder):
        found: object = load_run(folder, **options)
    elif options:
        rule = f'be left out for "{folder}", an estimator, which is loaded whole'
        raise InputError("Options", rule, ", ".join(options))
    else:
        from hyperproto.estimators.store import load_estimator

        found = load_estimator(folder)
    if kind is not None and not isinstance(found, kind):
        rule = f"hold a {kind.__name__}"
        raise InputTypeError(f'"{folder}"', rule, f"a {type(found).__name__}")
    return found


def is_estimator(folder: str | Path) -> bool:
    """Whether a folder holds an estimator that was saved."""
    return (whole(folder) / "estimator.json").is_file()
