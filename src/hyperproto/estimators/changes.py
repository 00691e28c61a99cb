"""Adding, removing and renaming the classes of a fitted estimator.

What is done, and measured, is :mod:`hyperproto.evaluation.new_classes`; here labels of any dtype
become names and ids and back. Classes stay sorted, as in scikit-learn: new ones are put among the
old, each with its prototype.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import nn

from hyperproto._core.arrays import Array
from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, arg
from hyperproto.data import Split
from hyperproto.data.source import select
from hyperproto.estimators.confidence import ConfidentEstimator
from hyperproto.evaluation.class_change import Changed, ClassChange
from hyperproto.evaluation.class_examples import moved_ids, open_sphere, with_prototypes
from hyperproto.evaluation.confidence.calibration import TaskOutputs
from hyperproto.evaluation.new_classes import add_classes, remove_classes, rename_classes
from hyperproto.spaces import Space
from hyperproto.tasks import Classes

Pair: TypeAlias = tuple[ArrayLike, ArrayLike]
"""Inputs and their classes, as ``fit`` takes them."""


class ClassChanges(ConfidentEstimator):
    """An estimator whose classes can change, with a report of what that did to the others."""

    def add_classes(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        how: Literal["auto", "mean", "train", "prior"] = "auto",
        classes: ArrayLike | None = None,
        prior: object | None = None,
        replay: Pair | None = None,
        old_valid: Pair | None = None,
        new_valid: Pair | None = None,
        column: str | None = None,
        **settings: Any,
    ) -> ClassChange:
        """Learn new classes, and return how good the old ones were before and are now.

        Prototypes of the old classes stay as they are, bit for bit. A warning says where the old
        classes lost more than a point of accuracy. Fit confidence again afterwards, by
        :meth:`recalibrate`.

        Parameters
        ----------
        X : array, shape (n, ...)
            Examples of the new classes, a few per class; how="prior" needs none.
        y : array, shape (n,)
            Their classes, of the kind the old ones are.
        how : {"auto", "mean", "train", "prior"}
            "mean" puts each new prototype at the mean direction of its examples, without training.
            "train" also trains a copy of the network on the new examples and replayed old ones,
            without which a mean may attract old classes. "prior" puts it among the old classes that
            a prior says it is similar to, without any example. "auto" is "prior" with a prior,
            "train" where there are examples to replay, else "mean".
        classes : array, optional
            The new classes, for how="prior".
        prior : optional
            For how="prior": word vectors, a taxonomy, ... over old and new classes; see
            :func:`hyperproto.place`.
        replay : pair (X, y), optional
            For how="train": examples of old classes; by default those kept by the setting
            ``replay``.
        old_valid, new_valid : pair (X, y), optional
            Held-out examples to measure on; by default those replayed and those given, and the
            report says so.
        column : str, optional
            Which column of classes, where there are several.
        **settings
            For how="train", of :func:`hyperproto.evaluation.add_classes`, such as ``epochs=50``.

        Returns
        -------
        ClassChange
        """
        check_is_fitted(self)
        name, old = self._find_column(column)
        new = _find_new(old, y if classes is None else classes)
        both = np.concatenate([old.values, new])
        self._check_unknown(both)
        inputs, labels = (None if X is None else self._inputs(X)), None
        if y is not None:
            labels = _names(_check_kind(old, y))
        if new_valid is not None:
            valid_names = _names(_check_kind(old, new_valid[1]))
            settings["new_valid"] = self._inputs(new_valid[0]), valid_names
        replayed = self.replay_ if replay is None else self._examples(replay)
        if how == "train" or (how == "auto" and prior is None and replayed is not None):
            settings = {"progress": False, "weight_decay": self.settings_.weight_decay} | settings
        changed = add_classes(
            self._model,
            inputs,
            labels,
            how=how,
            prior=prior,
            names=_names(new),
            replay=replayed,
            old_valid=self._examples(old_valid),
            task=name,
            **settings,
        )
        stale = self.held_out_ is not None
        self.held_out_ = None  # outputs of another network, or for fewer classes
        self._accept(name, changed, both, np.arange(len(both)))
        if self.replay_ is not None and inputs is not None and y is not None:
            self._keep_examples(Split(inputs, self._encode(y)))
        report = changed.report
        if not stale:
            return report
        note = (
            "Confidence was fitted before classes were added: fit it again by recalibrate(X, y), "
        )
        return replace(report, notes=(*report.notes, note + "with examples of all."))

    def remove_classes(
        self, classes: ArrayLike, *, old_valid: Pair | None = None, column: str | None = None
    ) -> ClassChange:
        """Remove classes, and return how good the others were before and are now; nothing is
        trained.

        ``old_valid`` and ``column`` are as in :meth:`add_classes`.
        """
        check_is_fitted(self)
        name, old = self._find_column(column)
        ids = _ids_of(old, classes)
        removed = [_names(old.values)[index] for index in ids]
        examples = self.replay_ if old_valid is None else self._examples(old_valid)
        changed = remove_classes(self._model, removed, old_valid=examples, task=name)
        kept = np.setdiff1d(np.arange(old.num_classes), ids)
        self._accept(name, changed, old.values[kept], kept)
        return changed.report

    def rename_classes(self, names: Mapping[Any, Any], *, column: str | None = None) -> ClassChange:
        """Rename classes, ``{old: new}``; predictions are the same but for the names."""
        check_is_fitted(self)
        name, old = self._find_column(column)
        after = _check_kind(old, list(names.values()))
        renamed = old.values.astype(np.result_type(old.values, after))
        renamed[_ids_of(old, list(names))] = list(names.values())
        if len(np.unique(renamed)) < len(renamed):
            raise InputError("The classes", "differ after they are renamed", renamed.tolist())
        self._check_unknown(renamed)
        pairs = zip(_names(old.values), _names(renamed), strict=True)
        moved = {before: now for before, now in pairs if before != now}
        changed = rename_classes(self._model, moved, task=name)
        self._accept(name, changed, renamed, np.arange(len(renamed)))
        return changed.report

    @property
    def _model(self) -> tuple[nn.Module, Space]:
        return self.network_, self.space_

    def _find_column(self, given: str | None) -> tuple[str, Classes]:
        """Return the column of classes that is named, or the only one."""
        columns = self._class_columns
        if given is None and len(columns) != 1:
            listed = ", ".join(f'"{name}"' for name in columns) or "none"
            rule = "name a column of classes, where there is not just one"
            raise InputError("column", rule, f"none of: {listed}")
        name = next(iter(columns)) if given is None else str(given)
        return name, choose(name, columns, what="column of classes")

    def _examples(self, data: Pair | None) -> Split | None:
        """Return a pair (X, y) of old classes as the network and the space take it."""
        return None if data is None else Split(self._inputs(data[0]), self._encode(data[1]))

    def _accept(
        self, name: str, changed: Changed, classes: Array, former: NDArray[np.intp]
    ) -> None:
        """Take over a change with its classes sorted, and adapt what is kept; class j was class
        ``former[j]``.
        """
        sphere, order = open_sphere(changed.run, name), np.argsort(classes, kind="stable")
        most = max(len(classes), self._class_columns[name].num_classes)
        ids = moved_ids(torch.from_numpy(former[order]), most)
        placed, classes = sphere.placed, classes[order]
        rows = torch.from_numpy(order).to(placed.vectors.device)
        vectors = placed.vectors[rows].contiguous()
        sorted_rows = replace(placed, vectors=vectors, names=_names(classes))
        labels = None if classes.dtype.kind == "U" else classes
        self.space_ = with_prototypes(
            sphere.space, name, sorted_rows, order.tolist(), labels=labels
        )
        self.targets_ = self.space_.tasks
        self.network_ = changed.run.network
        self.history_ = [*self.history_, *changed.run.history]
        self.n_iter_ = len(self.history_)
        if self.replay_ is not None:
            now = ids[self.replay_.targets[name]]
            moved = Split(self.replay_.inputs, self.replay_.targets | {name: now})
            self.replay_ = select(moved, (now >= 0).nonzero().flatten())
        if self.held_out_ is not None:
            still = ids[torch.from_numpy(self.held_out_[name].targets)].numpy()
            kept = {column: rows.rows(still >= 0) for column, rows in self.held_out_.items()}
            scores, strengths = kept[name].scores[:, former[order]], kept[name].strengths
            self.held_out_ = kept | {name: TaskOutputs(scores, still[still >= 0], strengths)}
            self._fit_confidence()


def _names(values: Array) -> tuple[str, ...]:
    """Return classes as strings, by which a prior knows them."""
    return tuple(str(value) for value in values.tolist())


def _check_kind(old: Classes, given: ArrayLike) -> Array:
    """Return labels as an array, which must be of the kind that the old classes are."""
    own = old.values
    values = np.asarray(given) if own.dtype.kind != "O" else np.asarray(given, dtype=object)
    kinds = "iu" if own.dtype.kind in "iu" else own.dtype.kind
    if values.ndim != 1 or not len(values) or values.dtype.kind not in kinds:
        like = f"{own.tolist()[0]!r} ({own.dtype})"
        rule = f"be a list of the same kind as the old ones, such as {like}"
        raise InputError("New classes", rule, f"{values.dtype} of shape {values.shape}")
    return values


def _find_new(old: Classes, labels: ArrayLike | None) -> Array:
    """Return the new classes among labels, each once: in their order where each occurs once, else
    sorted.
    """
    if labels is None:
        advice = f"Or pass {arg('classes', '[...]')}."
        raise InputError("y", "hold the classes of the new examples", "none", advice)
    given = _check_kind(old, labels)
    classes, first = np.unique(given, return_index=True)
    is_old = np.isin(classes, old.values)
    if is_old.any():
        advice = f"Pass examples of old classes as {arg('replay', '(X, y)')}, or to partial_fit."
        got = repr(classes[is_old].tolist()[0])
        raise InputError("New classes", "not be known already", got, advice)
    return classes[np.argsort(first)] if len(first) == len(given) else classes


def _ids_of(old: Classes, classes: ArrayLike) -> list[int]:
    """Return the ids of some of the classes."""
    ids = {value: index for index, value in enumerate(old.values.tolist())}
    return [
        choose(value, ids, what="class") for value in np.asarray(classes, dtype=object).tolist()
    ]
