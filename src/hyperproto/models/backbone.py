"""Backbones by name, and what they share: a record of how they were built, checks of their inputs,
a few layers.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal, Self, TypeAlias

from torch import Tensor, nn
from torch.nn import functional

from hyperproto._core.checks import (
    MOST,
    check_finite_number,
    check_integer,
    check_integers,
    choose,
    unknown_choice,
)
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.files import Plain
from hyperproto.defaults import InputKind, choose_backbone
from hyperproto.runtime.images import ImagePreprocessing

Presets: TypeAlias = Mapping[str, Plain]

BACKBONES: dict[str, Callable[..., "Backbone"]] = {}

WHOLE = ("out_dim", "in_features", "depth", "width", "channels", "growth", "size", "bottleneck")
CHECKS: dict[str, Callable[..., object]] = {
    **dict.fromkeys(WHOLE, partial(check_integer, at_least=1, at_most=MOST)),
    **dict.fromkeys(("hidden", "blocks"), partial(check_integers, at_least=1, at_most=MOST)),
    "dropout": partial(check_finite_number, at_least=0, at_most=0.99),
    "reduction": partial(check_finite_number, above=0, at_most=1),
}
"""What a setting must be, by its name: the same in all networks."""


class Backbone(nn.Module):
    """A network of this library: a name, and the numbers its constructor was given.

    A subclass that sets ``name`` can be built by that name, and by the names of its ``presets``.

    Attributes
    ----------
    name : str
        What :func:`~hyperproto.models.create_backbone` knows it by.
    presets : mapping from str to dict
        Names for settings of note, such as ``{"resnet-32": {"depth": 32}}``.
    config : dict
        Every argument of the constructor, as JSON has it: ``create_backbone(name, **config)``
        builds the same.
    output_prefix : str
        How names of the last weights start, which belong to what is learned and not to what is
        seen.
    """

    name: str
    output_prefix = "output."
    presets: ClassVar[Presets] = {}

    def __init__(self, *, out_dim: int, **config: object) -> None:
        super().__init__()
        self.config: Plain = {"out_dim": out_dim, **config}
        for name, check in CHECKS.items():
            if self.config.get(name) is not None:
                self.config[name] = check(self.config[name], name)

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            BACKBONES[cls.name] = cls
            BACKBONES.update(
                {name: partial(cls, **settings) for name, settings in cls.presets.items()}
            )


class FeatureBackbone(Backbone, ABC):
    """An image network in two parts: :meth:`features`, and ``output``, which maps them to outputs.

    Features that do not change can be computed once: the network takes them in place of the images.

    Attributes
    ----------
    num_features : int
        How many features an image has.
    pixels : ImagePreprocessing or None
        The images its pretrained weights were made for; None without such weights.
    keep_norms : bool
        Whether training leaves the statistics of the norms of images as they are: few images give
        poor ones.
    """

    num_features: int
    pixels: ImagePreprocessing | None = None
    output: nn.Module
    keep_norms = False

    @abstractmethod
    def features(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to features, shape (n, num_features)."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), or their features to outputs, shape (n,
        out_dim).
        """
        known = inputs.ndim == 2 and inputs.shape[1] == self.num_features
        return self.output(inputs if known else self.features(inputs))

    def train(self, mode: bool = True) -> Self:
        """Set whether it is training, as every module does; with ``keep_norms`` norms of images
        stay as they are.
        """
        super().train(mode)
        for module in self.modules() if self.keep_norms else ():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self

    def load_pretrained(self) -> None:
        """Fill in the weights its makers published; those of ``output`` stay as drawn."""
        advice = (
            f"Give {arg('weights', 'FILE')}, or take efficientnet-lite0, timm:NAME or "
            "torchvision:NAME."
        )
        raise InputError(f'The network "{self.name}"', "have pretrained weights", "none", advice)


def create_backbone(name: str, **config: object) -> Backbone:
    """Build a network by name; docs/reference/backbones.md lists them.

    Parameters
    ----------
    name : str
        One of ``BACKBONES``, such as ``"resnet-32"``; or ``"torchvision:resnet18"``,
        ``"timm:resnet18"`` where those libraries are installed.
    **config
        What the constructor takes, ``out_dim`` at least. It overrides what a preset says.

    Examples
    --------
    >>> network = create_backbone("resnet-32", out_dim=100)
    >>> network.name, network.config["depth"]
    ('resnet', 32)
    """
    if ":" in str(name):
        from hyperproto.models.libraries import (
            LibraryNetwork,  # here, since it is made of this module's parts
        )

        config = {"name": name, **config}
        build: Callable[..., Backbone] = LibraryNetwork
    else:
        build = choose(name, BACKBONES, what="backbone")
    _check_settings(name, build, config)
    return build(**config)


