"""One cell of a table: a run with its seed, addressed by its content, at one of five scales; and
its record.

The scale ``cpu`` must take at most 20 minutes per name on 2 cores: 2,400 seconds of one core. A
step (forward and backward, batch 128, one thread) takes near 0.07 s with ResNet-8 at 16 pixels and
0.26 s at 32. Table 3 has 28 cells, so 56 with two seeds and 42 s for each. 8,000 images are 63
steps per epoch; six epochs are 378 steps, and measuring 4,000 images after each, at a third of a
step's cost, is 63 more: 441 x 0.07 s = 31 s. What differs from the paper:

- images are scaled from 32 pixels (64 for ImageNet-200) to 16, and the padding of the random crop
  with them;
- ResNet-8 in place of ResNet-32, with ``feature_norm``, without which outputs hardly leave their
  first direction in
  so few steps;
- 80 images of each class of CIFAR-100 to train on, 40 of ImageNet-200;
- two seeds, and of the dimensions only some.

Rate, momentum, weight decay, batch, loss, reduction and the shape of the schedule (a tenth after 40
% and 80 %) stay.

The scale ``medium`` is for conclusions: the same network and pixels, all images of CIFAR-100, 30
epochs (60 of uneven data), three seeds or five, each with a placement of its own, and for every
loss the best of a few rates on held-out images (:mod:`~reproduction.rates`). An epoch
takes near 9 s on one core. All paintings at 48 pixels have 30 epochs, all rotated digits 20.

The scale ``head`` separates what the output space contributes from how fast a network learns:
features of a pretrained EfficientNet-Lite0 are fixed, computed once per data set at 128 pixels
without augmentation (20 ms each), and two layers are trained on them: batches of 256, one cycle,
every loss averaged, rates as at scale medium, five seeds, each with a placement of its own.
CIFAR-100 takes near 35 s of one core.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, Self

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto._core.schema import from_plain
from hyperproto.codes.paper import authors_steps
from reproduction.stored import Data, Network, Space, StoredRun, Train

PROTOTYPES = {
    "paper": "Equation 5 by gradient descent, as the authors' script does it",
    "ours": "hyperproto.place, the best separation it finds",
    "paper-prior": "Equations 5 and 6 summed, by the paper's gradient descent",
    "paper-prior-5": "Equation 5 and five times Equation 6, by the paper's gradient descent",
    "ours-prior": "hyperproto.place with the word vectors as a prior",
    "data-driven": "hyperproto.place with the data-driven prior",
    "projected": "hyperproto.place with the data-driven prior, laid out by its axes and separated where too near",
    "optimized": "hyperproto.place by search alone, so that no dimension is left unused",
    "random": "independent uniform directions",
    "one-hot": "one axis per class",
    "word2vec": "principal components of word vectors",
    "authors": "the authors' published file",
    "authors-prior": "the authors' published file with privileged information",
    "gaussian": "a descent of the pairs' Gaussian potential, as DL2PA has it",
    "equiangular": "a descent that bounds the cosine of every pair, of either sign, as EBV has it",
}
ADDRESS_DIGITS = 16  # 64 bits: among a million cells two agree by chance once in 40 million
PARTS = {"data": Data, "network": Network, "space": Space, "train": Train}
PART_OF = {field.name: part for part, kind in PARTS.items() for field in fields(kind)}
# paper: SGD, rate 0.01, momentum 0.9, weight decay 1e-4, batch 128, 250 epochs, rate / 10 after 100
# and 200
PAPER = StoredRun(
    data=Data(reader="cifar-100"),
    network=Network(backbone="resnet-32"),
    space=Space(loss="squared_cosine", margin=0.0),
    train=Train(
        epochs=250,
        batch_size=128,
        lr=0.01,
        momentum=0.9,
        weight_decay=1e-4,
        schedule="paper",
        reduction="sum",
    ),
)
NORMED = {"feature_norm": True}
WHOLE = {"crops": "whole"}  # of large images: random crops of all of them
NUM_CLASSES = {"cifar-100": 100, "cifar-100-uneven": 100, "imagenet-200": 200, "cub-200-2011": 200}
DESCENDED = ("paper", "paper-prior", "paper-prior-5")
FIXED = ("one-hot", "word2vec", "authors", "authors-prior")  # prototypes without chance


@dataclass(frozen=True)
class Reduction:
    """What a scale makes of a data set: fewer epochs, fewer images, and with fewer pixels a
    ResNet-8.
    """

    epochs: int
    image_size: int | None = None
    train_examples: int | None = None
    test_examples: int | None = None


REDUCED = {
    ("cpu", "cifar-100"): Reduction(6, 16, 8_000, 4_000),
    # 10,100 images are 79 steps: 537 x 0.07 s = 38 s
    ("cpu", "cifar-100-uneven"): Reduction(6, 16, None, 4_000),
    # 200 classes of 40
    ("cpu", "imagenet-200"): Reduction(6, 16, 8_000, 4_000),
    # batch 64 at 24 pixels: 94 steps of 0.075 s per epoch, 10 epochs: 70 s, measuring 8 s; Table 4
    # has 10 of these
    ("cpu", "cub-200-2011"): Reduction(10, 24, None, 2_000),
    # 57 steps of 0.075 s per epoch, 8 epochs: 34 s and 3 s of measuring; Table 6 has 26 of these: 8
    # minutes
    ("cpu", "omniart"): Reduction(8, 24, 3_600, 1_000),
    # 47 steps of 0.4 s per epoch, 8 epochs: 150 s
    ("cpu", "rotated-mnist"): Reduction(8, None, 6_000, 2_000),
    ("medium", "cifar-100"): Reduction(30, 16),
    ("medium", "cifar-100-uneven"): Reduction(60, 16),
    ("medium", "omniart"): Reduction(30, 48),
    ("medium", "rotated-mnist"): Reduction(20),
    ("head", "cifar-100"): Reduction(10),
    ("head", "cifar-100-uneven"): Reduction(20),
    ("head", "cub-200-2011"): Reduction(20),
    ("head", "omniart"): Reduction(20),
}
FROZEN = {"backbone": "efficientnet-lite0", "weights": "pretrained", "freeze": True}
HEAD = {"batch_size": 256, "schedule": "one-cycle", "reduction": "mean"}
TUNED = (
    "medium",
    "head",
)  # scales whose rates are searched, and whose seeds each have a placement of their own


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one number of a table is measured on; nothing about where data or results are.

    Attributes
    ----------
    run : StoredRun
        Data, network, space and training. Chance in data is fixed by the reader's option ``seed``, never by the
        run's: all seeds see the same images, so that methods are compared in pairs. ``space.prototypes`` is one of
        :data:`PROTOTYPES`.
    job : {"train", "constant", "separation", "idea"}
        A network to train; the best constant answer on the training data; prototypes to measure; or
        one output that moves by Equation 2 or 7.
    scale : {"full", "medium", "head", "cpu", "smoke"}
        Under which protocol this was asked for.
    placement_steps, placement_seed : int
        Of the paper's descent, and of any placement that uses chance.
    draw : int
        Version of how images are drawn where not all are used: since 2 those of a run that predicts
        only some targets are the same as of one that predicts all.
    head : int
        Version of the layers on frozen features: since 2 hidden values are normalized before their
        ReLU.
    """

    run: StoredRun
    job: str = "train"
    scale: str = "full"
    placement_steps: int = 10_000
    placement_seed: int = 0
    draw: int = 1
    head: int = 1

    def __post_init__(self) -> None:
        if self.run.space.prototypes is not None:
            choose(self.run.space.prototypes, PROTOTYPES, what="prototypes")
        if self.run.space.kind != "conventional" and self.run.space.dim is None:
            raise InputError("dim", f'be given for a cell of space "{self.run.space.kind}"')

    @property
    def seed(self) -> int:
        """Of the weights, the order and the augmentation."""
        return self.run.train.seed

    @property
    def values(self) -> dict[str, Any]:
        """Everything about the cell by its name: the fields of all parts of the run are called
        differently.
        """
        parts = ((name, getattr(self.run, part)) for name, part in PART_OF.items())
        own = {name: getattr(self, name) for name in OWN}
        return {name: getattr(part, name) for name, part in parts} | own

    @cached_property
    def address(self) -> str:
        """The content as a short hash: the same for the same cell in any table, on any machine.

        What is as in :data:`PAPER` is left out, so that a new field does not move the cells that
        exist.
        """
        paper = _paper_values()
        content = {name: value for name, value in self.values.items() if value != paper[name]}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:ADDRESS_DIGITS]

    def but(self, **values: Any) -> Self:
        """Return the cell with other values, by the names of :attr:`values`."""
        own = {name: values.pop(name) for name in OWN if name in values}
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            changes.setdefault(choose(name, PART_OF, what="field of a run"), {})[name] = value
        parts: dict[str, Any] = {
            part: replace(getattr(self.run, part), **new) for part, new in changes.items()
        }
        return replace(self, run=replace(self.run, **parts), **own)

    def with_seed(self, seed: int) -> Self:
        """Return the cell of another seed; at scales "medium" and "head" it draws the placement,
        too.
        """
        placed = self.scale in TUNED and self.run.space.prototypes not in (None, *FIXED)
        return self.but(seed=seed, placement_seed=seed if placed else self.placement_seed)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild what ``dataclasses.asdict`` made of a cell, as a record stores it."""
        run = values.get("run")
        if isinstance(run, Mapping):  # the first records say which protocol, of one there was
            run = {name: part for name, part in run.items() if name != "protocol"}
        return from_plain(cls, {**values, "run": run})


OWN = tuple(part.name for part in fields(Cell) if part.name != "run")


@cache
def _paper_values() -> dict[str, Any]:
    return paper_cell(dim=1).values | {"dim": None}


def paper_cell(**values: Any) -> Cell:
    """Return a cell of the paper's protocol (:data:`PAPER`), with values by the names of their
    fields.

    >>> paper_cell(dim=100, prototypes="paper", lr=0.1).run.train.lr
    0.1
    """
    conventional = Cell(run=replace(PAPER, space=replace(PAPER.space, kind="conventional")))
    return conventional.but(**{"kind": "sphere", **values})


def at_scale(full: Cell, scale: str) -> Cell:
    """Return a cell of the paper's protocol at a scale; where rates are searched, its own is still
    None.
    """
    if scale == "smoke":
        return _smoke(full)
    data, dim = full.run.data, full.run.space.dim or 0
    if full.run.space.prototypes in DESCENDED:
        num_classes = data.first_classes or NUM_CLASSES.get(data.reader, 0)
        full = full.but(placement_steps=authors_steps(num_classes, dim))
    if scale == "full" or full.job in ("separation", "idea"):
        return full  # what is not trained takes seconds as it is
    if (scale, data.reader) not in REDUCED:
        raise InputError("scale", f"be one that has {data.reader}", f'"{scale}"')
    reduction = REDUCED[scale, data.reader]
    thinned = {"train_examples": reduction.train_examples, "test_examples": reduction.test_examples}
    options = {
        name: value for name, value in data.options.items() if name != "crops"
    }  # from middles, decoded once
    cell = full.but(**thinned, options=options, scale=scale, draw=2 if data.tasks else 1)
    if full.job == "constant":
        return cell
    cell = cell.but(epochs=reduction.epochs, lr=None if scale in TUNED else full.run.train.lr)
    if scale == "head":
        return cell.but(**FROZEN, **HEAD, head=2)
    if reduction.image_size is not None:
        cell = cell.but(
            image_size=reduction.image_size, backbone="resnet-8", backbone_options=NORMED
        )
    if str(full.run.network.backbone).startswith("densenet"):
        # blocks of 3 layers, near 0.25 s a step at 16 pixels: 47 steps per epoch, 4 epochs,
        # measuring 42: 57 s
        options = {"blocks": (3, 3, 3), **NORMED}
        cell = cell.but(
            backbone="densenet-small", backbone_options=options, train_examples=6_000, epochs=4
        )
    return cell


def _smoke(full: Cell) -> Cell:
    """Return the cell shrunk to a second or less, for tests: 3 classes, 16 pixels, 2 epochs, a
    small network.
    """
    data, space = full.run.data, full.run.space
    dim = None if space.dim is None else min(space.dim, 3)
    if full.job in ("separation", "idea"):
        return full.but(first_classes=3, dim=dim, scale="smoke")
    networks: dict[str | None, tuple[str, dict[str, Any]]] = {
        "rotated-mnist": ("rotated-mnist", {"width": 4}),
        "densenet-121": ("densenet", {"blocks": (2, 2), "growth": 4}),
    }
    network, options = networks.get(full.run.network.backbone, ("resnet-8", {}))
    size = 16
    if full.run.network.freeze:
        network, options, size = str(full.run.network.backbone), {"hidden": (4,)}, 32
    return full.but(
        options={"least": 1, "most": 4, "seed": 0}
        if data.reader == "cifar-100-uneven"
        else data.options,
        first_classes=None if data.reader in ("omniart", "rotated-mnist") else 3,
        train_examples=12,
        test_examples=6,
        valid_examples=None if data.valid_examples is None else 6,
        image_size=None if data.reader == "rotated-mnist" else size,
        backbone=network,
        backbone_options=options,
        dim=dim,
        width=min(space.width, 3),
        epochs=2,
        batch_size=6,
        scale="smoke",
        draw=2 if data.tasks else 1,
    )
