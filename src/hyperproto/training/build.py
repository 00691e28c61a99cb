"""From the description of a run to its data, its network and its space: the one place that builds
them.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

from hyperproto import defaults, models
from hyperproto._core.errors import InputError
from hyperproto._core.processes import derive_seed
from hyperproto.data import Arrays, ImageData, ImagePreprocessing, Source, Split, training_data
from hyperproto.data.augment import Augment
from hyperproto.data.preprocessing import preprocessing_from_dict
from hyperproto.data.readers import read_data
from hyperproto.data.source import draw_rows, hold_out_rows, resized, select
from hyperproto.runtime.tables import TableEncoder
from hyperproto.spec import DataSpec, NetworkSpec
from hyperproto.tasks import Classes, Range
from hyperproto.training.load import RunRecord, read_run
from hyperproto.training.space import only_classes

Data: TypeAlias = Arrays | ImageData
Tasks: TypeAlias = Mapping[str, Classes | Range]

DRAW = 0  # seed of which examples are kept: every run of the same description sees the same
SHAPE = ("channels", "size")


def build_source(
    spec: DataSpec,
    *,
    seed: int = 0,
    path: str | Path | None = None,
    encoder: TableEncoder | None = None,
) -> Source:
    """Read data and cut them down as a description says.

    Parameters
    ----------
    spec : DataSpec
        Which data.
    seed : int
        Of the run; it fixes which share is validated on.
    path : path, optional
        Where the data are now, if they were moved.
    encoder : TableEncoder, optional
        For a table: that of a run that goes on.
    """
    return cut_source(read_data(spec, path, encoder=encoder), spec, seed=seed)


def cut_source(source: Source, spec: DataSpec, *, seed: int = 0) -> Source:
    """Keep the classes, examples and targets of data that a description names, at its size of
    images.
    """
    if spec.first_classes is not None:
        source = _first_classes(source, spec.first_classes)
    if spec.valid_examples is not None:
        chosen = draw_in_proportion(source.train, source, spec.valid_examples, "held out")
        source = _validate_on(source, chosen)
    elif spec.valid_share:
        source = _validate_on(
            source, _draw_share(_only_tasks(source, spec.tasks), spec.valid_share, seed)
        )
    train = _thinned(source, source.train, spec.train_examples, "train")
    test = (
        None if source.test is None else _thinned(source, source.test, spec.test_examples, "test")
    )
    source = _only_tasks(replace(source, train=train, test=test), spec.tasks)
    return source if spec.image_size is None else resized(source, spec.image_size)


def build_data(spec: DataSpec, source: Source) -> tuple[Data, Data | None]:
    """Return what to train on, and what to measure on during training."""

    def load(split: Split, augment: Augment | None) -> Data:
        return training_data(
            split,
            source.preprocessing,
            augment,
            keep=spec.keep,
            workers=spec.workers,
            skip_corrupt=spec.skip_corrupt,
        )

    augment = source.augment
    train = load(source.train, augment if spec.augment else None)
    varied = augment if augment is not None and augment.at_test else None
    return train, None if source.test is None else load(source.test, varied)


def choose_network(
    spec: NetworkSpec, source: Source, image_size: int | None = None
) -> tuple[NetworkSpec, Source]:
    """Return the network that the data ask for, and the data with images such as its weights were
    made for.

    Parameters
    ----------
    spec : NetworkSpec
        Which network; what it leaves open is chosen.
    source : Source
        Its images are left as they are where the network starts from nothing.
    image_size : int, optional
        Where it is given, images keep it.
    """
    images = source.preprocessing
    if (run := run_before(spec)) is not None:
        note = f'The network of "{run.folder}" goes on; inputs are prepared as they were for it.'
        return _from_run(spec, run), replace(source, note=note)
    if not isinstance(images, ImagePreprocessing) or spec.weights == "none":
        return spec, source
    because = ""
    is_open = (
        spec.backbone is None
        and spec.weights is None
        and not spec.freeze
        and models.has_pretrained()
    )
    num_classes = max(source.class_counts, default=0)
    if is_open and defaults.uses_pretrained(
        len(source.train), num_classes, images.channels, image_size
    ):
        spec = replace(spec, freeze=True)
        because = (
            ", for there are fewer than 1,000 images per class (--weights none trains a network "
            "from scratch)"
        )
    if spec.freeze or spec.weights:
        spec = replace(
            spec,
            weights=spec.weights or "pretrained",
            backbone=spec.backbone or defaults.PRETRAINED,
        )
    if spec.weights is None:
        return spec, source
    size = images.size
    if pixels := _pixels(spec, images.input_shape):
        size = image_size or pixels.size
        source = replace(resized(source, size), preprocessing=replace(pixels, size=size))
    note = (
        f"{spec.backbone} starts from {spec.weights} weights and gets images of {size} x {size} "
        "pixels"
    )
    note += (
        "; only its last layers are trained, on features that are computed once"
        if spec.freeze
        else ""
    )
    return spec, replace(source, note=f"{note}{because}.")


def _pixels(spec: NetworkSpec, shape: tuple[int, ...]) -> ImagePreprocessing | None:
    """Return which images a network's pretrained weights were made for; another library's network
    says so once it is built.
    """
    known: Any = models.BACKBONES.get(spec.backbone or "")
    if known is None:
        known = build_network(replace(spec, weights=None), shape, "images", 1, seed=0)
    return getattr(known, "pixels", None)


def build_network(
    spec: NetworkSpec,
    shape: tuple[int, ...],
    inputs: defaults.InputKind,
    out_dim: int,
    *,
    seed: int,
) -> models.Backbone:
    """Build a network for inputs of a shape and kind, its weights drawn from a seed, or those it is
    to start from.
    """
    name = spec.backbone
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if name is None:
            network = models.default_backbone(out_dim, shape, inputs)
        else:
            is_row = len(shape) == 1
            known = (
                defaults.choose_backbone(shape, inputs)[1]
                if is_row
                else dict(zip(SHAPE, shape, strict=False))
            )
            known |= {"hidden": defaults.HEAD} if spec.freeze else {}
            build = models.LibraryNetwork if ":" in name else models.BACKBONES.get(name)
            taken = inspect.signature(build).parameters if build else {}
            fitting = {key: value for key, value in known.items() if key in taken}
            network = models.create_backbone(
                name, out_dim=out_dim, **(fitting | spec.backbone_options)
            )
    if spec.weights == "pretrained":
        if not isinstance(network, models.FeatureBackbone):
            raise InputError(
                "weights", "be a file or a run for a network without features", f'"{network.name}"'
            )
        network.load_pretrained()
    elif spec.weights not in (None, "none"):
        models.load_weights(network, spec.weights)
    return network


def run_before(spec: NetworkSpec) -> RunRecord | None:
    """Return the run that a network starts from, where its weights are those of one."""
    folder = Path(spec.weights or "")
    return read_run(folder) if spec.weights and (folder / "config.json").is_file() else None


def read_as(run: RunRecord, read: Callable[..., Source]) -> Source:
    """Return data that ``read(encoder=...)`` reads, prepared as those of a run were."""
    before = preprocessing_from_dict(run.preprocessing or {})
    source = read(encoder=getattr(before, "encoder", None))
    if type(source.preprocessing) is not type(before):
        kind = "images" if len(before.input_shape) == 3 else "rows of a table"
        raise InputError("The data", f'be {kind}, as those of "{run.folder}"', "others")
    if isinstance(before, ImagePreprocessing):
        source = resized(source, before.size)  # random crops, too
    return replace(source, preprocessing=before)


def _from_run(spec: NetworkSpec, run: RunRecord) -> NetworkSpec:
    """Return the network of a run, unless another is asked for."""
    if spec.backbone is not None:
        return spec
    if run.config["network"] is None:
        raise InputError("weights", "be a run of a network of hyperproto.models", f'"{run.folder}"')
    options = {
        key: value for key, value in run.config["network"].items() if key not in ("name", "out_dim")
    }
    if spec.freeze:
        options.pop("hidden", None)  # of a head of its own
    return replace(spec, backbone=run.config["network"]["name"], backbone_options=options)


def draw_in_proportion(split: Split, source: Source, examples: int, *purpose: str) -> Tensor:
    """Return which examples a draw takes, each class in proportion, in the order of the file. Shape
    (examples,).
    """
    labels = next(
        (split.targets[name] for name in source.labels), torch.zeros(len(split), dtype=torch.int64)
    )
    return draw_rows(labels, examples, seed=derive_seed(DRAW, *purpose))


def _draw_share(source: Source, share: float, seed: int) -> Tensor:
    """Return the training examples to validate on: a share of each class."""
    labels = [source.train.targets[name] for name in source.labels]
    _, chosen = hold_out_rows(
        labels, len(source.train), share=share, seed=derive_seed(seed, "validation")
    )
    if not len(chosen):
        raise InputError(
            "valid_share", f"hold out an example of {len(source.train)} at least", f"{share:g}"
        )
    return chosen


def _validate_on(source: Source, chosen: Tensor) -> Source:
    """Put some of the training examples in place of the test data, before anything else uses
    training examples.
    """
    rest = (
        torch.ones(len(source.train), dtype=torch.bool)
        .index_fill(0, chosen, False)
        .nonzero()
        .flatten()
    )
    return replace(source, train=select(source.train, rest), test=select(source.train, chosen))


def _thinned(source: Source, split: Split, examples: int | None, part: str) -> Split:
    if examples is None or examples >= len(split):
        return split
    return select(split, draw_in_proportion(split, source, examples, "thin out", part))


def _first_classes(source: Source, classes: int) -> Source:
    """Keep the first classes of the one class task."""
    name, known = only_classes(source.targets, "first_classes")
    if known.num_classes < classes:
        raise InputError(
            f'"{source.name}"', f"have {classes} classes", known.num_classes, "Is it complete?"
        )
    targets = source.targets | {name: Classes.of(known.values[:classes])}
    return source.map_splits(
        lambda part: select(part, (part.targets[name] < classes).nonzero().flatten()), targets
    )


def _only_tasks(source: Source, names: tuple[str, ...]) -> Source:
    """Keep the targets of these names, or all; examples are drawn before, so that every choice sees
    the same.
    """
    if not names:
        return source
    targets = {name: source.targets[name] for name in names}
    return source.map_splits(
        lambda part: Split(part.inputs, {name: part.targets[name] for name in names}), targets
    )