def default_backbone(out_dim: int, shape: Sequence[int], inputs: InputKind = "rows") -> Backbone:
    """Build a network for inputs of a shape, as :func:`hyperproto.defaults.choose_backbone` says.

    Parameters
    ----------
    out_dim : int
        Width of the output: ``space.dim``.
    shape : sequence of int
        Shape of one input: (columns,), or (channels, height, width).
    inputs : {"rows", "wide rows", "binned rows", "sparse rows", "images"}
        What the inputs are; sparse rows, such as texts, get dropout.

    Examples
    --------
    >>> default_backbone(100, (3, 32, 32)).config["depth"]
    8
    """
    shape = [check_integer(length, "shape", at_least=1) for length in shape]
    if len(shape) not in (1, 3):
        raise InputError(
            "shape", "be (columns,) of a row or (channels, height, width) of an image", tuple(shape)
        )
    name, options = choose_backbone(shape, inputs)
    return create_backbone(name, out_dim=out_dim, **options)


def _check_settings(name: str, build: Callable[..., Backbone], config: Plain) -> None:
    """Raise where the constructor does not take a setting, or lacks one."""
    taken = inspect.signature(build).parameters
    for given in config:
        if given not in taken:
            raise unknown_choice(
                given, [key for key in taken if key != "name"], what=f'setting of "{name}"'
            )
    for key, parameter in taken.items():
        if parameter.default is inspect.Parameter.empty and key not in config:
            raise InputError(key, f'be given for the backbone "{name}"')


CHANNELS = {1: "1 (gray)", 3: "3 (RGB)"}


def check_images(
    images: Tensor, channels: int, *, at_least: int = 1, size: int | None = None
) -> None:
    """Check the shape and dtype of images, (n, channels, height, width), without synchronization.

    Each side must have ``at_least`` pixels, or be of exactly ``size``.
    """
    if images.ndim != 4:
        raise InputError(
            "images", f"have shape (n, {channels}, height, width)", tuple(images.shape)
        )
    _check_floats(images, "images", "Call .float() on them and divide by 255.")
    found, height, width = images.shape[1:]
    if found != channels:
        rule = f"have {CHANNELS.get(channels, channels)} channels for this network"
        advice = f"Build the network with channels={found}, or convert the images."
        raise InputError("images", rule, CHANNELS.get(found, found), advice)
    if size is not None and not height == width == size:
        advice = "Resize them, or build the network with their size."
        raise InputError(
            "images", f"be {size} x {size} pixels for this network", f"{height} x {width}", advice
        )
    if min(height, width) < at_least:
        rule = f"be at least {at_least} pixels high and wide for this network"
        advice = "Enlarge them, or choose a network with fewer stages."
        raise InputError("images", rule, f"{height} x {width}", advice)


def check_rows(rows: Tensor, in_features: int) -> None:
    """Check that ``rows`` is a batch of floating-point rows of the right length."""
    if rows.ndim != 2 or rows.shape[1] != in_features:
        advice = "Build the network with in_features equal to the number of columns."
        raise InputError(
            "rows", f"have shape (n, {in_features}) for this network", tuple(rows.shape), advice
        )
    _check_floats(rows, "rows", "Call .float() on them.")


def _check_floats(inputs: Tensor, name: str, advice: str) -> None:
    if not inputs.is_floating_point():
        raise InputTypeError(name, "be floating point", inputs.dtype, advice)


def conv(in_channels: int, out_channels: int, *, kernel: int = 3, stride: int = 1) -> nn.Conv2d:
    """Make a convolution that keeps the size at stride 1; without bias, since a
    batch norm follows.
    """
    return nn.Conv2d(
        in_channels, out_channels, kernel, stride=stride, padding=kernel // 2, bias=False
    )


def pool_all(maps: Tensor) -> Tensor:
    """Average over all places: (n, channels, height, width) to (n, channels)."""
    # quicker than mean((2, 3)), in either memory format
    return functional.adaptive_avg_pool2d(maps, 1).flatten(1)


def head(
    features: int,
    out_dim: int,
    hidden: Sequence[int] = (),
    dropout: float = 0.0,
    bottleneck: int | None = None,
    *,
    norm: bool = True,
) -> nn.Sequential:
    """Make what maps features to outputs: a norm without weights, hidden layers, one linear layer.

    Averages of what ReLU leaves are positive and share a large mean: outputs start out in nearly
    one direction, along which a loss of cosines has little gradient. The norm takes that mean away.
    Hidden values are normalized before their ReLU. With a ``bottleneck`` there are two linear
    layers at the end, so that outputs are of no higher rank.
    """
    layers: list[nn.Module] = [nn.BatchNorm1d(features, affine=False)] if norm else []
    for width in hidden:
        layers += [
            nn.Linear(features, width),
            nn.BatchNorm1d(width),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
        ]
        features = width
    if bottleneck is not None:
        layers.append(nn.Linear(features, bottleneck))
        features = bottleneck
    return nn.Sequential(*layers, nn.Linear(features, out_dim))


def initialize(network: nn.Module, *, mode: Literal["fan_in", "fan_out"] = "fan_out") -> None:
    """Draw the weights of all convolutions as He et al. (2015) do; norms and linear layers keep
    torch's defaults.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")
