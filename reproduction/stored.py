"""The description of a run as records store it, and what the library makes of it.

These classes are the form of the records, whose addresses are hashes of it: a field that is added
needs the default that every record before it had. The library may describe runs otherwise; then
only the functions below change.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hyperproto._core.checks import check_choices
from hyperproto.data import Source
from hyperproto.losses import ClassLoss, get_loss
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Space as Sphere
from hyperproto.spaces import TaskSpace
from hyperproto.spec import DataSpec, NetworkSpec, SpaceSpec, TrainSettings
from hyperproto.tasks import Classes
from hyperproto.training.space import build_space
from reproduction.batch_negatives import NONL, NTCE
from reproduction.composite import CompositeSpace
from reproduction.deep_ncm import DeepNCM
from reproduction.learned import ArcFace, CosFace, LearnedClasses
from reproduction.reassignment import ReassignedSpace

LOSSES: dict[str, type[ClassLoss]] = {loss.name: loss for loss in (NTCE, NONL, ArcFace, CosFace)}
"""Losses of later papers, by their names; those of the library are not among them."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which data, and which part of them; nothing about where they are."""

    valid_share: float = 0.0
    augment: bool = True
    keep: str = "auto"
    workers: int | None = None
    skip_corrupt: bool = False
    reader: str
    path: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    first_classes: int | None = None
    tasks: tuple[str, ...] = ()
    train_examples: int | None = None
    test_examples: int | None = None
    valid_examples: int | None = None
    image_size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Network:
    """Which network; with ``output_norm`` a batch norm follows its output."""

    backbone: str | None = None
    backbone_options: dict[str, Any] = field(default_factory=dict)
    weights: str | None = None
    freeze: bool = False
    output_norm: bool = False


@dataclass(frozen=True, kw_only=True)
class Space:
    """Which output space; ``prototypes`` is one of the kinds in :mod:`reproduction.cell`."""

    kind: (
        Literal[
            "sphere", "spheres", "composite", "conventional", "deep-ncm", "learned", "reassigned"
        ]
        | None
    ) = None
    dim: int | None = None
    loss: str = "auto"
    margin: float | None = None
    prototypes: str | None = None
    prior: str | None = None
    missing: str = "error"
    class_weight: str | None = None
    loss_options: dict[str, Any] = field(default_factory=dict)
    mean: str | None = None
    clamp: str = "test"
    width: int = 1
    task_weight: float | None = None
    number_loss: Literal["auto", "absolute", "squared"] = "auto"

    def __post_init__(self) -> None:
        check_choices(self)


@dataclass(frozen=True, kw_only=True)
class Train:
    """How to train."""

    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    momentum: float = 0.9
    weight_decay: float | None = None
    schedule: str | None = None
    reduction: str | None = None
    seed: int = 0
    accumulate: int = 1
    patience: int | None = None
    monitor: str | None = None
    mixed_precision: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """What one run is, in full."""

    data: Data
    network: Network = field(default_factory=Network)
    space: Space = field(default_factory=Space)
    train: Train = field(default_factory=Train)


def data_spec(data: Data, path: Path | None) -> DataSpec:
    """Return the library's description of the data, which are at ``path``."""
    return DataSpec(**asdict(data) | {"path": str(path)})


def network_spec(network: Network) -> NetworkSpec:
    """Return the library's description of the network."""
    values = {name: value for name, value in asdict(network).items() if name != "output_norm"}
    return NetworkSpec(**values)


def train_settings(train: Train) -> TrainSettings:
    """Return the library's settings."""
    return TrainSettings.from_dict(asdict(train))


def _space_spec(space: Space) -> SpaceSpec:
    values: Mapping[str, Any] = asdict(space)
    return SpaceSpec(**{name: value for name, value in values.items() if name != "mean"})


def _later_space(space: Space, source: Source, prototypes: Prototypes | None) -> TaskSpace:
    """Build the space of a later paper: a loss on prototypes, that move or not, or on learned
    vectors.
    """
    assert space.dim is not None
    ((name, task),) = source.targets.items()
    made = LOSSES.get(space.loss)
    loss = (
        get_loss(space.loss, **space.loss_options) if made is None else made(**space.loss_options)
    )
    if space.kind == "learned":
        return LearnedClasses(space.dim, {name: task}, loss)
    assert prototypes is not None
    assert isinstance(task, Classes)
    tasks = {name: replace(task, classes=prototypes, loss=loss)}
    if space.kind == "reassigned":
        return ReassignedSpace(space.dim, tasks)
    return Sphere(space.dim, tasks)


def space_of(
    run: StoredRun, source: Source, prototypes: Prototypes | None, *, frozen: bool = False
) -> TaskSpace:
    """Build the output space of a run, around prototypes that are placed already."""
    space, seed = run.space, run.train.seed
    if space.kind == "deep-ncm":
        assert space.dim is not None
        means: Any = {"mean": space.mean}
        return DeepNCM(space.dim, source.targets, **means)
    if space.kind == "composite":
        sphere = space_of(
            replace(run, space=replace(space, kind="sphere")), source, prototypes, frozen=frozen
        )
        return CompositeSpace(sphere.dim, sphere.tasks)
    if space.kind in ("learned", "reassigned") or space.loss in LOSSES:
        return _later_space(space, source, prototypes)
    spec = _space_spec(space)
    return build_space(
        spec, source.targets, source.train, seed=seed, frozen=frozen, prototypes=prototypes
    )
