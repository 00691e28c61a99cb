"""From the description of a space and the tasks of the data to the space, with its prototypes."""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from hyperproto import defaults
from hyperproto._core.errors import InputError, arg
from hyperproto._core.processes import derive_seed
from hyperproto.baselines import ConventionalSpace, weigh_tasks
from hyperproto.data import ImagePreprocessing, Split
from hyperproto.data.image_files import ImageFiles, decode_rows, find_corrupt
from hyperproto.losses import get_loss
from hyperproto.priors import Prior, from_data
from hyperproto.priors.data_driven import draw_examples
from hyperproto.prototypes import Prototypes, place
from hyperproto.prototypes.prototypes import check_dim
from hyperproto.spaces import Space, TaskSpace
from hyperproto.spaces.space import assign_axes
from hyperproto.spec import SpaceSpec
from hyperproto.tasks import Classes, Task, indexed


def build_space(
    spec: SpaceSpec,
    tasks: Mapping[str, Task],
    train: Split,
    *,
    seed: int,
    frozen: bool = False,
    prototypes: Prototypes | None = None,
) -> TaskSpace:
    """Build an output space for some tasks; targets and predictions are dicts by name.

    Parameters
    ----------
    spec : SpaceSpec
        What it leaves open is chosen by :mod:`hyperproto.defaults`.
    tasks : mapping of Task
        What the data ask for.
    train : Split
        The examples of a data-driven prior.
    seed : int
        Of the run.
    frozen : bool, default False
        Whether inputs are features of a network that does not change.
    prototypes : Prototypes, optional
        For the classes, where the caller brings them along.
    """
    if spec.class_weight is not None:
        classes = indexed(tasks).items()
        tasks = {**tasks, **{n: replace(t, class_weight=spec.class_weight) for n, t in classes}}
    if spec.task_weight is not None:
        tasks = weigh_tasks(tasks, spec.task_weight)
    tasks = _with_losses(spec, tasks)
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "space"))  # some baselines have layers
        if spec.kind == "conventional":
            return ConventionalSpace(tasks, clamp=spec.clamp, width=spec.width)
        return _build_sphere(spec, tasks, train, frozen, prototypes)


def choose_layout(
    spec: SpaceSpec, tasks: Mapping[str, Task], given: Prototypes | None = None
) -> tuple[int, bool]:
    """Return the width of the output, which a network needs to know before the classes are placed,
    and whether tasks have spheres of their own.
    """
    if spec.kind == "conventional":
        return ConventionalSpace(tasks, width=spec.width).dim, False
    separate = spec.kind == "spheres" or (
        spec.kind is None
        and spec.loss not in ("paper", "squared_cosine")
        and defaults.choose_space(*_counts(tasks), spec.dim) == "spheres"
    )
    if spec.dim is not None:
        return check_dim(spec.dim), separate
    if given is None and spec.prototypes:
        given = Prototypes.load(spec.prototypes)
    if given is None:
        return defaults.choose_dim(*_counts(tasks), separate=separate), separate
    others = (len(tasks) - 1) * (defaults.NUMBER_AXES if separate else 1)
    return given.dim + others, separate


def _with_losses(spec: SpaceSpec, tasks: Mapping[str, Task]) -> dict[str, Task]:
    """Return tasks with the losses and the margin that a description names."""
    loss = "auto" if spec.loss == "auto" else get_loss(spec.loss, **spec.loss_options)
    margin = "auto" if spec.margin is None else spec.margin
    numbers = defaults.choose_number_loss(spec.loss)
    numbers = numbers if spec.number_loss == "auto" else spec.number_loss
    return {
        name: task.resolved(class_loss=loss, number_loss=numbers, margin=margin)
        for name, task in tasks.items()
    }


def _build_sphere(
    spec: SpaceSpec,
    tasks: Mapping[str, Task],
    train: Split,
    frozen: bool,
    given: Prototypes | None,
) -> TaskSpace:
    """Build a sphere, its classes placed by what is known about them."""
    dim, separate = choose_layout(spec, tasks, given)
    placing = spec.prototypes or spec.prior not in (None, "none", "data")
    if given is None and spec.prototypes:
        given = _load_prototypes(spec.prototypes, *only_classes(tasks, "prototypes"))
    by_data = (
        spec.prior in (None, "data")
        and not placing
        and not separate
        and bool(indexed(tasks))
        and not any(task.places_itself for task in tasks.values())
        and defaults.uses_prior(*_counts(tasks), dim, spec.loss, frozen=frozen)
    )
    if spec.loss == "auto" and (spec.loss_options or (by_data and frozen)):
        tasks = {n: _with_auto_loss(spec, t, dim, by_data and frozen) for n, t in tasks.items()}
    wanted = spec.prior not in (None, "none") or (by_data and _has_prior(train))
    if given is None and wanted:
        name, task = only_classes(tasks, "prior")
        block = assign_axes(dim, tasks, separate=separate)[name]
        given = _place(spec, train, name, task, block.stop - block.start, frozen)
    if given is not None:
        name, task = only_classes(tasks, "prototypes")
        tasks = {**tasks, name: replace(task, classes=given)}
    return Space(dim, tasks, separate=separate)


