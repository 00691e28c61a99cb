"""Shelf 0: predicting with exported models, without torch: ``hyperproto_runtime`` by another name."""

from hyperproto_runtime import HyperprotoError, InputError, ModelError, Predictor, TopK

__all__ = ["HyperprotoError", "InputError", "ModelError", "Predictor", "TopK"]
