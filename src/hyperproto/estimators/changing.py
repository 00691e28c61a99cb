"""Classes that come to a fitted estimator, leave it or are renamed.

What is done, and measured, is :mod:`hyperproto.evaluation.new_classes`; here labels of any dtype become names and ids
and back. Classes stay sorted, as scikit-learn has them: new ones are put among the old, each with its prototype.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.data import Arrays
from hyperproto.data.arrays import index_targets
from hyperproto.estimators.columns import ClassColumn
from hyperproto.estimators.labels import as_names, new_classes, new_ids, old_ids, same_kind
from hyperproto.evaluation.new_classes import Changed, ClassChange, add_classes, remove_classes, rename_classes
from hyperproto.evaluation.new_classes.examples import join_examples
from hyperproto.evaluation.new_classes.spaces import with_prototypes
from hyperproto.spaces import Space
from hyperproto.training.run import class_prototypes

if TYPE_CHECKING:
    from hyperproto.estimators.base import SphereEstimator

__all__ = ["add_to", "column_of", "remove_from", "rename_in"]

STALE = "Confidence was fitted before the classes came: fit it again by recalibrate(X, y), with examples of all."


def column_of(estimator: "SphereEstimator", column: str | None) -> str:
    """Return the name of the column of classes that is meant: the only one unless it is said."""
    names = {name: name for name, held in estimator.columns_.items() if isinstance(held, ClassColumn)}
    if column is None and len(names) != 1:
        listed = ", ".join(f'"{name}"' for name in names) or "none"
        raise InputError(f"There must be one column of classes unless column=... says which; there are: {listed}.")
    return next(iter(names)) if column is None else choose(str(column), names, what="column of classes")


def add_to(
    estimator: "SphereEstimator",
    name: str,
    X: Any,
    y: Any,
    *,
    classes: Any = None,
    replay: Any = None,
    old_valid: Any = None,
    new_valid: Any = None,
    **options: Any,
) -> ClassChange:
    """Give a column more classes; ``options`` are those of :func:`hyperproto.evaluation.add_classes`."""
    old = _classes(estimator, name)
    new = new_classes(old, y if classes is None else classes)
    both = np.concatenate([old, new])
    ids = None if y is None else new_ids(old, new, y)
    if new_valid is not None:
        options["new_valid"] = _inputs(estimator, new_valid[0]), new_ids(old, new, new_valid[1])
    changed = add_classes(
        (estimator.network_, _named(estimator, name, old)),
        None if X is None else _inputs(estimator, X),
        ids,
        names=as_names(both)[len(old) :],
        replay=estimator.replay_ if replay is None else _rows(estimator, replay),
        old_valid=None if old_valid is None else _rows(estimator, old_valid),
        task=name,
        **options,
    )
    order = _take_over(estimator, name, changed, both)
    _remember(estimator, name, order, None if X is None or ids is None else (_inputs(estimator, X), ids))
    if estimator.held_ is None:
        return changed.report
    estimator.held_ = None  # answers of another network, or to fewer classes
    return replace(changed.report, remarks=(*changed.report.remarks, STALE))


def remove_from(estimator: "SphereEstimator", name: str, classes: Any, old_valid: Any = None) -> ClassChange:
    """Take classes from a column."""
    old = _classes(estimator, name)
    ids = old_ids(old, classes)
    names = as_names(old)
    held = estimator.replay_ if old_valid is None else _rows(estimator, old_valid)
    model = (estimator.network_, _named(estimator, name, old))
    changed = remove_classes(model, [names[index] for index in ids], old_valid=held, task=name)
    kept = np.setdiff1d(np.arange(len(old)), ids)
    _take_over(estimator, name, changed, old[kept])
    _reorder(estimator, name, kept, len(old))
    return changed.report


def rename_in(estimator: "SphereEstimator", name: str, names: Any) -> ClassChange:
    """Call classes of a column otherwise, ``{old: new}``."""
    old = _classes(estimator, name)
    given = dict(names)
    renamed = old.astype(np.result_type(old, same_kind(old, list(given.values()))))
    renamed[old_ids(old, list(given))] = list(given.values())
    if len(np.unique(renamed)) < len(renamed):
        raise InputError(f"Classes must differ after they are renamed; got {renamed.tolist()}.")
    before, after = as_names(old), as_names(renamed)
    model = (estimator.network_, _named(estimator, name, old))
    changed = rename_classes(model, {a: b for a, b in zip(before, after, strict=True) if a != b}, task=name)
    _reorder(estimator, name, _take_over(estimator, name, changed, renamed), len(old))
    return changed.report


def _take_over(estimator: "SphereEstimator", name: str, changed: Changed, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Set network, space and classes of the estimator, sorted; return which class stands where."""
    order = np.argsort(classes, kind="stable")
    space = changed.run.space
    assert isinstance(space, Space)
    placed = class_prototypes(space)[name]
    rows = torch.from_numpy(order).to(placed.vectors.device)
    sorted_rows = replace(placed, vectors=placed.vectors[rows].contiguous(), names=None)
    estimator.space_ = with_prototypes(space, name, sorted_rows)
    estimator.network_ = changed.run.network.eval()
    estimator.history_ = [*estimator.history_, *changed.run.history]
    estimator.n_iter_ = len(estimator.history_)
    estimator.columns_ = {**estimator.columns_, name: ClassColumn(classes[order])}
    estimator._set_classes()
    return order


