"""Training from a recipe: data, network and space are built from plain values, and built again to resume."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch

from hyperproto._core.errors import InputError
from hyperproto._core.processes import from_first
from hyperproto.data import Source
from hyperproto.data.readers import describe_data, read_data
from hyperproto.models import Backbone
from hyperproto.spaces import Classes, OutputSpace, Space, Sphere, TaskSpace, tasks_for
from hyperproto.spec import TrainSettings
from hyperproto.training.beginnings import begun, stored_recipe
from hyperproto.training.checkpoint import read_checkpoint
from hyperproto.training.fit import fit
from hyperproto.training.loading import Loaded, read_run, rebuild
from hyperproto.training.logs import check_log
from hyperproto.training.protocol import settings_of
from hyperproto.training.recipe_parts import build_data, build_network, build_space, hold_out, seed_weights, settle
from hyperproto.training.recipe_values import Recipe
from hyperproto.training.run import CHECKPOINT, Run, class_prototypes

__all__ = ["Recipe", "describe_data", "read_data", "resume_run", "train"]


def train(
    recipe: Recipe,
    folder: str | Path | None = None,
    *,
    resume: bool = False,
    progress: bool | Literal["lines"] | None = None,
    log: str | None = None,
    checkpoint_seconds: float = 300.0,
    say: Callable[[str], None] | None = None,
) -> Run:
    """Train as a recipe says.

    Parameters
    ----------
    recipe : Recipe
        What on, what, and how.
    folder : path, optional
        Where to store the run; must not exist or be empty. None writes nothing.
    resume : bool, default False
        Continue the run in ``folder``, as :func:`resume_run` does, where there is one.
    progress, log, checkpoint_seconds
        As for :func:`~hyperproto.training.fit.fit`.
    say : callable, optional
        Is told in a line what is about to be trained.
    """
    place = None if folder is None else Path(folder)
    options: dict[str, Any] = {"progress": progress, "log": log, "checkpoint_seconds": checkpoint_seconds}
    if resume and place is not None and place.is_dir() and any(place.iterdir()):
        return resume_run(place, say=say, **options)
    TrainSettings(**settings_of(recipe))  # checked before data are read, which may take long
    check_log(log, place)
    with begun(place, recipe):
        source = hold_out(recipe, read_data(recipe.data))
        settings = settings_of(settle(recipe, tasks_for(source.targets), source.train))
        made = _build(recipe, source)
        return _fit(recipe, source, made, place, settings, say, options)


def resume_run(
    folder: str | Path,
    *,
    path: str | Path | None = None,
    progress: bool | Literal["lines"] | None = None,
    log: str | None = None,
    checkpoint_seconds: float = 300.0,
    say: Callable[[str], None] | None = None,
) -> Run:
    """Continue a run that :func:`train` began, to the bits it would have had without the break.

    Parameters
    ----------
    folder : path
        The run.
    path : path, optional
        Where the data are now, if they were moved.
    progress, log, checkpoint_seconds, say
        As for :func:`train`.
    """
    place = Path(folder)
    options: dict[str, Any] = {"progress": progress, "log": log, "checkpoint_seconds": checkpoint_seconds}
    recipe, has_config = from_first(lambda: stored_recipe(place))
    source = hold_out(recipe, read_data(recipe.data, path))
    # what a rule decided is taken from the run: the rule may be another one by now
    settings = (
        read_run(place).settings
        if has_config
        else settings_of(settle(recipe, tasks_for(source.targets), source.train))
    )
    made = _rebuild(recipe, place) if has_config else _build(recipe, source)
    _check_tasks(made.space, source, place)
    if say is not None:
        say(from_first(lambda: _where(place, settings)))
    return _fit(recipe, source, made, place, settings, say, options)


def _build(recipe: Recipe, source: Source) -> Loaded:
    space = build_space(recipe, tasks_for(source.targets), source.train)
    with torch.random.fork_rng():
        seed_weights(recipe)
        return Loaded(build_network(recipe, source.preprocessing, space.dim), space)


def _rebuild(recipe: Recipe, folder: Path) -> Loaded:
    """Build network and space of a run with the weights it began with: there may be no checkpoint yet."""
    with torch.random.fork_rng():
        seed_weights(recipe)
        return rebuild(folder)


def _check_tasks(space: OutputSpace, source: Source, folder: Path) -> None:
    """Raise a sentence where data ask for other classes or other bounds than a run was begun with."""
    assert isinstance(space, TaskSpace)
    before, now = (
        {name: _meaning(task) for name, task in tasks.items()} for tasks in (space.tasks, tasks_for(source.targets))
    )
    for name in before | now:
        if before.get(name) != now.get(name):
            raise InputError(
                f'The data must ask for what "{folder}" was begun with; "{name}" was {_short(before.get(name))} and '
                f"is {_short(now.get(name))}. Give the data of that run, or begin another."
            )


def _meaning(task: Any) -> tuple[Any, ...]:
    return tuple(task.names or ()) if isinstance(task, Classes) else (task.low, task.high)


def _short(meaning: tuple[Any, ...] | None) -> str:
    if meaning is None:
        return "not there"
    return ", ".join(map(str, meaning[:5])) + (", ..." if len(meaning) > 5 else "")


def _fit(
    recipe: Recipe,
    source: Source,
    made: Loaded,
    folder: Path | None,
    settings: dict[str, Any],
    say: Callable[[str], None] | None,
    options: dict[str, Any],
) -> Run:
    """Prepare the data, and train."""
    train_data, valid = build_data(recipe, source)
    if say is not None:
        say(_headline(source.name, len(train_data), None if valid is None else len(valid), made))
    return fit(
        made.network,
        made.space,
        train_data,
        valid=valid,
        folder=folder,
        resume=folder is not None,  # where nothing is there yet but the recipe, a run begins
        recipe=recipe.to_dict(),
        preprocessing=source.preprocessing,
        **settings,
        **options,
    )


def _headline(name: str, examples: int, held: int | None, made: Loaded) -> str:
    network, space = made
    assert isinstance(network, Backbone)
    weights = sum(parameter.numel() for parameter in network.parameters())
    measured = "nothing to measure on" if held is None else f"{held:,} to measure on"
    kind = "the sphere" if isinstance(space, Sphere) else "softmax and squared error"
    return (
        f"{name}: {examples:,} examples to train on, {measured}; {network.name} with {weights:,} weights; {kind} in "
        f"{space.dim} dimensions{_chosen(space)}."
    )


def _chosen(space: OutputSpace) -> str:
    """Say what classes are trained with on the sphere: a rule may have chosen it."""
    if type(space) is not Space:
        return ""
    losses = {task.loss.name.replace("_", " ") for task in space.tasks.values() if isinstance(task, Classes)}
    certificates = (held.certificate for held in class_prototypes(space).values())
    meant = [held.meaning for held in certificates if held.meaning is not None]
    told = f", {' and '.join(sorted(losses))} loss" if losses else ""
    return told + "".join(f", prototypes placed by {meaning.prior}" for meaning in meant)


def _where(folder: Path, settings: dict[str, Any]) -> str:
    """Say where a run continues."""
    path = folder / CHECKPOINT
    epoch, step = read_checkpoint(path).position if path.is_file() else (0, 0)
    if (folder / "metrics.json").is_file():
        return f"{folder} is over: {epoch} epochs are done."
    within = f" after step {step}" if step else ""
    return f"{folder} continues in epoch {epoch + 1} of {settings['epochs']}{within}."
