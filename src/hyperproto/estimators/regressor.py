"""Regression by the cosine to a pole."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hyperproto._core.arrays import Array
from hyperproto.defaults import COVERAGE
from hyperproto.estimators.base import read_column
from hyperproto.estimators.confidence import ConfidentEstimator
from hyperproto.spaces.output_space import UNNAMED
from hyperproto.tasks import Range


@dataclass(kw_only=True, eq=False, repr=False)
class HypersphericalRegressor(RegressorMixin, ConfidentEstimator):  # type: ignore[misc]
    """A regressor whose bounds are opposite poles of a sphere, and whose answers are read off as
    cosines.

    Parameters
    ----------
    dim : int or "auto"
        Axes of the sphere; "auto" is 8 (:func:`hyperproto.defaults.choose_dim`).
    bounds : pair of float, optional
        The numbers at the poles, beyond which no prediction lies; by default the extremes in ``y``.
    backbone, hidden, standardize, epochs, batch_size, lr, weight_decay
    early_stopping, validation_fraction, patience, random_state, verbose
        As in :class:`~hyperproto.estimators.HypersphericalClassifier`.
    calibrate : bool, default False
        Hold out a part, which ``predict_interval`` needs.

    Attributes
    ----------
    bounds_ : tuple of float
    space_ : hyperproto.Space
    network_ : nn.Module
    history_ : list of dict

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> HypersphericalRegressor(random_state=0).fit(X, y).score(X, y) > 0.4
    True
    """

    bounds: Any = None

    def predict(self, X: Any) -> Array:
        """Return the numbers that the cosines to the upper pole stand for, shape (n,)."""
        return self._answers(self._outputs(X))[UNNAMED]

    def cosines(self, X: Any) -> Array:
        """Return the cosine to the upper pole, shape (n,)."""
        return self._scores(self._outputs(X))[UNNAMED]

    def predict_interval(self, X: Any, coverage: float = COVERAGE) -> Array:
        """Return the ends of intervals, shape (n, 2), that contain the true number as often as
        stated.

        They may reach beyond the bounds: so may the truth.
        """
        self._held_out()
        return self._intervals(UNNAMED, self.predict(X), coverage)

    @property
    def bounds_(self) -> tuple[float, float]:
        """The numbers at the poles."""
        task: Any = self.targets_[UNNAMED]
        return task.low, task.high

    def _read_y(self, y: Any, *, reset: bool, **about: Any) -> dict[str, Array]:
        values = read_column(y).astype(np.float64)
        if reset:
            task = Range.fit(values, bounds=self.bounds, constant="widen")
            self.targets_ = {UNNAMED: task}
        return {UNNAMED: values}
