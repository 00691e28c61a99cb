"""One description of a run, in plain values: data, network, space, and how to train.

The command line fills it in from its options, the paper's tables write it down for each of their
cells, and a run's folder stores it; :mod:`hyperproto.training.build` makes data, network and space
of it. None means that :mod:`hyperproto.defaults` chooses. Imports nothing heavy.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from hyperproto._core.checks import check_choices, check_finite_number, check_integer, choose
from hyperproto._core.errors import InputError, arg
from hyperproto._core.files import Plain
from hyperproto._core.schema import from_plain
from hyperproto.defaults import INFERENCE_BATCH_SIZE, MOMENTUM


def one_cycle(progress: float) -> float:
    """Rise linearly over the first quarter, then fall to zero along a half cosine; suits short
    budgets.

    >>> [round(one_cycle(p), 3) for p in (0, 0.25, 0.625, 1)]
    [0.04, 1.0, 0.5, 0.0]
    """
    if progress < 0.25:
        return 0.04 + 0.96 * progress / 0.25
    return 0.5 * (1 + math.cos(math.pi * (progress - 0.25) / 0.75))


def paper_steps(progress: float) -> float:
    """Divide by ten after 100 and after 200 of 250 epochs, at the same shares of any length.

    >>> [paper_steps(epoch / 250) for epoch in (0, 99, 100, 200)]
    [1.0, 1.0, 0.1, 0.01]
    """
    return 1.0 if progress < 100 / 250 else 0.1 if progress < 200 / 250 else 0.01


SCHEDULES: dict[str, Callable[[float], float]] = {
    "one-cycle": one_cycle,
    "paper": paper_steps,
    "constant": lambda progress: 1.0,
}
"""Learning rates as functions of progress from 0 to 1: nothing to store, nothing to restore."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Stochastic gradient descent, in full. None lets :mod:`hyperproto.defaults` choose by the
    space and the data.
    """

    epochs: int | None = None
    """Passes over the training data (default: 20 for images, 15 for tables, 10 for texts; more of
    few data).
    """

    batch_size: int | None = None
    """Examples per step, of all processes together (default: 128 for images, 64 for tables, 256 for
    texts).
    """

    lr: float | None = None
    """Learning rate at the peak of the schedule (default: 0.01 to 1, by the
    loss and the inputs).
    """

    momentum: float = MOMENTUM
    """Momentum of stochastic gradient descent."""

    weight_decay: float | None = None
    """Weight decay of stochastic gradient descent (default: 0.0001 for images, up to 0.02 for few
    rows).
    """

    schedule: Literal["one-cycle", "paper", "constant"] | None = None
    """How the learning rate changes; "paper" divides it by ten after 40 % and 80 % (default:
    one-cycle).
    """

    reduction: Literal["sum", "mean"] | None = None
    """How the losses of a batch become one (default: the sum for the paper's squared cosine loss,
    else the mean).
    """

    seed: int = 0
    """Seed of the weights, the order of examples, and what is drawn from the data."""

    accumulate: int = 1
    """Compute each batch in this many parts, to save memory; batch normalization sees the parts."""

    patience: int | None = None
    """Stop after this many epochs without improvement on validation data (default: never)."""

    monitor: str | None = None
    """The validation measure that compares epochs, such as style/accuracy
    (default: all of them).
    """

    mixed_precision: Literal["no", "bf16", "fp16"] | None = None
    """Precision of the network's computations (default: bf16 on a GPU that has it, else full
    precision).
    """

    def __post_init__(self) -> None:
        """Check each number that is given, and store it as a number of Python's own."""
        numbers: dict[str, float] = {}
        for name in ("epochs", "batch_size", "seed", "accumulate", "patience"):
            if (value := getattr(self, name)) is not None:
                numbers[name] = check_integer(value, name, at_least=int(name != "seed"))
        for name, limit in (
            ("lr", "above"),
            ("momentum", "at_least"),
            ("weight_decay", "at_least"),
        ):
            if (value := getattr(self, name)) is not None:
                numbers[name] = check_finite_number(value, name, **{limit: 0.0})
        vars(self).update(numbers)
        check_choices(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Build settings by their names."""
        return from_plain(cls, values)

    def to_dict(self) -> Plain:
        """Return plain values, as a run's config stores them."""
        return dict(vars(self))

    def but(self, **values: Any) -> Self:
        """Return the settings with other values for some fields."""
        for name in values:
            choose(name, vars(self), what=f"field of {type(self).__name__}")
        return replace(self, **values)

    def resolve(self, **chosen: Any) -> "ResolvedSettings":
        """Return the settings with what is chosen where they are None."""
        own = {name: value for name, value in vars(self).items() if value is not None}
        return ResolvedSettings(**chosen | own)


@dataclass(frozen=True, kw_only=True)
class ResolvedSettings(TrainSettings):
    """:class:`TrainSettings` in which nothing is left to choose."""

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    schedule: Literal["one-cycle", "paper", "constant"]
    reduction: Literal["sum", "mean"]

    @property
    def validation_batch_size(self) -> int:
        """How many examples are validated at once: more than there is memory for gradients of."""
        at_once = -(-self.batch_size // self.accumulate)
        return max(at_once, min(INFERENCE_BATCH_SIZE, 4 * at_once))


@dataclass(frozen=True, kw_only=True)
class LoadingSpec:
    """How examples get from the disk to the network."""

    valid_share: float = 0.0
    """Validate on this share of the training data, and leave the test data alone."""

    augment: bool = True
    """Vary training images by crops and flips."""

    keep: Literal["auto", "memory", "stream"] = "auto"
    """Decode images once into memory, or again in every epoch."""

    workers: int | None = None
    """Processes that decode images (default: one per core)."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read, instead of stopping at the first."""


@dataclass(frozen=True, kw_only=True)
class DataSpec(LoadingSpec):
    """Which data, how they are read, and which part of them."""

    reader: str
    """A key of :data:`hyperproto.data.readers.READERS`."""

    path: str = ""
    """Where the data are; empty for those that come with a library."""

    options: Plain = field(default_factory=dict)
    """Options of the reader, in plain values."""

    first_classes: int | None = None
    """Use only this many classes, the first of the data (default: all)."""

    tasks: tuple[str, ...] = ()
    """Predict only these targets (default: all)."""

    train_examples: int | None = None
    """Use this many training examples, each class in proportion (default: all)."""

    test_examples: int | None = None
    """Use this many test examples, each class in proportion (default: all)."""

    valid_examples: int | None = None
    """Validate on this many of the training examples instead of the test data, each class in
    proportion.
    """

    image_size: int | None = None
    """Pixels per side that the network gets (default: as the reader says)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tasks", tuple(self.tasks))
        if self.image_size is not None:
            check_integer(self.image_size, "image_size", at_least=1)
        check_choices(self)
        check_finite_number(self.valid_share, "valid_share", at_least=0)
        if self.valid_share >= 1:
            raise InputError(
                "valid_share", "be less than 1, a share of the training data", self.valid_share
            )


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """Which network."""

    backbone: str | None = None
    """The network: resnet-32, timm:resnet18, ... (default: by the shape of inputs):
    docs/reference/backbones.md.
    """

    backbone_options: Plain = field(default_factory=dict)
    """Its options, such as depth=8 width=32."""

    weights: str | None = None
    """Weights to start from: "pretrained", a file, or a run, whose network learns other data,
    prepared as its own; or "none" (default: pretrained and frozen, where they are installed and
    there are fewer than 1,000 images per class).
    """

    freeze: bool = False
    """Compute features once by pretrained weights, and train only the last layers on them."""

    def __post_init__(self) -> None:
        if self.freeze and self.weights == "none":
            raise InputError(
                "freeze", f"be left out with {arg('weights', 'none')}, which leaves nothing to keep"
            )
        if self.backbone_options and self.backbone is None:
            raise InputError("backbone_options", f"come with a named {arg('backbone')}")


@dataclass(frozen=True, kw_only=True)
class SphereSpec:
    """The kind of space, and axes, loss and prototypes of a sphere."""

    kind: Literal["sphere", "spheres", "conventional"] | None = None
    """One sphere; one for each task; or softmax and squared error (default: one sphere, or one for
    each task where there are classes and numbers).
    """

    dim: int | None = None
    """Dimensions of the sphere (default: K - 1 for K classes, at most 256, and
    8 for each number).
    """

    loss: str = "auto"
    """Loss of classes on the sphere: squared_cosine (the paper's), cosine_softmax,
    free_norm_softmax, power_cosine, sampled_cosine_softmax, or auto, by the numbers of classes and
    dimensions.
    """

    number_loss: Literal["auto", "absolute", "squared"] = "auto"
    """Error of numbers in training: absolute, which looks for the median, or squared, for the mean
    (default: absolute, unless --loss names a loss of classes).
    """

    margin: float | None = None
    """Keeps numbers away from the poles (default: 0.1 where they share a sphere with classes, else
    0).
    """

    prototypes: str | None = None
    """A file of placed prototypes, from hyperproto place -o FILE."""

    prior: str | None = None
    """Place prototypes by what is known about the classes: a file of word vectors, a taxonomy, ...
    (see hyperproto place); "data", by how similar the training examples are; or "none" (default:
    data, where D < K
    - 1).
    """

    missing: Literal["error", "free"] = "error"
    """What to do with classes that the prior does not know: stop, or place them without it."""

    class_weight: Literal["balanced"] | None = None
    """Weigh classes in the loss by how rare they are in the training data (default: all examples
    alike).
    """


@dataclass(frozen=True, kw_only=True)
class SpaceSpec(SphereSpec):
    """Which output space: the sphere, or what it is compared with."""

    loss_options: Plain = field(default_factory=dict)
    """Arguments of the loss."""

    clamp: Literal["train", "test"] = "test"
    """When the conventional space clamps numbers to their bounds."""

    width: int = 1
    """Axes from which the conventional space reads a number."""

    task_weight: float | None = None
    """The weight w of numbers in Table 6, with 1 - w for classes (default: the plain sum)."""

    def __post_init__(self) -> None:
        check_choices(self)
        if self.prototypes and self.prior not in (None, "none"):
            raise InputError(
                "prior",
                f"be left out where {arg('prototypes')} are placed already",
                f'"{self.prior}"',
            )
        if self.kind == "conventional" and (self.prototypes or self.prior or self.dim):
            raise InputError(
                f"{arg('prototypes')}, {arg('prior')} and {arg('dim')}",
                "be left out of a conventional space",
            )


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What one run is, in full; nothing about where its results go."""

    data: DataSpec
    network: NetworkSpec = field(default_factory=NetworkSpec)
    space: SpaceSpec = field(default_factory=SpaceSpec)
    train: TrainSettings = field(default_factory=TrainSettings)

    def to_dict(self) -> Plain:
        """Return plain values, as a run's config stores them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Rebuild what :meth:`to_dict` described."""
        return from_plain(cls, values)
