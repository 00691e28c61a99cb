"""Backbones. ``out_dim`` is an argument, prototypes are not."""

from hyperproto.models.backbone import (
    BACKBONES,
    Backbone,
    FeatureBackbone,
    create_backbone,
    default_backbone,
)
from hyperproto.models.densenet import DenseNet
from hyperproto.models.efficientnet import EfficientNetLite0, has_pretrained
from hyperproto.models.libraries import LibraryNetwork
from hyperproto.models.resnet import ResNet, ResNet3463
from hyperproto.models.small import MLP, DigitNet, FeatureHead
from hyperproto.models.weights import load_weights

__all__ = [
    "BACKBONES",
    "MLP",
    "Backbone",
    "DenseNet",
    "DigitNet",
    "EfficientNetLite0",
    "FeatureBackbone",
    "FeatureHead",
    "LibraryNetwork",
    "ResNet",
    "ResNet3463",
    "create_backbone",
    "default_backbone",
    "has_pretrained",
    "load_weights",
]
