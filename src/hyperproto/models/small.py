"""Small networks: MLPs for rows of a table and for features, and a convolutional one for
small gray images.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto.defaults import HEAD, HEAD_DROPOUT, HIDDEN
from hyperproto.models.backbone import Backbone, Presets, check_images, check_rows, head

NORMS: dict[str, Callable[[int], list[nn.Module]]] = {
    "batch": lambda width: [nn.BatchNorm1d(width)],
    "layer": lambda width: [nn.LayerNorm(width)],
    "none": lambda width: [],
}


class RowLinear(nn.Linear):
    """A linear layer that also takes sparse rows (CSR), at the cost of their entries and not of all
    columns.
    """

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows, shape (n, in_features), to values, shape (n, out_features)."""
        if rows.layout != torch.sparse_csr:
            return super().forward(rows)
        # the weights of one column side by side: sums of columns take half as long
        if self.weight.is_contiguous():
            self.weight.data = self.weight.data.t().contiguous().t()
        starts, columns, values = rows.crow_indices(), rows.col_indices(), rows.values()
        total = functional.embedding_bag(
            columns,
            self.weight.t(),
            starts,
            mode="sum",
            per_sample_weights=values,
            include_last_offset=True,
        )
        return total if self.bias is None else total + self.bias


class MLP(Backbone):
    """Hidden layers, each linear, ReLU and normalized; then one linear layer, which may see the
    inputs, too.

    The norm comes after the ReLU: what ReLU leaves is positive, has a large mean, and would send
    all outputs off in nearly one direction at the start, along which the loss has little gradient.
    Inputs with ``skip`` have no such mean, and weight decay then takes a network without a norm
    toward a linear model, which few rows are enough for.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    in_features : int
        Columns of the table.
    hidden : sequence of int, default (100,)
        Width of each hidden layer; empty leaves one linear layer.
    dropout : float, default 0
        Share of the hidden values set to zero while training.
    norm : {"batch", "layer", "none"}, default "layer"
        What the hidden values are normalized over. "layer" normalizes each row by itself: a row may
        come alone, and a row of weight two is the same as two rows.
    skip : bool, default False
        Whether the last layer gets the inputs next to the hidden values; for dense rows.
    """

    name = "mlp"

    def __init__(
        self,
        out_dim: int,
        in_features: int,
        hidden: Sequence[int] = HIDDEN,
        dropout: float = 0.0,
        norm: str = "layer",
        skip: bool = False,
    ) -> None:
        normalized = choose(norm, NORMS, what="norm")
        options = {"dropout": dropout, "norm": norm} | ({"skip": True} if skip else {})
        super().__init__(out_dim=out_dim, in_features=in_features, hidden=hidden, **options)
        self.in_features = in_features
        layers: list[nn.Module] = []
        width = in_features
        for wider in hidden:
            linear = RowLinear(width, wider) if not layers else nn.Linear(width, wider)
            layers += [linear, nn.ReLU(inplace=True), *normalized(wider)]
            layers += [nn.Dropout(dropout)] if dropout else []
            width = wider
        self.skip = bool(skip and layers)
        last = (
            nn.Linear(width + in_features * self.skip, out_dim)
            if layers
            else RowLinear(width, out_dim)
        )
        self.layers = nn.Sequential(*layers, last)
        self.output_prefix = f"layers.{len(layers)}."

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows, dense or sparse, shape (n, in_features), to outputs, shape (n, out_dim)."""
        check_rows(rows, self.in_features)
        hidden = self.layers[:-1](rows)
        return self.layers[-1](torch.cat([hidden, rows], dim=1) if self.skip else hidden)


class FeatureHead(Backbone):
    """What a pretrained network has behind its features, for rows of such features: a norm without
    weights, hidden layers with batch norm and dropout, and one linear layer.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    in_features : int
        Features of an input.
    hidden : sequence of int, default (512,)
        Width of each hidden layer.
    dropout : float, default 0.3
        Share of the hidden values set to zero while training.
    """

    name = "feature-head"

    def __init__(
        self,
        out_dim: int,
        in_features: int,
        hidden: Sequence[int] = HEAD,
        dropout: float = HEAD_DROPOUT,
    ) -> None:
        super().__init__(out_dim=out_dim, in_features=in_features, hidden=hidden, dropout=dropout)
        self.in_features = in_features
        self.layers = head(in_features, out_dim, hidden, dropout)
        self.output_prefix = f"layers.{len(self.layers) - 1}."

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows, shape (n, in_features), to outputs, shape (n, out_dim)."""
        check_rows(rows, self.in_features)
        return self.layers(rows)


class DigitNet(Backbone):
    """Two convolutional and two fully connected layers, as the paper's rotated-MNIST network; no
    ReLU at the end.

    The paper gives no more than those numbers of layers. ``"rotated-mnist"`` is this network for 28
    x 28 pixels.

    Parameters
    ----------
    out_dim : int
        Width of the output.
    size : int, default 8
        Height and width of the images, an even number.
    width : int, default 32
        Channels of the first convolution; the second has twice as many.
    channels : int, default 1
        Channels of the images.
    """

    name = "digit-net"
    presets: ClassVar[Presets] = {"rotated-mnist": {"size": 28}}
    output_prefix = "layers.11."

    def __init__(self, out_dim: int, size: int = 8, width: int = 32, channels: int = 1) -> None:
        super().__init__(out_dim=out_dim, size=size, width=width, channels=channels)
        self.size, self.channels = size, channels
        if size % 2:
            raise InputError(
                "size", "be even, since it is halved once", size, "Pad the images by a pixel."
            )
        self.layers = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),  # (n, 2 width, size/2, size/2)
            nn.Flatten(),
            nn.Linear(2 * width * (size // 2) ** 2, 128),
            # without it outputs start out in nearly one direction, a trap on S²
            nn.BatchNorm1d(128),
            nn.ReLU(inplace=True),
            nn.Linear(128, out_dim),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, size, size), to outputs, shape (n, out_dim)."""
        check_images(images, self.channels, size=self.size)
        return self.layers(images)
