"""Training from a description: data, network and space are built from plain values, and built again
to resume.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from hyperproto._core.files import Plain, as_path
from hyperproto._core.processes import derive_seed, from_first
from hyperproto.data import Source
from hyperproto.data.giveaway import find_giveaways
from hyperproto.data.source import resized
from hyperproto.data.table_files import FEW
from hyperproto.defaults import FINE_TUNING, HEAD_DECAY, InputKind
from hyperproto.models import FeatureBackbone
from hyperproto.spaces import OutputSpace, Space
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import NetworkSpec, ResolvedSettings, RunSpec
from hyperproto.training.again import fit_or_try_again
from hyperproto.training.build import (
    build_data,
    build_network,
    build_source,
    choose_network,
    read_as,
    run_before,
)
from hyperproto.training.checkpoint import fill_weights, read_checkpoint
from hyperproto.training.features import freeze
from hyperproto.training.fit import kind_of, resolve_settings
from hyperproto.training.folder import (
    CHECKPOINT,
    SPEC,
    RunFolder,
    check_same,
    extend_run,
    stored_position,
    stored_spec,
)
from hyperproto.training.load import read_run, rebuild
from hyperproto.training.outputs import baseline_metrics
from hyperproto.training.run import Run
from hyperproto.training.space import build_space, choose_layout

Say = Callable[[str], None]


def train(
    spec: RunSpec,
    folder: str | Path | None = None,
    *,
    resume: bool = False,
    say: Say = lambda sentence: None,
    **options: Any,
) -> Run:
    """Train as a description says.

    Parameters
    ----------
    spec : RunSpec
        Data, network, space, and how to train.
    folder : path, optional
        Where to store the run; must not exist or be empty. None writes nothing.
    resume : bool, default False
        Continue the run in ``folder``, as :func:`resume_run` does, where there is one.
    say : callable, optional
        Called with a line about what is going to be trained.
    **options
        ``progress`` and ``checkpoint_seconds`` of :func:`~hyperproto.training.fit.fit`.
    """
    place = None if folder is None else as_path(folder)
    if place is None:
        return _fit(_build(spec, None, say), None, say, options)
    if resume and any((place / name).is_file() for name in ("config.json", SPEC)):
        return resume_run(place, say=say, **options)
    store = RunFolder(place, spec)
    with store.started():
        return _fit(_build(spec, store, say), store, say, options)


def resume_run(
    folder: str | Path,
    *,
    epochs: int | None = None,
    path: str | Path | None = None,
    say: Say = lambda sentence: None,
    **options: Any,
) -> Run:
    """Continue a run that :func:`train` started, bit for bit as if it had not been interrupted.

    Parameters
    ----------
    folder : path
        The run.
    epochs : int, optional
        Train longer, to this many epochs altogether. Everything goes on from where it is, momentum
        included; from the next step on the schedule is that of a run of so many epochs, which stays
        the run's.
    path : path, optional
        Where the data are now, if they were moved.
    say, **options
        As for :func:`train`.
    """
    place = as_path(folder)
    store = RunFolder(place)
    with store.held() if place.is_dir() else nullcontext():  # from before it is read
        if epochs is not None:
            from_first(lambda: extend_run(place, epochs))
        spec, position = from_first(lambda: (stored_spec(place), stored_position(place)))
        store.spec = spec
        if position is None:
            say(_where(place, position, spec.train.epochs))
            return _fit(_build(spec, store, say, path), store, say, options)
        # what a rule decided is taken from the run: the rule may be another one by now
        record = read_run(place)
        settings = ResolvedSettings.from_dict(record.settings)
        read = partial(build_source, spec.data, seed=spec.train.seed, path=path)
        source = read_as(record, read)
        network, space = rebuild(place)
        stored = {name: task.known_values for name, task in space.tasks.items()}
        now = {name: task.known_values for name, task in source.targets.items()}
        check_same(place, "targets", stored, now)
        if spec.network.freeze:
            fill_weights(network, space, read_checkpoint(place / CHECKPOINT).tensors)
            source = freeze(network, source, spec.data, place)
        say(_where(place, position, settings.epochs))
        # with another seed the first training has failed
        options["is_second"] = settings.seed != spec.train.seed
        built = Built(replace(spec, train=settings), source, network, space)
        return _fit(built, store, say, options)


class Built(NamedTuple):
    """What a description became, with everything in it that the data decided."""

    spec: RunSpec
    source: Source
    network: nn.Module
    space: OutputSpace


def _build(
    spec: RunSpec, store: RunFolder | None, say: Say, path: str | Path | None = None
) -> Built:
    """Read the data and choose the network by them, compute features where it is frozen, then build
    the space and the network; return the description with what was chosen, too.
    """
    seed, size = spec.train.seed, spec.data.image_size
    read = partial(build_source, spec.data, seed=seed, path=path)
    if (before := run_before(spec.network)) is None:
        source = read()
    else:
        source = read_as(before, read)
        # in place of that of the run before
        source = source if size is None else resized(source, size)
    for giveaway in find_giveaways(source):
        say(f"{giveaway.message} {giveaway.advice}")
    chosen, source = choose_network(spec.network, source, size)
    kind, settings = _kind(source), spec.train
    dim, _ = choose_layout(spec.space, source.targets)
    network = _build_network(chosen, source, dim, seed)
    if chosen.freeze:
        source = freeze(network, source, spec.data, None if store is None else store.path)
        if settings.weight_decay is None:
            settings = replace(settings, weight_decay=HEAD_DECAY)
    space = build_space(spec.space, source.targets, source.train, seed=seed, frozen=chosen.freeze)
    is_tuned = chosen.weights not in (None, "none") and not chosen.freeze
    if is_tuned and kind == "images" and settings.lr is None:
        rate = resolve_settings(settings, space, len(source.train), kind).lr
        settings = replace(settings, lr=FINE_TUNING * rate)
    spec = replace(spec, network=chosen, train=settings)
    if store is not None:
        store.spec = spec
    return Built(spec, source, network, space)


def _kind(source: Source) -> InputKind:
    if len(source.preprocessing.input_shape) == 3:
        return "images"
    return kind_of(source.train.inputs, source.preprocessing)


def _build_network(spec: NetworkSpec, source: Source, dim: int, seed: int) -> nn.Module:
    shape = source.preprocessing.input_shape
    return build_network(spec, shape, _kind(source), dim, seed=derive_seed(seed, "weights"))


def _fit(built: Built, store: RunFolder | None, say: Say, options: Plain) -> Run:
    """Prepare the data, and train."""
    spec, source, network, space = built
    if isinstance(network, FeatureBackbone):
        network.keep_norms = spec.network.weights not in (None, "none")
        if spec.network.freeze:
            network.requires_grad_(False)
            network.output.requires_grad_(True)
    train_data, valid = build_data(spec.data, source)
    if len(train_data) < FEW:
        say(f"{source.name} has {len(train_data)} examples to train on: too few to rely on.")
    if source.note:
        say(source.note)
    say(_headline(source, len(train_data), None if valid is None else len(valid), network, space))
    run = fit_or_try_again(
        network,
        space,
        train_data,
        spec.train,
        rebuild=partial(_build_network, spec.network, source, space.dim),
        say=say,
        valid=valid,
        folder=store,
        resume=store is not None,  # where only the description is there yet, a run is started
        preprocessing=source.preprocessing,
        **options,
    )
    run.baseline = {} if valid is None else baseline_metrics(space, valid.targets)
    return run


def _headline(
    source: Source, examples: int, valid: int | None, network: nn.Module, space: OutputSpace
) -> str:
    """Say what is trained on what; a rule may have chosen much of it."""
    name = getattr(network, "name", type(network).__name__)
    weights = sum(parameter.numel() for parameter in network.parameters())
    measured = "nothing to measure on" if valid is None else f"{valid:,} to measure on"
    kind = "the sphere" if space.on_sphere else "softmax and squared error"
    present = [source.targets[n].present(target) for n, target in source.train.targets.items()]
    without = int((~torch.stack(present)).all(dim=0).sum())
    unlabeled = f" ({without:,} of them without a label)" if without else ""
    line = f"{source.name}: {examples:,} examples to train on{unlabeled}, {measured}; "
    line += f"{name} with {weights:,} weights; {kind} in {space.dim} dimensions"
    if type(space) is Space:
        losses = {
            task.loss.name.replace("_", " ")
            for task in space.tasks.values()
            if task.reads == "index"
        }
        line += f", {' and '.join(sorted(losses))} loss" if losses else ""
        for placed in by_name(space.prototypes).values():
            found = placed.certificate.prior_agreement
            line += "" if found is None else f", prototypes placed by {found.prior}"
            line += (
                f", only {placed.used_axes} of {placed.dim} axes in use"
                if placed.used_axes < placed.dim
                else ""
            )
    return line + "."


def _where(folder: Path, position: tuple[int, int] | None, epochs: int | None) -> str:
    """Say where a run continues."""
    epoch, step = position or (0, 0)
    if (folder / "metrics.json").is_file():
        return f"{folder} is finished: {epoch} epochs are done."
    within = f" after step {step}" if step else ""
    return f"{folder} continues in epoch {epoch + 1}{f' of {epochs}' if epochs else ''}{within}."
