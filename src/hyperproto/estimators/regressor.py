"""Regression by the latitude of a point on a hemisphere."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hyperproto._core.arrays import Array
from hyperproto._core.checks import choose
from hyperproto.defaults import COVERAGE
from hyperproto.estimators.base import read_column
from hyperproto.estimators.confidence import ConfidentEstimator
from hyperproto.spaces.output_space import UNNAMED
from hyperproto.tasks import Number, Range


@dataclass(kw_only=True, eq=False, repr=False)
class HypersphericalRegressor(RegressorMixin, ConfidentEstimator):  # type: ignore[misc]
    """A regressor whose outputs are points on a hemisphere, and whose answers are their latitudes.

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

    loss: str = "absolute"
    bounds: Any = None

    def predict(self, X: Any) -> Array:
        """Return the numbers that the outputs stand for, shape (n,)."""
        return self._answers(self._outputs(X))[UNNAMED]

    def cosines(self, X: Any) -> Array:
        """Return the cosine to the pole of large numbers, shape (n,)."""
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
        """The numbers at the poles; infinite where no bounds were given."""
        return self.targets_[UNNAMED].bounds

    @property
    def number_loss(self) -> str:
        """The loss, by the name that it has next to one of classes."""
        return choose(self.loss, {name: name for name in ("absolute", "squared")}, what="loss")

    def _read_y(self, y: Any, *, reset: bool, **about: Any) -> dict[str, Array]:
        values = read_column(y).astype(np.float64)
        if reset:
            self.targets_ = {
                UNNAMED: Number() if self.bounds is None else Range.fit(values, bounds=self.bounds)
            }
        return {UNNAMED: values}
