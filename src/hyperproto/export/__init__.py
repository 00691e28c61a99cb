"""Shelf 7: a trained model as a folder that predicts without torch."""

from hyperproto.export.folder import Exported, export_model

__all__ = ["Exported", "export_model"]
