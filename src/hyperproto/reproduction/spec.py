"""One cell of a table as plain values: what is trained on what, how, and with which seed."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeAlias

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose, unknown_choice

__all__ = ["KINDS", "PROTOTYPES", "SCALES", "Options", "Spec"]

Options: TypeAlias = tuple[tuple[str, Any], ...]

SCALES = ("full", "cpu", "smoke")
KINDS = ("train", "separation", "idea")
SPACES = ("sphere", "composite", "conventional", "deep-ncm")
LOSSES = ("squared", "softmax", "free", "power", "cauchy")
PROTOTYPES = {
    "paper": "Equation 5 by gradient descent, as the authors' script does it",
    "ours": "hyperproto.place, the best separation it finds",
    "paper-prior": "Equations 5 and 6 summed, by the paper's gradient descent",
    "ours-prior": "hyperproto.place with the word vectors as a prior",
    "examples": "hyperproto.place with a look at the training examples as a prior",
    "projected": "hyperproto.place with the same look, laid out by its axes and parted where too near",
    "optimised": "hyperproto.place by search alone, so that no dimension is left unused",
    "random": "independent uniform directions",
    "one-hot": "one axis a class",
    "word2vec": "principal components of word vectors",
    "authors": "the authors' published file",
    "authors-prior": "the authors' published file with privileged information",
}
ADDRESS_DIGITS = 16  # 64 bits: among a million cells two agree by chance once in 40 million


@dataclass(frozen=True)
class Spec:
    """What one training run is, in full; nothing about where data or results lie.

    Attributes
    ----------
    kind : {"train", "separation", "idea"}
        A network to train; prototypes to measure, without one; or one output that moves by Equation 2 or 7.
    data, options : str, pairs
        A reader of :data:`hyperproto.data.readers.READERS`, and its options. Chance in data is fixed by the
        option ``seed``, never by the cell's: all seeds see the same images, so that methods are compared in pairs.
    classes : int, optional
        Keep this many, the first of the file; None keeps all.
    train_images, test_images : int, optional
        Keep this many, drawn once for all cells, each class in its share.
    held_out : int, optional
        Take this many training images away and measure on them, in the place of the test data: for choosing settings.
    size : int, optional
        Pixels a side that the network gets; None is the data set's own.
    tasks : tuple of str
        Which of the data's tasks; empty is all.
    network, network_options : str, pairs
        As for :func:`hyperproto.models.create_backbone`.
    space, dim : {"sphere", "composite", "conventional", "deep-ncm"}, int
        ``dim`` counts all axes of the output, that of a range included; the conventional space has no choice.
    prototypes : str, optional
        One of :data:`PROTOTYPES`, for the classes of a sphere.
    loss, loss_scale, loss_options : {"squared", "softmax", "free", "power", "cauchy"}, float, pairs
        Equation 1; cross-entropy over cosines times the scale; :mod:`~hyperproto.losses.softmax`; or
        :mod:`~hyperproto.losses.softmax`; the last three with options.
    margin : float
        Of a range on the sphere.
    mean : str, optional
        Of Deep NCM: "condensation", "decay" or "online".
    clamp, width : str, int
        Of squared error: see :class:`~hyperproto.baselines.ConventionalSpace`.
    task_weight : float, optional
        w of Table 6 for the range, 1 - w for the classes; None is the plain sum.
    epochs, batch_size, lr, momentum, weight_decay, schedule, reduction, augment
        As for :func:`hyperproto.training.fit`.
    seed : int
        Of the weights, the order and the augmentation.
    scale : {"full", "cpu", "smoke"}
        Under which protocol this was asked for.
    """

    kind: str = "train"
    data: str = "cifar-100"
    options: Options = ()
    classes: int | None = None
    train_images: int | None = None
    test_images: int | None = None
    held_out: int | None = None
    size: int | None = None
    tasks: tuple[str, ...] = ()
    network: str = "resnet-32"
    network_options: Options = ()
    space: str = "sphere"
    dim: int | None = None
    prototypes: str | None = None
    loss: str = "squared"
    loss_scale: float = 16.0
    loss_options: Options = ()
    margin: float = 0.0
    mean: str | None = None
    clamp: str = "test"
    width: int = 1
    task_weight: float | None = None
    # paper: SGD, rate 0.01, momentum 0.9, weight decay 1e-4, batch 128, 250 epochs, rate / 10 after 100 and 200
    epochs: int = 250
    batch_size: int = 128
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 1e-4
    schedule: str = "paper"
    reduction: str = "sum"
    augment: bool = True
    seed: int = 0
    scale: str = "full"

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.kind, KINDS, "kind of cell"),
            (self.space, SPACES, "space"),
            (self.scale, SCALES, "scale"),
            (self.loss, LOSSES, "loss"),
        ):
            choose(value, dict.fromkeys(known), what=what)
        if self.prototypes is not None:
            choose(self.prototypes, PROTOTYPES, what="prototypes")
        check_integer(self.seed, "seed", at_least=0)
        if self.space != "conventional" and self.dim is None:
            raise InputError(f'A cell of space "{self.space}" must say its `dim`; got none.')

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a record holds them."""
        held: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return held

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Spec":
        """Rebuild what :meth:`to_dict` described."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise unknown_choice(name, known, what="entry of a spec")
        return cls(**{name: _tuples(value) for name, value in values.items()})

    @property
    def address(self) -> str:
        """The content as a short hash: the same for the same cell in any table, on any machine.

        Entries at their default are left out, so that a new one does not move the cells that exist.
        """
        defaults = {field.name: field.default for field in fields(Spec)}
        told = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:ADDRESS_DIGITS]

    def with_seed(self, seed: int) -> "Spec":
        """Return the same cell with another seed."""
        return replace(self, seed=seed)

    def small(self) -> "Spec":
        """Return the cell shrunk to a second or less, for tests: 3 classes, 16 pixels, 2 epochs, a small network."""
        dim = None if self.dim is None else min(self.dim, 3)
        if self.kind != "train":
            return replace(self, classes=3, dim=dim, scale="smoke")
        networks: dict[str, tuple[str, Options]] = {
            "rotated-mnist": ("rotated-mnist", (("width", 4),)),
            "densenet-121": ("densenet", (("blocks", (2, 2)), ("growth", 4))),
        }
        network, options = networks.get(self.network, ("resnet-8", ()))
        uneven: Options = (("least", 1), ("most", 4), ("seed", 0))
        return replace(
            self,
            options=uneven if self.data == "cifar-100-uneven" else self.options,
            classes=None if self.data in ("omniart", "rotated-mnist") else 3,
            train_images=12,
            test_images=6,
            held_out=None if self.held_out is None else 6,
            size=None if self.data == "rotated-mnist" else 16,
            network=network,
            network_options=options,
            dim=dim,
            width=min(self.width, 3),
            epochs=2,
            batch_size=6,
            scale="smoke",
        )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
