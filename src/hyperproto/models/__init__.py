"""Backbones. ``out_dim`` is an argument, prototypes are not."""

from hyperproto.models.backbone import BACKBONES, Backbone
from hyperproto.models.create import create_backbone, default_backbone
from hyperproto.models.densenet import DenseNet
from hyperproto.models.digit_net import DigitNet
from hyperproto.models.libraries import LibraryNetwork
from hyperproto.models.mlp import MLP
from hyperproto.models.resnet import ResNet
from hyperproto.models.resnet_3463 import ResNet3463

__all__ = [
    "BACKBONES",
    "MLP",
    "Backbone",
    "DenseNet",
    "DigitNet",
    "LibraryNetwork",
    "ResNet",
    "ResNet3463",
    "create_backbone",
    "default_backbone",
]
