"""``hp.load``: a run's network and space, or an estimator, by what the folder holds."""

from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError
from hyperproto._core.files import whole
from hyperproto.training import load as load_run


def load(folder: str | Path, **options: Any) -> Any:
    """Give back what was written to a folder.

    Parameters
    ----------
    folder : path
        What :func:`hyperproto.fit` wrote, or the ``save`` of an estimator.
    **options
        For a run: ``which="last" | "best"``, ``network=``, ``space=``; see
        :func:`hyperproto.training.load`.

    Returns
    -------
    Loaded or estimator
        ``network, space = hp.load("runs/digits")``; ``classifier = hp.load("models/digits")``.
    """
    if not is_estimator(folder):
        return load_run(folder, **options)
    if options:
        got = ", ".join(options)
        raise InputError(
            "Options", f'be left out for "{folder}", an estimator, which is loaded whole', got
        )
    from hyperproto.estimators.store import load_estimator

    return load_estimator(folder)


def is_estimator(folder: str | Path) -> bool:
    """Whether a folder holds an estimator that was saved."""
    return (whole(folder) / "estimator.json").is_file()
