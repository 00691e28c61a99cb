"""How messages about priors name classes, and what they say where a class has none."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np

from hyperproto._core.errors import InputError
from hyperproto._core.registry import unknown_choice

__all__ = ["check_missing", "label", "listed", "need_names", "settle_missing"]

SUGGEST_FROM = 20_000  # words: comparing with more takes long enough to be felt


def label(index: int | np.integer, names: Sequence[str] | None) -> str:
    """Return the name of a class in quotes, or its number where there are no names."""
    return str(int(index)) if names is None else f'"{names[int(index)]}"'


def listed(names: Sequence[str], *, limit: int = 10) -> str:
    """Return names in quotes, the first few of them.

    >>> listed(["cat", "dog", "bird"], limit=2)
    '"cat", "dog" and 1 more'
    """
    shown = ", ".join(f'"{name}"' for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def check_missing(missing: str) -> None:
    """Check the choice of what happens to classes without prior."""
    if missing not in ("error", "free"):
        raise unknown_choice(missing, ("error", "free"), what="choice for missing classes")


def need_names(names: tuple[str, ...] | None, *, what: str) -> tuple[str, ...]:
    """Return the class names, which ``what`` is looked up by."""
    if names is None:
        raise InputError(
            f"{what} is looked up by class name; only the number of classes was given. Give their names."
        )
    return names


def settle_missing(
    absent: Sequence[str],
    total: int,
    *,
    missing: str,
    where: str,
    vocabulary: Iterable[str] | None = None,
    reason: str = "",
    advice: str = "Rename them",
) -> list[str]:
    """Raise where classes have no prior and must, or return the remark that they are placed without.

    Parameters
    ----------
    absent : sequence of str
        Class names that were not found.
    total : int
        How many classes were asked for.
    missing : {"error", "free"}
        What to do about them.
    where : str
        Where they were looked for.
    vocabulary : iterable of str, optional
        What could have been asked for, for a suggestion.
    reason : str, default ""
        A sentence on why the first was not found.
    advice : str, default "Rename them"
        What to do about it, other than placing them without prior.
    """
    if not absent:
        return []
    if len(absent) == total:
        raise InputError(
            f"A prior must speak of the classes asked for; none of the {total} is in {where}: {listed(absent)}. "
            f"Check that it is meant for these classes.{_suggestion(absent[0], vocabulary)}"
        )
    if missing == "free":
        return [
            f"{len(absent)} of {total} classes are not in {where} and are placed without prior: {listed(absent)}."
        ]
    raise InputError(
        f"Every class must be in {where}; {len(absent)} of {total} are not: {listed(absent)}."
        f"{f' {reason}' if reason else ''}{_suggestion(absent[0], vocabulary)} "
        f'{advice}, or use missing="free" to place them without prior.'
    )


def _suggestion(name: str, vocabulary: Iterable[str] | None) -> str:
    words = list(vocabulary or ())
    if len(words) > SUGGEST_FROM:
        return ""
    near = get_close_matches(name, words, n=1, cutoff=0.6)
    return f' Did you mean "{near[0]}"?' if near else ""