def _with_auto_loss(spec: SpaceSpec, task: Task, dim: int, frozen_with_prior: bool) -> Task:
    """Return a task with the loss that "auto" stands for where a sphere cannot know it."""
    loss, options = defaults.choose_loss(task.num_classes, dim, frozen_with_prior=frozen_with_prior)
    chosen = get_loss(loss, **(options | spec.loss_options))
    return task.resolved(class_loss=chosen, number_loss="auto", margin="auto")


def _counts(tasks: Mapping[str, Task]) -> tuple[list[int], int]:
    """Return how many classes there are, for each task that has any, and how many numbers."""
    poles = sum(task.takes_pole for task in tasks.values())
    return [task.axes.enough + 1 for task in tasks.values() if not task.takes_pole], poles


def _place(
    spec: SpaceSpec, train: Split, name: str, task: Classes, axes: int, frozen: bool
) -> Prototypes:
    """Place prototypes by a prior: one that is given, or a data-driven one."""
    prior: Prior | str | None = spec.prior
    method = "auto"
    if prior in (None, "data"):
        if not _has_prior(train):
            rule = "be left out where inputs are neither rows nor images"
            raise InputError("prior", rule, '"data"')
        prior = prior_from_data(train, name, task)
        if prior is not None:
            prior = task.joined(prior)
            method = defaults.choose_prior_method(task.num_classes, axes, frozen=frozen)
    return place(
        _names(task),
        axes,
        prior=prior,
        missing=spec.missing,
        method=method,
        effort="fast",
        progress=False,
    )


def prior_from_data(split: Split, name: str, task: Classes) -> Prior | None:
    """Return the data-driven prior for the classes of a target: rows and pixels as they are, files
    by a sample.

    None where fewer than three classes have examples: of two, neither is nearer to one than the
    other.
    """
    ids, inputs = split.targets[name], split.inputs
    if not isinstance(inputs, Tensor):
        # fifty of each of a hundred classes
        rows = draw_examples(ids, seed=0, most=5_000)
        small = ImagePreprocessing(32, mean=(0.5,) * 3, std=(1.0,) * 3)
        corrupt = find_corrupt(ImageFiles(inputs[row] for row in rows.tolist()), workers=0)
        rows = rows[[place for place in range(len(rows)) if place not in corrupt]]
        ids, inputs = (
            ids[rows],
            torch.from_numpy(decode_rows(inputs, small, rows)).permute(0, 3, 1, 2),
        )
    if len(torch.unique(ids[ids >= 0])) < 3:
        return None
    prior = from_data(inputs, ids, _names(task), num_classes=task.num_classes, missing="free")
    return prior if prior.known.sum() >= 3 else None


def _names(task: Classes) -> tuple[str, ...]:
    assert task.names is not None  # those of data have names
    return task.names


def _load_prototypes(path: str, name: str, task: Classes) -> Prototypes:
    """Return the prototypes of a file in the order of the data's classes; without names, in the
    file's own.
    """
    placed = Prototypes.load(path)
    if placed.num_classes != task.num_classes or (
        placed.names and set(placed.names) != set(_names(task))
    ):
        strange = sorted(set(placed.names or ()) - set(_names(task)))
        raise InputError(
            f'"{path}"',
            f'have one prototype for each of the {task.num_classes} classes of "{name}"',
            f'others, such as "{strange[0]}"' if strange else f"{placed.num_classes} prototypes",
            "Place them for these classes: hyperproto place NAMES D -o FILE.",
        )
    order = (
        [placed.names.index(known) for known in _names(task)]
        if placed.names
        else list(range(len(_names(task))))
    )
    return Prototypes(placed.vectors[order], placed.certificate, tuple(_names(task)))


def only_classes(tasks: Mapping[str, Task], asked: str) -> tuple[str, Classes]:
    """Return the one task that has classes."""
    found = indexed(tasks)
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
    return getattr(split.inputs, "ndim", 4) in (2, 4)
