"""Classes that a trained model forgets, or knows by other names."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hyperproto.data import Arrays
from hyperproto.evaluation.new_classes.examples import prepared
from hyperproto.evaluation.new_classes.measure import remark_on_loss, share_right, warn_of_loss
from hyperproto.evaluation.new_classes.models import AnyModel, open_model, store_model, store_report
from hyperproto.evaluation.new_classes.report import Changed, ClassChange
from hyperproto.evaluation.new_classes.spaces import class_task, with_prototypes
from hyperproto.prototypes.change import class_ids
from hyperproto.spaces.tasks import MISSING
from hyperproto.training.run import class_prototypes

__all__ = ["remove_classes", "rename_classes"]


def remove_classes(
    run: AnyModel,
    classes: Sequence[str] | Sequence[int],
    *,
    old_valid: Any = None,
    task: str | None = None,
    folder: str | Path | None = None,
) -> Changed:
    """Return a trained model without some classes, and a report of how good it is on the others before and after.

    Parameters
    ----------
    run : Run, pair (network, space), or path
        As for :func:`add_classes`; not touched.
    classes : sequence of str or int
        Names, or ids where classes have no names. Ids after a removed one fall.
    old_valid : pair (inputs, targets), optional
        Examples to measure on, with the ids of before; those of removed classes are left out.
    task : str, optional
        Which class task, where the space has several.
    folder : path, optional
        Where to store the new run, for ``load``.
    """
    model = open_model(run)
    space, task = class_task(model.space, task)
    old = class_prototypes(space)[task]
    gone = class_ids(old.names, old.num_classes, classes)
    fewer = with_prototypes(space, task, old.remove(classes))
    ids = _falling_ids(old.num_classes, gone)
    kept = torch.arange(old.num_classes).masked_fill(ids == MISSING, MISSING)
    data = None if old_valid is None else prepared(old_valid, "old_valid", model.network)
    before, examples = share_right(model.network, space, task, _with_ids(data, task, kept))
    after, _ = share_right(model.network, fewer, task, _with_ids(data, task, ids))
    made = store_model(model, fewer, folder)
    report = ClassChange(
        how="remove",
        classes=tuple(index if old.names is None else old.names[index] for index in gone),
        num_classes=old.num_classes - len(gone),
        old_before=before,
        old_after=after,
        new_accuracy=None,
        old_examples=examples,
        new_examples=0,
        max_cosine_before=old.certificate.max_cosine,
        max_cosine=class_prototypes(fewer)[task].certificate.max_cosine,
        remarks=tuple(remark_on_loss(before, after)),
    )
    store_report(made, report)
    warn_of_loss(report)
    return Changed(made, report)


def rename_classes(
    run: AnyModel, names: Mapping[str, str], *, task: str | None = None, folder: str | Path | None = None
) -> Changed:
    """Return a trained model that calls some classes otherwise, ``{old: new}``; its answers are the same.

    ``run``, ``task`` and ``folder`` are as for :func:`add_classes`.
    """
    model = open_model(run)
    space, task = class_task(model.space, task)
    placed = class_prototypes(space)[task].rename(names)
    made = store_model(model, with_prototypes(space, task, placed), folder)
    cosine = placed.certificate.max_cosine
    changed = tuple(names.values())
    report = ClassChange("rename", changed, placed.num_classes, None, None, None, 0, 0, cosine, cosine)
    store_report(made, report)
    return Changed(made, report)


def _falling_ids(num_classes: int, gone: list[int]) -> Tensor:
    """Return the new id of each old one, -1 for those that are gone.

    >>> _falling_ids(4, [1]).tolist()
    [0, -1, 1, 2]
    """
    stays = torch.ones(num_classes, dtype=torch.bool)
    stays[gone] = False
    return (stays.cumsum(0) - 1).masked_fill(~stays, MISSING)


def _with_ids(data: Arrays | None, task: str, ids: Tensor) -> Arrays | None:
    """Return the data with other ids in one task; missing labels stay missing."""
    if data is None:
        return None

    def changed(labels: Tensor) -> Tensor:
        return ids[labels.long().clamp_min(0)].masked_fill(labels < 0, MISSING)

    if isinstance(data.targets, Tensor):
        return Arrays(data.inputs, changed(data.targets))
    return Arrays(data.inputs, {**data.targets, task: changed(data.targets[task])})