def _remember(
    estimator: "SphereEstimator", name: str, order: NDArray[np.intp], new: tuple[torch.Tensor, torch.Tensor] | None
) -> None:
    """Keep examples of the new classes beside those of the old, under the ids of now."""
    held = estimator.replay_
    if held is None:
        return
    both = held if new is None else join_examples(held, Arrays(new[0], {name: new[1]}))
    assert isinstance(both.targets, dict)
    ids = _places(order, len(order))[both.targets[name]]
    estimator._keep_examples(Arrays(both.inputs, {**both.targets, name: ids}))


def _reorder(estimator: "SphereEstimator", name: str, order: NDArray[np.intp], before: int) -> None:
    """Bring what is held to the classes of now: column j of now was column ``order[j]`` of ``before``."""
    places = _places(order, before)
    held, stored = estimator.held_, estimator.replay_
    if stored is not None:
        assert isinstance(stored.targets, dict)
        targets = dict(stored.targets)
        targets[name] = places[targets[name]]
        rows = (targets[name] >= 0).nonzero().flatten()
        estimator.replay_ = Arrays(stored.inputs[rows], index_targets(targets, rows))
    if held is not None:
        now = places[torch.from_numpy(held.targets[name])].numpy()
        estimator.held_ = replace(
            held,
            scores={**held.scores, name: held.scores[name][now >= 0][:, order]},
            targets={**held.targets, name: now[now >= 0]},
            norms=held.norms[now >= 0],
        )
        estimator._gain_confidence()


def _places(order: NDArray[np.intp], before: int) -> torch.Tensor:
    """Return the id of now for each id of before, -1 for those that are gone.

    >>> _places(np.array([2, 0]), 3).tolist()
    [1, -1, 0]
    """
    places = torch.full((before,), -1)
    places[torch.from_numpy(order)] = torch.arange(len(order))
    return places


def _classes(estimator: "SphereEstimator", name: str) -> NDArray[Any]:
    column = estimator.columns_[name]
    assert isinstance(column, ClassColumn)
    return column.classes


def _named(estimator: "SphereEstimator", name: str, classes: NDArray[Any]) -> Space:
    """Return the space with names for its classes, which a prior looks them up by."""
    placed = class_prototypes(estimator.space_)[name]
    return with_prototypes(estimator.space_, name, replace(placed, names=as_names(classes)))


def _inputs(estimator: "SphereEstimator", X: Any) -> torch.Tensor:
    return estimator._prepare(estimator._check_inputs(X, reset=False))


def _rows(estimator: "SphereEstimator", data: Any) -> Arrays:
    """Return a pair (X, y) of old classes as the network and the space take it."""
    X, y = data
    return Arrays(_inputs(estimator, X), estimator._encode(y))
