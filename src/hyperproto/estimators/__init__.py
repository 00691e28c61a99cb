"""Shelf 9: scikit-learn estimators. ``fit`` delegates to the one training loop; nothing below knows them."""

from hyperproto._core.extras import require

require("sklearn", extra="sklearn", purpose="An estimator")

from hyperproto.estimators.classifier import HypersphericalClassifier  # noqa: E402  # only after the sentence above
from hyperproto.estimators.multitask import HypersphericalMultiTask  # noqa: E402
from hyperproto.estimators.regressor import HypersphericalRegressor  # noqa: E402

__all__ = ["HypersphericalClassifier", "HypersphericalMultiTask", "HypersphericalRegressor"]
