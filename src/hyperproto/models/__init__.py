"""Shelf 5: backbones, one a file. ``out_dim`` is an argument, prototypes are not."""

from hyperproto.models.backbone import BACKBONES, Backbone, create_backbone
from hyperproto.models.digit_net import DigitNet

__all__ = ["BACKBONES", "Backbone", "DigitNet", "create_backbone"]
