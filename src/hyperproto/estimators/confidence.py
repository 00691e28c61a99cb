"""The confidence of an estimator: fitted to rows that were not trained on, for whatever coverage is
asked for.
"""

import math
import warnings
from abc import ABC
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from hyperproto._core.arrays import Array
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.data import Split, Standardizer, TablePreprocessing
from hyperproto.estimators.base import SphereEstimator
from hyperproto.estimators.store import save_estimator
from hyperproto.evaluation.confidence import (
    ConformalInterval,
    ConformalSets,
    TaskCalibration,
    TaskOutputs,
    uncalibrated,
)
from hyperproto.export import Exported, export_model

EXPORTED = (
    0.9,
    0.5,
    0.8,
    0.95,
    0.99,
)  # coverages that an exported model can give, the default first


class ConfidentEstimator(SphereEstimator, ABC):
    """An estimator that keeps what it says about held-out rows, and so knows
    how often it is right.
    """

    def recalibrate(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the confidence of predictions to rows that were not trained on, with examples of
        every class.

        For use where ``fit`` held no rows out, after :meth:`partial_fit`, or after classes were
        added.
        """
        check_is_fitted(self)
        for column in self._class_columns.values():
            self._check_unknown(column.values)
        inputs, targets = self._inputs(X), self._encode(y)
        check_consistent_length(inputs, *targets.values())
        return self._calibrate(Split(inputs, targets))

    def export(self, folder: str | Path, X: ArrayLike, *, overwrite: bool = False) -> Exported:
        """Write a folder by which ``hyperproto.runtime.Predictor`` predicts without torch.

        Parameters
        ----------
        folder : path
            Must be new or empty; with ``overwrite`` it may hold another exported model.
        X : as for ``predict``
            Real rows, on which torch and onnxruntime are compared.
        """
        check_is_fitted(self)
        rows, names = self._check_inputs(X, reset=False), getattr(self, "feature_names_in_", None)
        preprocessing: Standardizer | TablePreprocessing = self.inputs_
        if self.encoder_ is not None:
            preprocessing, names = TablePreprocessing(self.encoder_, self.inputs_), None
        return export_model(
            folder,
            self.network_,
            self.space_,
            rows,
            preprocessing=preprocessing,
            columns=None if names is None else tuple(map(str, names)),
            about={name: self._describe(name) for name in self.targets_},
            bare=self.flat_,
            overwrite=overwrite,
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write everything a prediction needs into a new folder; ``hp.load(folder)`` gives it back.

        ``overwrite=True`` replaces an estimator that was saved there before, and nothing else.
        """
        check_is_fitted(self)
        save_estimator(self, folder, overwrite=overwrite)

    def _describe(self, name: str) -> dict[str, Any]:
        """Return what an exported model needs to know about a column, its promises for several
        coverages.
        """
        about: dict[str, Any] = {}
        is_class = name in self._class_columns
        if is_class:
            classes = self._class_columns[name].values
            about["classes"] = classes.tolist()
            if self._calibration(name).rejection is not None:
                about["unknown"] = choose_unknown(classes, getattr(self, "unknown_label", None))
        if self.held_out_ is None:
            return about
        if is_class:
            about |= self._calibration(name).form()
            about["sets"] = [self._conformal_sets(name, coverage) for coverage in EXPORTED]
        elif self.targets_[name].reads == "mask":
            about["sets"] = [self._label_sets(name, level) for level in EXPORTED]
        else:
            about["intervals"] = [self._conformal_interval(name, level) for level in EXPORTED]
        return about | {"calibrated": True}

    def _check_unknown(self, classes: Array) -> None:
        """Refuse a class that is called what inputs of no class are called."""
        if getattr(self, "reject", None) is not None:
            choose_unknown(classes, getattr(self, "unknown_label", None))

    def _calibrate(self, data: Split) -> Self:
        z, heads = self._run(data.inputs), self.space_.named_heads()
        self.held_out_ = {
            name: TaskOutputs.of(heads[name], z, target) for name, target in data.targets.items()
        }
        return self._fit_confidence()

    def _fit_confidence(self) -> Self:
        """Fit the confidence of each column of classes to what was said about held-out rows."""
        reject, held_out = getattr(self, "reject", None), self._held_out()
        before = uncalibrated(self.space_)
        self.calibrations_ = {}
        for name in self._class_columns:
            rows = held_out[name]
            self.calibrations_[name] = TaskCalibration.fit(
                rows.scores,
                rows.targets,
                rows.strengths,
                coverage=None,
                reject=reject,
                before=before[name].model,
            )
            if reject is not None:
                _warn_if_few(rows, 1 - reject, f"reject={reject:g} rejects nothing")
        return self

    def _calibration(self, name: str) -> TaskCalibration:
        """Return the calibration of a column of classes; where none was fitted, by the logits of
        the loss.
        """
        return self.calibrations_.get(name) or uncalibrated(self.space_)[name]

    def _held_out(self) -> dict[str, TaskOutputs]:
        """Return what was said about held-out rows."""
        check_is_fitted(self)
        if self.held_out_ is None:
            advice = f"Fit with {arg('calibrate', True)}, or call recalibrate(X, y)."
            raise InputError("Sets and intervals", "be fitted to held-out data", "none", advice)
        return self.held_out_

    def _sets(self, name: str, scores: Array, coverage: float) -> NDArray[np.bool_]:
        """Return which classes of a column to expect, shape (n, num_classes)."""
        otherwise = f"with coverage={coverage:g} every class is in every set"
        _warn_if_few(self._held_out()[name], coverage, otherwise)
        probabilities = self._calibration(name).probabilities(scores)
        return self._conformal_sets(name, coverage).sets(probabilities)

    def _conformal_sets(self, name: str, coverage: float) -> ConformalSets:
        """Return what keeps the promise of a coverage for a column of classes."""
        rows = self._held_out()[name]
        probabilities = self._calibration(name).probabilities(rows.scores)
        return ConformalSets.fit(probabilities, rows.targets, coverage)

    def _label_sets(self, name: str, coverage: float) -> ConformalSets:
        """Return what keeps the promise of a share of the labels for a column of labels."""
        rows = self._held_out()[name]
        return ConformalSets.fit(expit(rows.scores), rows.targets, coverage)

    def _conformal_interval(self, name: str, coverage: float) -> ConformalInterval:
        """Return what keeps the promise of a coverage for a column of numbers."""
        rows = self._held_out()[name]
        return ConformalInterval.fit(rows.scores, rows.targets, coverage)


def _warn_if_few(rows: TaskOutputs, coverage: float, otherwise: str) -> None:
    """Say so where too few rows were held out for a promise about so large a share of them."""
    needed = math.ceil(coverage / (1 - coverage) - 1e-9) if 0 < coverage < 1 else 0
    if len(rows.targets) < needed:
        few = f"{needed} held-out rows are needed, got {len(rows.targets)}: {otherwise}"
        warnings.warn(
            f"{few}. Raise validation_fraction, or give recalibrate(X, y) more rows.", stacklevel=4
        )


def choose_unknown(classes: Array, given: Any = None) -> Any:
    """Return the label of what is none of the classes: "unknown" where they are strings, -1 where
    numbers.

    No class may be called that, since its examples and those of no class would get one label.

    >>> choose_unknown(np.array(["cat", "dog"]))
    'unknown'
    """
    unknown = given if given is not None else -1 if classes.dtype.kind in "iuf" else "unknown"
    if np.ndim(unknown):
        raise InputTypeError("unknown_label", "be one label", repr(unknown))
    if unknown in classes.tolist():
        rule = f"be none of the classes for {arg('reject')}, which gives it"
        raise InputError(
            "unknown_label",
            rule,
            repr(unknown),
            f"Pass another, such as {arg('unknown_label', -999)}.",
        )
    return unknown
