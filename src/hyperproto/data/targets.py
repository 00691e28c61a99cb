"""From columns to targets: class names and bounds come from the training part, and go for the test part too."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto._core.seeding import derive_seed
from hyperproto.data.source import MISSING, Bounds, Labels, Target

__all__ = ["Unseen", "class_targets", "find_bounds", "find_labels", "held_out_rows"]

Unseen: TypeAlias = Literal["error", "missing"]


def find_labels(name: str, labels: Sequence[str | None], known: Target | None = None) -> Labels:
    """Return the classes that training labels name, sorted, or those known already."""
    if isinstance(known, Labels):
        return known
    names = sorted({label for label in labels if label is not None})
    if len(names) < 2:
        held = f'only "{names[0]}"' if names else "only empty cells"
        raise InputError(
            f'"{name}" must name two classes or more in the training data; it holds {held}. Leave it out.'
        )
    return Labels(names)


def class_targets(
    name: str, known: Labels, labels: Sequence[str | None], *, where: str, unseen: Unseen = "error"
) -> Tensor:
    """Return class ids, shape (n,) of int64, -1 where a label is missing.

    A label that training never saw is an error, or with ``unseen="missing"`` counts as missing: such a row is then
    not scored for this task.
    """
    raises = choose(unseen, {"error": True, "missing": False}, what="rule for unseen labels")
    ids = {label: k for k, label in enumerate(known.names)}
    strange = sorted({label for label in labels if label is not None and label not in ids})
    if strange and raises:
        listed = ", ".join(f'"{label}"' for label in strange[:5]) + (", ..." if len(strange) > 5 else "")
        rows = sum(label is not None and label not in ids for label in labels)
        raise InputError(
            f'"{name}" in {where} must be among the {known.num_classes} classes of the training data; it holds '
            f"{listed} ({len(strange)} unseen in {rows} of {len(labels)} rows). Add training examples, or give "
            'unseen="missing" to leave those labels out.'
        )
    found = [MISSING if label is None else ids.get(label, MISSING) for label in labels]
    return torch.tensor(found, dtype=torch.int64)


def find_bounds(name: str, values: Tensor, known: Target | tuple[float, float] | None = None) -> Bounds:
    """Return the extremes of the training values, or the bounds known already."""
    if isinstance(known, Bounds):
        return known
    if isinstance(known, tuple | list):
        return Bounds(*known)
    present = values[~values.isnan()]
    if not len(present):
        raise InputError(f'"{name}" must hold numbers in the training data; every cell is empty. Leave it out.')
    low, high = float(present.min()), float(present.max())
    if low == high:
        raise InputError(
            f'"{name}" must vary in the training data; it is {low:g} in all of its {len(present)} rows, and a range '
            "needs two different bounds. Give bounds of your own, or leave it out."
        )
    return Bounds(low, high)


def held_out_rows(labels: Sequence[Tensor], n: int, *, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Split ``n`` rows at random into training and held-out rows, both in the order of the file.

    Parameters
    ----------
    labels : sequence of Tensor, each of shape (n,)
        Class ids, -1 where missing. The share is taken from each class of the first; a class of any of them that
        would be held out whole stays in training with at least one row.
    n : int
        Number of rows.
    share : float
        Of the rows, in [0, 1).
    seed : int
        Fixes the choice.
    """
    check_finite_number(share, "held_out", at_least=0)
    if share >= 1:
        raise InputError(f"`held_out` must be less than 1, a share of the rows; got {share:g}.")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(derive_seed(seed, "held out")))
    groups = labels[0] if labels else torch.zeros(n, dtype=torch.int64)
    held = _is_held(groups, order, share)
    for ids in labels:
        known = torch.unique(ids[~held])
        lost = held & ~torch.isin(ids, known) & (ids != MISSING)
        first = {int(ids[row]): row for row in lost.nonzero().flatten().tolist()}
        held[list(first.values())] = False
    return (~held).nonzero().flatten(), held.nonzero().flatten()


def _is_held(groups: Tensor, order: Tensor, share: float) -> Tensor:
    """Return which rows are held out: the first ``share`` of every group in a random order. Shape (n,), bool."""
    order = order[torch.sort(groups[order], stable=True).indices]
    _, group, counts = torch.unique(groups[order], return_inverse=True, return_counts=True)
    rank = torch.arange(len(order)) - (counts.cumsum(0) - counts)[group]
    held = torch.zeros(len(order), dtype=torch.bool)
    held[order] = rank < torch.minimum((counts * share).round(), counts - 1)[group]
    return held
