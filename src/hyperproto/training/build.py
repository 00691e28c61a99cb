"""From the description of a run to its data, its network and its space: the one place that builds
them.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor

from hyperproto import defaults, models
from hyperproto._core.errors import InputError, arg
from hyperproto._core.processes import derive_seed, from_first
from hyperproto.baselines import ConventionalSpace, weigh_tasks
from hyperproto.data import (
    Arrays,
    ImageData,
    ImagePreprocessing,
    Labels,
    Source,
    Split,
    training_data,
)
from hyperproto.data.image_files import ImageFiles, decode_rows, find_corrupt
from hyperproto.data.preprocessing import TablePreprocessing, preprocessing_from_dict
from hyperproto.data.readers import read_data
from hyperproto.data.source import draw_rows, hold_out_rows, resized, select
from hyperproto.losses import get_loss
from hyperproto.priors import Prior, from_data
from hyperproto.priors.data_driven import draw_examples
from hyperproto.prototypes import Prototypes, place
from hyperproto.prototypes.prototypes import check_dim
from hyperproto.runtime.tables import TableEncoder
from hyperproto.spaces import Classes, CompositeSpace, Range, Space, TaskSpace, tasks_for
from hyperproto.spaces.space import assign_axes
from hyperproto.spaces.tasks import class_tasks
from hyperproto.spec import DataSpec, NetworkSpec, SpaceSpec
from hyperproto.training.load import RunRecord, read_run

Data: TypeAlias = Arrays | ImageData
Tasks: TypeAlias = Mapping[str, Classes | Range]

DRAW = 0  # seed of which examples are kept: every run of the same description sees the same
FILES = 5_000  # that are decoded for a data-driven prior: fifty of each of a hundred classes
SHAPE = ("channels", "size")
SIDE = 32  # pixels they are decoded at; twice what patches are taken at


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
    options: Any = {"keep": spec.keep, "workers": spec.workers, "skip_corrupt": spec.skip_corrupt}
    augment = source.augment if spec.augment else None
    train = training_data(source.train, source.preprocessing, augment, **options)
    if source.test is None:
        return train, None
    varied = source.augment if source.augment is not None and source.augment.at_test else None
    return train, training_data(source.test, source.preprocessing, varied, **options)


def resolve_space(spec: SpaceSpec, source: Source) -> SpaceSpec:
    """Return the space with everything chosen that it leaves open, by what the data ask for."""
    counts = source.class_counts
    numbers = len(source.targets) - len(counts)
    dim = None if spec.dim is None else check_dim(spec.dim)
    kind = spec.kind or defaults.choose_space(counts, numbers, dim)
    separate, several = kind == "spheres", kind in ("sphere", "spheres")
    dim = dim or defaults.choose_dim(counts, numbers, separate=separate)
    loss, options, frozen = spec.loss, spec.loss_options, _has_features(source)
    prior, margin = spec.prior, spec.margin
    open_placement = kind == "sphere" and not spec.prototypes and prior in (None, "data")
    by_data = open_placement and defaults.uses_prior(counts, numbers, dim, loss, frozen=frozen)
    if by_data and _has_prior(source.train):
        prior = "data"
    if loss == "auto":
        axes = defaults.class_axes(counts, numbers * (defaults.NUMBER_AXES if separate else 1), dim)
        most = max(counts, default=0) if several else 0
        loss, chosen = defaults.choose_loss(most, axes, frozen_with_prior=frozen and by_data)
        options = chosen | options
    if margin is None:
        margin = defaults.choose_margin(kind, loss, has_classes=bool(counts))
    return replace(
        spec,
        kind=kind,
        dim=spec.dim if spec.prototypes or kind == "conventional" else dim,
        loss=spec.loss
        if (each := several and len(counts) > 1)
        else loss,  # "auto" is for each its own
        loss_options=spec.loss_options if each else options,
        prior=prior,
        margin=margin,
    )


def build_space(
    spec: SpaceSpec, source: Source, *, seed: int, prototypes: Prototypes | None = None
) -> TaskSpace:
    """Build an output space; targets and predictions are dicts by name.

    Parameters
    ----------
    spec : SpaceSpec
        What it leaves open is chosen by :func:`resolve_space`.
    source : Source
        What the data ask for, and the examples of a data-driven prior.
    seed : int
        Of the run.
    prototypes : Prototypes, optional
        For the classes, where the caller brings them along.
    """
    number_loss = defaults.choose_number_loss(spec.loss)
    spec = resolve_space(spec, source)
    tasks: Tasks = tasks_for(source.targets)
    if spec.kind in ("sphere", "spheres", "conventional"):
        tasks = {
            name: replace(t, loss=number_loss) if isinstance(t, Range) else t
            for name, t in tasks.items()
        }
    if spec.kind in ("sphere", "spheres", "composite"):
        tasks, dim = _on_sphere(spec, tasks, source, prototypes)
    else:
        dim = cast(int, spec.dim)
    if spec.class_weight is not None:
        weighed = {
            name: replace(task, class_weight=spec.class_weight)
            for name, task in class_tasks(tasks).items()
        }
        tasks = {**tasks, **weighed}
    if spec.task_weight is not None:
        tasks = weigh_tasks(tasks, spec.task_weight)
    with torch.random.fork_rng():
        torch.manual_seed(
            derive_seed(seed, "space")
        )  # numbers off several axes have a layer of their own
        if spec.kind == "conventional":
            return ConventionalSpace(tasks, clamp=cast(Any, spec.clamp), width=spec.width)
        if spec.kind == "composite":
            return CompositeSpace(dim, tasks)
        return Space(dim, tasks, separate=spec.kind == "spheres")


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
        because = ", for there are fewer than 1,000 images per class (--weights none trains a network from scratch)"
    if spec.freeze or spec.weights:
        spec = replace(
            spec,
            weights=spec.weights or "pretrained",
            backbone=spec.backbone or defaults.PRETRAINED,
        )
    if spec.weights is None:
        return spec, source
    untrained = build_network(replace(spec, weights=None), images.input_shape, "images", 1, seed=0)
    pixels = getattr(untrained, "pixels", {})
    if pixels:
        source = resized(source, image_size or pixels["size"])
        size = cast(ImagePreprocessing, source.preprocessing).size
        source = replace(source, preprocessing=ImagePreprocessing(**{**pixels, "size": size}))
    size = cast(ImagePreprocessing, source.preprocessing).size
    note = f"{spec.backbone} starts from {spec.weights} weights and gets images of {size} x {size} pixels"
    note += (
        "; only its last layers are trained, on features that are computed once"
        if spec.freeze
        else ""
    )
    return spec, replace(source, note=f"{note}{because}.")


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
    source = read(encoder=before.encoder if isinstance(before, TablePreprocessing) else None)
    if type(source.preprocessing) is not type(before):
        kind = "images" if isinstance(before, ImagePreprocessing) else "rows of a table"
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


def prior_from_data(split: Split, name: str, labels: Labels) -> Prior | None:
    """Return the data-driven prior for the classes of a target: rows and pixels as they are, files
    by a sample.

    None where fewer than three classes have examples: of two, neither is nearer to one than the
    other.
    """
    ids, inputs = split.targets[name], split.inputs
    if not isinstance(inputs, Tensor):
        rows = draw_examples(ids, seed=0, most=FILES)
        small = ImagePreprocessing(SIDE, mean=(0.5,) * 3, std=(1.0,) * 3)
        corrupt = find_corrupt(ImageFiles(inputs[row] for row in rows.tolist()), workers=0)
        rows = rows[[place for place in range(len(rows)) if place not in corrupt]]
        ids, inputs = (
            ids[rows],
            torch.from_numpy(decode_rows(inputs, small, rows)).permute(0, 3, 1, 2),
        )
    if len(torch.unique(ids[ids >= 0])) < 3:
        return None
    prior = from_data(
        inputs, ids, tuple(labels.names), num_classes=labels.num_classes, missing="free"
    )
    return prior if prior.known.sum() >= 3 else None


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
    name, known = _only_class_target(source, "first_classes")
    if known.num_classes < classes:
        raise InputError(
            f'"{source.name}"', f"have {classes} classes", known.num_classes, "Is it complete?"
        )
    targets = source.targets | {name: Labels(known.names[:classes])}
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


def _on_sphere(
    space: SpaceSpec, tasks: Tasks, source: Source, given: Prototypes | None
) -> tuple[Tasks, int]:
    """Give classes their loss and their prototypes, and numbers their margin; return the tasks and
    the dimension.
    """
    made: dict[str, Classes | Range] = {}
    for name, task in tasks.items():
        if isinstance(task, Range):
            made[name] = replace(task, margin=space.margin or 0.0)
        else:
            made[name] = replace(task, loss=get_loss(space.loss, **space.loss_options))
    if given is None and not space.prototypes and space.prior in (None, "none"):
        return made, cast(int, space.dim)
    name, labels = _only_class_target(source, "prototypes" if space.prototypes else "prior")
    separate = space.kind == "spheres"
    if given is None and space.prototypes:
        given = _load_prototypes(space.prototypes, labels, name)
    if given is None:
        block = assign_axes(cast(int, space.dim), made, separate=separate)[name]
        given = from_first(lambda: _place(space, source, name, labels, block.stop - block.start))
    made[name] = replace(cast(Classes, made[name]), classes=given)
    return made, space.dim or given.dim + (len(made) - 1) * (
        defaults.NUMBER_AXES if separate else 1
    )


def _place(space: SpaceSpec, source: Source, name: str, labels: Labels, axes: int) -> Prototypes:
    """Place prototypes by a prior: one that is given, or a data-driven one."""
    prior: Any = space.prior
    method = "auto"
    if prior == "data":
        if not _has_prior(source.train):
            raise InputError(
                "prior", "be left out where inputs are neither rows nor images", '"data"'
            )
        prior = prior_from_data(source.train, name, labels)
        if prior is not None:
            method = defaults.choose_prior_method(
                labels.num_classes, axes, frozen=_has_features(source)
            )
    missing = cast(Any, space.missing)
    return place(
        labels.names,
        axes,
        prior=prior,
        missing=missing,
        method=method,
        effort="fast",
        progress=False,
    )


def _load_prototypes(path: str, labels: Labels, name: str) -> Prototypes:
    """Return the prototypes of a file in the order of the data's classes; without names, in the
    file's own.
    """
    placed = Prototypes.load(path)
    if placed.num_classes != labels.num_classes or (
        placed.names and set(placed.names) != set(labels.names)
    ):
        strange = sorted(set(placed.names or ()) - set(labels.names))
        raise InputError(
            f'"{path}"',
            f'have one prototype for each of the {labels.num_classes} classes of "{name}"',
            f'others, such as "{strange[0]}"' if strange else f"{placed.num_classes} prototypes",
            "Place them for these classes: hyperproto place NAMES D -o FILE.",
        )
    order = (
        [placed.names.index(known) for known in labels.names]
        if placed.names
        else list(range(len(labels.names)))
    )
    return Prototypes(placed.vectors[order], placed.certificate, tuple(labels.names))


def _only_class_target(source: Source, asked: str) -> tuple[str, Labels]:
    found = source.labels
    if len(found) != 1:
        raise InputError(
            arg(asked),
            "be left out unless the data have one class task",
            f"{len(found)} class tasks",
        )
    return next(iter(found.items()))


def _has_prior(split: Split) -> bool:
    """Return whether these are rows, images or image files, of which a data-driven prior can be
    made.
    """
    return not isinstance(split.inputs, Tensor) or split.inputs.ndim in (2, 4)


def _has_features(source: Source) -> bool:
    """Return whether features have taken the place of images: rows, where the network can be given
    images.
    """
    inputs = source.train.inputs
    return (
        isinstance(source.preprocessing, ImagePreprocessing)
        and isinstance(inputs, Tensor)
        and inputs.ndim == 2
    )
