"""What was asked for, as plain values: enough to build data, network and space, and to build them again."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose, unknown_choice

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """A training run before it begins; None stands for a rule that looks at the data.

    Attributes
    ----------
    data : dict
        ``{"reader": ..., "path": ..., "options": ...}``, from :func:`~hyperproto.data.readers.describe_data`.
    protocol : {"short", "paper"}
        Where the settings come from that are None: a short one-cycle schedule, or what the paper did on this data.
    backbone, backbone_options : str, dict
        A name for :func:`~hyperproto.models.create_backbone`, and its settings; by the inputs' shape unless named.
    space : {"sphere", "composite", "conventional"}
        "composite" is one point for a class and a number (:class:`~hyperproto.spaces.composite.CompositeSpace`).
    dim : int
        Of the sphere; None is :func:`~hyperproto.training.recipe_parts.auto_dim`.
    loss : {"auto", "squared", "softmax", "free", "power", "cauchy"}
        For classes on the sphere: Equation 1, cross-entropy over scaled cosines or with lengths free, or those of
        :mod:`~hyperproto.losses.softmax`. "auto" is :func:`~hyperproto.losses.get_loss`, and in the
        paper's protocol Equation 1.
    margin : float
        Keeps numbers away from the poles; None is 0.1 beside classes with the loss "free" and in a composite space,
        else 0.
    prototypes, prior, prior_missing : str
        For the one class task: a file of placed prototypes, or what is known about the classes, and whether classes
        unknown to it are an "error" or "free". See :func:`~hyperproto.prototypes.place`. The prior "data" is the
        data-driven prior; None is that, too, where the loss is "free" or "auto" and there are fewer axes
        than a simplex takes, and "none" is none.
    epochs, batch_size, lr, momentum, weight_decay, schedule, reduction, accumulate, patience, monitor, seed
        As for :func:`~hyperproto.training.fit.fit`. The seed also fixes weights and what is held out.
    mixed_precision : {"no", "bf16", "fp16"}
        None is bf16 on a GPU that has it, and otherwise what ``accelerate launch`` was told.
    valid_share : float
        Measure during training on this share of the training data, and leave the test data alone.
    augment : bool
        Whether to vary training images.
    keep, workers, skip_corrupt
        As for :class:`~hyperproto.data.images.ImageData`.
    """

    data: dict[str, Any]
    protocol: str = "short"
    backbone: str | None = None
    backbone_options: dict[str, Any] = field(default_factory=dict)
    space: str = "sphere"
    dim: int | None = None
    loss: str = "auto"
    margin: float | None = None
    prototypes: str | None = None
    prior: str | None = None
    prior_missing: str = "error"
    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    momentum: float = 0.9
    weight_decay: float = 1e-4
    schedule: str | None = None
    reduction: str | None = None
    accumulate: int = 1
    patience: int | None = None
    monitor: str | None = None
    mixed_precision: str | None = None
    seed: int = 0
    valid_share: float = 0.0
    augment: bool = True
    keep: str = "auto"
    workers: int | None = None
    skip_corrupt: bool = False

    def __post_init__(self) -> None:
        choose(self.protocol, {"short": 0, "paper": 0}, what="protocol")
        choose(self.space, {"sphere": 0, "composite": 0, "conventional": 0}, what="space")
        choose(self.loss, dict.fromkeys(("auto", "squared", "softmax", "free", "power", "cauchy")), what="loss")
        check_finite_number(self.valid_share, "valid_share", at_least=0)
        if self.valid_share >= 1:
            raise InputError(
                f"`valid_share` must be less than 1, a share of the training data; got {self.valid_share}."
            )
        if self.prototypes and self.prior not in (None, "none"):
            raise InputError("Give either `prototypes`, placed already, or a `prior` to place them by; got both.")
        if self.space == "conventional" and (self.prototypes or self.prior or self.dim):
            raise InputError(f'`prototypes`, `prior` and `dim` belong to the sphere; got space="{self.space}".')
        if self.backbone_options and self.backbone is None:
            raise InputError("`backbone_options` are for a backbone that is named. Pass backbone=...")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a run's config holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recipe":
        """Rebuild what :meth:`to_dict` described."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise unknown_choice(name, known, what="entry of a recipe")
        if values.get("prior") == "examples":  # what runs were stored with before
            values = values | {"prior": "data"}
        return cls(**values)
