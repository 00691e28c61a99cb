"""Labels of classes that are new to a fitted estimator, of any dtype, and of those it knows."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto._core.registry import unknown_choice
from hyperproto.estimators.columns import ClassColumn

__all__ = ["as_names", "new_classes", "new_ids", "old_ids", "same_kind"]


def as_names(classes: NDArray[Any]) -> tuple[str, ...]:
    """Return the names a prior looks classes up by."""
    return tuple(str(value) for value in classes.tolist())


def same_kind(old: NDArray[Any], values: Any) -> NDArray[Any]:
    """Return labels as an array of the kind the old classes have."""
    given = np.asarray(values) if old.dtype.kind != "O" else np.asarray(values, dtype=object)
    kinds = "iu" if old.dtype.kind in "iu" else old.dtype.kind
    if given.ndim != 1 or not len(given) or given.dtype.kind not in kinds:
        raise InputError(
            f"New classes must be a list of what the old ones are, such as {old.tolist()[0]!r} ({old.dtype}); "
            f"got {given.dtype} of shape {given.shape}."
        )
    return given


def new_classes(old: NDArray[Any], labels: Any) -> NDArray[Any]:
    """Return the new classes, each once, in the order they are first named; where they are labels, sorted."""
    if labels is None:
        raise InputError("Say which classes are new: y for examples, or classes=[...].")
    found, first = np.unique(same_kind(old, labels), return_index=True)
    known = np.isin(found, old)
    if known.any():
        raise InputError(
            f"New classes must be new; {found[known].tolist()[0]!r} is known already. Examples of old classes go "
            "into replay=(X, y), or into partial_fit."
        )
    return found[np.argsort(first)] if len(first) == len(labels) else found


def new_ids(old: NDArray[Any], new: NDArray[Any], labels: Any) -> torch.Tensor:
    """Return the ids of labels of new classes, behind those of the old ones. Shape (n,)."""
    order = np.argsort(new)
    ids = ClassColumn(new[order]).encode(same_kind(old, labels))
    return torch.from_numpy(order)[ids] + len(old)


def old_ids(old: NDArray[Any], classes: Any) -> list[int]:
    """Return where classes stand among the old ones."""
    known = old.tolist()
    for value in np.asarray(classes, dtype=object).tolist():
        if value not in known:
            raise unknown_choice(value, as_names(old), what="class")
    return [known.index(value) for value in classes]
