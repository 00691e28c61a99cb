"""Fewer classes, or the same under other names; the points that stay are not touched."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import unknown_choice
from hyperproto.prototypes.prototypes import Prototypes
from hyperproto.prototypes.reserve import certify_with_reserve

__all__ = ["class_ids", "remove_classes", "rename_classes"]


def class_ids(names: tuple[str, ...] | None, num_classes: int, classes: Sequence[str] | Sequence[int]) -> list[int]:
    """Return the ids of classes given by name, or by id where they have no names; each once.

    >>> class_ids(("cat", "dog", "fox"), 3, ["fox", "cat"])
    [2, 0]
    """
    if isinstance(classes, str):
        raise InputTypeError(f'Classes must be a list of names; got one string, "{classes}".')
    if names is None:
        ids = [check_integer(index, "classes", at_least=0) for index in classes]
        for index in ids:
            if index >= num_classes:
                raise InputError(f"`classes` must be ids below {num_classes}; got {index}.")
    else:
        places = {name: index for index, name in enumerate(names)}
        for name in classes:
            if name not in places:
                raise unknown_choice(name, places, what="class")
        ids = [places[str(name)] for name in classes]
    return list(dict.fromkeys(ids))


def remove_classes(prototypes: Prototypes, classes: Sequence[str] | Sequence[int]) -> Prototypes:
    """Return the prototypes without some classes; see :meth:`Prototypes.remove`."""
    gone = class_ids(prototypes.names, prototypes.num_classes, classes)
    kept = np.setdiff1d(np.arange(prototypes.num_classes), gone)
    if len(kept) < 2:
        raise InputError(f"At least 2 classes must stay; removing {len(gone)} leaves {len(kept)}.")
    if not gone:
        return prototypes
    vectors = prototypes.vectors[torch.from_numpy(kept).to(prototypes.vectors.device)]
    reserve, old = prototypes.reserve, prototypes.certificate
    certificate = certify_with_reserve(
        vectors.numpy(force=True).astype(np.float64),
        None if reserve is None else reserve.numpy(force=True).astype(np.float64),
        method=f"{old.method}; {len(gone)} removed",
        seed=old.seed,
        remark=old.remark,
    )
    names = None if prototypes.names is None else tuple(prototypes.names[index] for index in kept)
    return Prototypes(vectors, certificate, names, reserve)


def rename_classes(prototypes: Prototypes, names: Mapping[str, str]) -> Prototypes:
    """Return the prototypes with some classes called otherwise; see :meth:`Prototypes.rename`."""
    if prototypes.names is None:
        raise InputError("These prototypes have no names to change; place them by name.")
    for old in names:
        if old not in prototypes.names:
            raise unknown_choice(old, prototypes.names, what="class")
    return replace(prototypes, names=tuple(names.get(name, name) for name in prototypes.names))
