"""Shelf 10: scikit-learn estimators. ``fit`` delegates to the one training loop; nothing below
knows them.
"""

from hyperproto.estimators.classifier import HypersphericalClassifier
from hyperproto.estimators.multitask import HypersphericalMultiTask
from hyperproto.estimators.regressor import HypersphericalRegressor

__all__ = ["HypersphericalClassifier", "HypersphericalMultiTask", "HypersphericalRegressor"]
