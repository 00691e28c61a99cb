"""Regression by the latitude of a point on a hemisphere."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from hyperproto._core.arrays import Array
from hyperproto.defaults import COVERAGE
from hyperproto.estimators.base import read_column
from hyperproto.estimators.confidence import ConfidentEstimator
from hyperproto.spaces.output_space import UNNAMED
from hyperproto.tasks import Number, Range


@dataclass(kw_only=True, eq=False, repr=False)
class HypersphericalRegressor(RegressorMixin, ConfidentEstimator):  # type: ignore[misc]
    """A regressor whose outputs are points on a hemisphere, and whose predictions are their latitudes.

    Parameters
    ----------
    loss : {"absolute", "squared"}, default "absolute"
        What is minimized: the absolute error looks for the median of ``y``, the squared for its
        mean, which is what ``score`` (R²) and the RMSE reward.
    dim : int or "auto"
        Outputs of the network; "auto" is 8 (:func:`hyperproto.defaults.choose_dim`).
    bounds : pair of float, optional
        Bounds beyond which no prediction lies: the numbers at opposite poles of a sphere
        (:class:`hyperproto.Range`, Equation 7). By default there are none
        (:class:`hyperproto.Number`).
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

    loss: Literal["absolute", "squared"] = "absolute"
    bounds: tuple[float, float] | None = None

    def predict(self, X: ArrayLike) -> Array:
        """Return the numbers that the outputs stand for, shape (n,)."""
        return self._predictions(self._outputs(X))[UNNAMED]

    def cosines(self, X: ArrayLike) -> Array:
        """Return the cosine to the pole of large numbers, shape (n,)."""
        return self._scores(self._outputs(X))[UNNAMED]

    def predict_interval(self, X: ArrayLike, coverage: float = COVERAGE) -> Array:
        """Return the ends of intervals, shape (n, 2), that contain the true number as often as
        stated.

        They may reach beyond the bounds: so may the truth.
        """
        return self._conformal_interval(UNNAMED, coverage).intervals(self.predict(X))

    @property
    def bounds_(self) -> tuple[float, float]:
        """The numbers at the poles; infinite where no bounds were given."""
        return self.targets_[UNNAMED].bounds

    def _read_y(
        self, y: ArrayLike, *, reset: bool, classes: ArrayLike | None = None
    ) -> dict[str, Array]:
        values = read_column(y).astype(np.float64)
        if reset and self.bounds is None:
            self.targets_ = {UNNAMED: Number(loss=self.loss)}
        elif reset:
            self.targets_ = {UNNAMED: Range.fit(values, bounds=self.bounds, loss=self.loss)}
        return {UNNAMED: values}
