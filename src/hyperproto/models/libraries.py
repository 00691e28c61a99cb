"""Networks of torchvision and timm.

Names are looked up in the libraries' own lists of models and nowhere else, weights are drawn anew,
and nothing else is passed on: a config cannot make this download, import or unpickle anything. Only
``load_pretrained`` has the library fetch its weights.
"""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, require
from hyperproto.models.backbone import FeatureBackbone, check_images, head
from hyperproto.models.weights import adopt_weights
from hyperproto.runtime.images import IMAGENET_MEAN, IMAGENET_STD, ImagePreprocessing


class LibraryNetwork(FeatureBackbone):
    """An image classifier of torchvision or timm, whose last layer is ``out_dim`` wide; untrained.

    Parameters
    ----------
    name : str
        The library and the name it knows the model by: ``"torchvision:resnet18"``,
        ``"timm:resnet18"``.
    out_dim : int
        Width of the output.
    channels : int, default 3
        Channels of the images; torchvision's models take 3.
    hidden : sequence of int, optional
        Put hidden layers of these widths before the output, each with a norm before its ReLU
        (default: one linear layer, as the library has it).
    dropout : float, default 0.3
        Share of the hidden values set to zero while training, where there are any.
    """

    def __init__(
        self,
        name: str,
        out_dim: int,
        channels: int = 3,
        hidden: Sequence[int] | None = None,
        dropout: float = 0.3,
    ) -> None:
        more = {} if hidden is None else {"hidden": hidden, "dropout": dropout}
        super().__init__(out_dim=out_dim, channels=channels, **more)
        self.name, self.channels = name, channels
        self.network = self._build(num_classes=out_dim)
        linear = [
            key for key, module in self.network.named_modules() if isinstance(module, nn.Linear)
        ]
        self._last = linear[-1] if linear else ""
        self.output_prefix = f"network.{self._last}."
        self.num_features = int(self.output.in_features) if linear else 0  # type: ignore[arg-type]
        if hidden is not None:
            layers = head(self.num_features, out_dim, hidden, dropout)
            self.network.set_submodule(self._last, layers)

    def _build(self, *, pretrained: bool = False, **options: int) -> nn.Module:
        library, _, model = self.name.partition(":")
        if choose(library, {"torchvision": False, "timm": True}, what="library of backbones"):
            return _from_timm(model, pretrained, {"in_chans": self.channels, **options})
        if self.channels != 3:
            rule = "be 3 for the models of torchvision"
            advice = "Repeat the gray channel three times, or take the model from timm."
            raise InputError("channels", rule, self.channels, advice)
        return _from_torchvision(model, pretrained, options)

    @property
    def output(self) -> nn.Module:  # type: ignore[override]
        """What maps features to outputs: the last linear layer, or the hidden
        layers in its place.
        """
        if not self._last:
            raise InputError(
                f'The network "{self.name}"', "end in a linear layer to be split there", "none"
            )
        return self.network.get_submodule(self._last)

    @property
    def pixels(self) -> ImagePreprocessing:  # type: ignore[override]
        """The images its pretrained weights were made for; timm notes mean and deviation, others
        are ImageNet's.
        """
        noted = getattr(self.network, "pretrained_cfg", None) or {}
        mean, std = noted.get("mean", IMAGENET_MEAN), noted.get("std", IMAGENET_STD)
        return ImagePreprocessing(128, tuple(mean), tuple(std))

    def features(self, images: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), to what the last layer gets, shape (n,
        num_features).
        """
        check_images(images, self.channels)
        seen: list[Tensor] = []
        with self.output.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0])):
            self.network(images)
        return seen[0]

    def forward(self, inputs: Tensor) -> Tensor:
        """Map images, shape (n, channels, height, width), or their features to outputs, shape (n,
        out_dim).
        """
        if inputs.ndim == 2 and inputs.shape[1] == self.num_features:
            return super().forward(inputs)
        check_images(inputs, self.channels)
        return self.network(inputs)

    def load_pretrained(self) -> None:
        """Fill in the weights that the library publishes, and may fetch; those of ``output`` stay
        as drawn.
        """
        trained = self._build(pretrained=True)
        adopt_weights(self, trained.state_dict(), f'The pretrained "{self.name}"')


def _from_torchvision(model: str, pretrained: bool, options: Mapping[str, int]) -> nn.Module:
    models = require(
        "torchvision.models", extra="vision", purpose=f'The backbone "torchvision:{model}"'
    )
    known = dict.fromkeys(models.list_models(module=models))  # classifiers only
    choose(model, known, what="model of torchvision")
    return models.get_model(model, weights="DEFAULT" if pretrained else None, **options)


def _from_timm(model: str, pretrained: bool, options: Mapping[str, int]) -> nn.Module:
    timm = require("timm", extra="vision", purpose=f'The backbone "timm:{model}"')
    # never "hf-hub:..." nor "local-dir:..."
    choose(model, dict.fromkeys(timm.list_models()), what="model of timm")
    return timm.create_model(model, pretrained=pretrained, **options)
