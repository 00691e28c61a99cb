"""Shelf 10: scikit-learn estimators. ``fit`` delegates to the one training loop; nothing below
knows them.
"""

from hyperproto._core.errors import require

require("sklearn", extra="sklearn", purpose="An estimator")  # before what is imported below

from hyperproto.estimators.classifier import HypersphericalClassifier  # noqa: E402
from hyperproto.estimators.multitask import HypersphericalMultiTask  # noqa: E402
from hyperproto.estimators.regressor import HypersphericalRegressor  # noqa: E402

__all__ = ["HypersphericalClassifier", "HypersphericalMultiTask", "HypersphericalRegressor"]
