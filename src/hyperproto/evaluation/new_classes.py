"""Add, remove and rename classes of a trained model."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_directions, check_integer, choose
from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain
from hyperproto.data.source import Split, join
from hyperproto.defaults import REPLAY_PER_CLASS, choose_new_class_settings
from hyperproto.evaluation.class_change import Changed, report_change
from hyperproto.evaluation.class_examples import (
    NEW_CLASSES,
    AnyModel,
    SphereRun,
    draw_replay,
    in_memory,
    moved_ids,
    new_classes,
    new_examples,
    open_sphere,
)
from hyperproto.prototypes.prototypes import class_ids, points_by_similarity
from hyperproto.spaces import Space
from hyperproto.sphere import normalize
from hyperproto.tasks import MISSING
from hyperproto.training import Run, fit, read_run
from hyperproto.training.fit import kind_of
from hyperproto.training.folder import RunFolder
from hyperproto.training.outputs import stack_outputs

MOST_COSINE = 0.0  # of a new class that is trained, to any other, where there is room
PUSH_STEPS = 100
NO_DIRECTION = 1e-6  # a mean of unit vectors shorter than this has none


def add_classes(
    run: AnyModel,
    inputs: object = None,
    labels: object = None,
    *,
    how: Literal["auto", "mean", "train", "prior"] = "auto",
    names: Sequence[str] | None = None,
    prior: object | None = None,
    replay: object = None,
    replay_per_class: int = REPLAY_PER_CLASS,
    old_valid: object = None,
    new_valid: tuple[object, object] | None = None,
    task: str | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    **settings: Any,
) -> Changed:
    """Return a trained model that knows more classes, and a report of what that did to the old
    ones.

    Ids and prototypes of the old classes stay as they are. The given model is not changed: "train"
    trains a copy, the other ways share its network.

    Parameters
    ----------
    run : Run, pair (network, space), or path
        What ``fit`` or ``load`` returned, or a run's folder. The space must be a sphere,
        :class:`hyperproto.Space`.
    inputs : array or tensor, shape (n, ...), or list of paths
        Examples of the new classes, prepared as for training, or image files of a stored run, here
        and below. A few each will do; how="prior" needs none.
    labels : sequence, shape (n,)
        Their names; ids, counted on from the old ones, where classes have no names or ``names``
        lists them.
    how : {"auto", "mean", "train", "prior"}
        "mean" puts each new prototype at the mean direction of its examples' outputs, without
        training. "train" moves it from there away from all others, and trains on the new examples
        and replayed old ones: a mean attracts old classes. "prior" puts it among the old classes
        that a semantic prior finds similar, without any example. "auto" is "prior" with a prior,
        "train" with a replay, else "mean".
    names : sequence of str, optional
        The new classes in their order (default: those among the labels, sorted).
    prior : optional
        For how="prior": word vectors, a taxonomy, ... over old and new classes; see
        :func:`hyperproto.place`.
    replay : pair (inputs, targets), optional
        For how="train": examples of old classes in the form ``fit`` takes. Without them old classes
        are forgotten.
    replay_per_class : int, default 20
        How many of each old class to replay at most.
    old_valid, new_valid : pair (inputs, targets), optional
        Examples that are not trained on, to measure old and new classes on, new ones with labels as
        above (default: the replayed and the new examples themselves; the report says so).
    task : str, optional
        Which class task, where the space has several.
    seed, **settings
        For how="train": as for ``fit`` (default:
        :func:`hyperproto.defaults.choose_new_class_settings`).
    folder : path, optional
        Where to store the new run, for ``load``.

    Returns
    -------
    Changed
        A pair (run, report). A warning says where the old classes lost more than a point of
        accuracy.
    """
    choose(how, dict.fromkeys(("auto", "mean", "train", "prior")), what="way to add classes")
    if how == "auto":
        how = "prior" if prior is not None else "mean" if replay is None else "train"
    model = open_sphere(run, task)
    old = model.placed
    added = new_classes(old, labels, names)
    examples = None if inputs is None else new_examples(model, added, inputs, labels)
    replayed = in_memory(replay, "replay", model.run)
    _check_arguments(how, examples, prior, replayed, settings)
    points, method = _new_points(how, model, added, examples, prior)
    placed = old.append(len(added) if isinstance(added[0], int) else added, points, method=method)
    changed = model.changed(placed, range(old.num_classes), folder)
    if how == "train" and examples is not None and replayed is not None:
        per_class = check_integer(replay_per_class, "replay_per_class", at_least=1)
        drawn = draw_replay(replayed, model.task, per_class=per_class, seed=seed)
        trained = _train(model.run, changed.run, join(drawn, examples), settings | {"seed": seed})
        changed = changed._replace(run=trained)
    old_data, new_data, notes = replayed, examples, []
    if old_valid is not None:
        old_data = in_memory(old_valid, "old_valid", model.run)
    elif old_data is not None:
        notes.append(
            "Old classes are measured on what could be replayed, which may have been trained on."
        )
    if new_valid is not None:
        new_data = new_examples(model, added, *new_valid)
    elif new_data is not None:
        notes.append("New classes are measured on the very examples given.")
    return report_change(how, added, model, changed, (old_data, old_data), new_data, notes)


def remove_classes(
    run: AnyModel,
    classes: Sequence[str] | Sequence[int],
    *,
    old_valid: object = None,
    task: str | None = None,
    folder: str | Path | None = None,
) -> Changed:
    """Return a trained model without some classes, and a report of how good it is on the others
    before and after.

    Parameters
    ----------
    run : Run, pair (network, space), or path
        As for :func:`add_classes`; not changed.
    classes : sequence of str or int
        Names, or ids where classes have no names. Ids after a removed one decrease.
    old_valid : pair (inputs, targets), optional
        Examples to measure on, with the ids of before; those of removed classes are left out.
    task : str, optional
        Which class task, where the space has several.
    folder : path, optional
        Where to store the new run, for ``load``.
    """
    model = open_sphere(run, task)
    old = model.placed
    removed = class_ids(old.names, old.num_classes, classes)
    kept = [index for index in range(old.num_classes) if index not in removed]
    before = after = in_memory(old_valid, "old_valid", model.run)
    if before is not None:
        former, labels = torch.tensor(kept), before.targets[model.task].long()
        ids = moved_ids(former, old.num_classes)[labels]
        there = labels.masked_fill(ids < 0, MISSING)
        before, after = (
            Split(before.inputs, before.targets | {model.task: target}) for target in (there, ids)
        )
    changed = model.changed(old.remove(classes), kept, folder)
    names = tuple(index if old.names is None else old.names[index] for index in removed)
    return report_change("remove", names, model, changed, (before, after))


def rename_classes(
    run: AnyModel,
    names: Mapping[str, str],
    *,
    task: str | None = None,
    folder: str | Path | None = None,
) -> Changed:
    """Return a trained model with other names for some classes, ``{old: new}``; its predictions are
    the same.

    ``run``, ``task`` and ``folder`` are as for :func:`add_classes`.
    """
    model = open_sphere(run, task)
    placed = model.placed.rename(names)
    changed = model.changed(placed, range(placed.num_classes), folder)
    return report_change("rename", tuple(names.values()), model, changed)


def _new_points(
    how: str,
    model: SphereRun,
    added: Sequence[str | int],
    examples: Split | None,
    prior: object | None,
) -> tuple[Tensor, str]:
    """Return where the prototypes of new classes go, shape (len(added), axes), and how that was
    found.
    """
    old, task = model.placed, model.task
    if examples is None or how == "prior":
        names = None if old.names is None else (*old.names, *map(str, added))
        # a point far from the others would be better separated, and no output would come near it
        # untrained
        points = points_by_similarity(old, names, len(added), prior)
        return points, "among the classes that a prior finds similar"
    groups, network = examples.targets[task] - old.num_classes, model.run.network
    points = mean_directions(network, model.space, task, examples.inputs, groups, len(added))
    points = points.to(old.vectors.device)
    if how == "mean":
        return points, "at the mean of examples"
    return push_apart(points, old.vectors), "moved apart from the mean of examples"


def _train(model: Run, changed: Run, data: Split, settings: Plain) -> Run:
    """Train a copy of a model's network in the space of ``changed``; what was cut off in its folder
    is resumed.
    """
    options = choose_new_class_settings(len(data), kind_of(data.inputs)) | settings
    spec = None
    if model.folder is not None:
        record = read_run(model.folder)
        options["preprocessing"], spec = record.preprocessing, record.spec
    if changed.folder is not None:
        cut_off = not (changed.folder / NEW_CLASSES).is_file()  # or not started
        options |= {"folder": RunFolder(changed.folder, spec), "resume": cut_off}
    pair = (data.inputs, data.targets)
    return fit(copy.deepcopy(model.network), changed.space, pair, **options)


@torch.no_grad()
def mean_directions(
    network: nn.Module, space: Space, task: str, inputs: Any, groups: Tensor, count: int
) -> Tensor:
    """Return the mean direction of the outputs of each group of inputs, on a task's axes. Shape
    (count, axes).
    """
    part = stack_outputs(network, inputs)[:, space.named_heads()[task].axes].cpu().double()
    check_directions(part)
    sums = part.new_zeros(count, part.shape[1]).index_add_(0, groups, normalize(part))
    lengths = sums.norm(dim=1) / groups.bincount(minlength=count).clamp_min(1)
    bad = (lengths < NO_DIRECTION).nonzero().flatten()
    if len(bad):
        examples = int((groups == bad[0]).sum())
        which = f"new class {int(bad[0])} ({len(bad)} of {count} classes)"
        got = f"{examples} examples without one for {which}"
        raise InputError("Each new class", "have examples whose outputs agree on a direction", got)
    return normalize(sums)


def push_apart(points: Tensor, others: Tensor) -> Tensor:
    """Move points, shape (n, dim), away from others, shape (m, dim), and each other until no cosine
    is above 0.

    Where that is not possible they end as far as a hundred steps get. A class can be trained to a
    point off its mean, but not told from another whose point is near. Each step is the mean of the
    projections away from what is too near (Cimmino, 1938): their sum would move many new classes to
    one point.
    """
    for _ in range(PUSH_STEPS):
        every = torch.cat([others, points])
        excess = (points @ every.mT - MOST_COSINE).clamp_min(0)
        excess[:, len(others) :].fill_diagonal_(0)
        if not excess.any():
            break
        violated = (excess > 0).sum(dim=1, keepdim=True).clamp_min(1)
        points = normalize(points - excess @ every / violated)
    return points


def _check_arguments(
    how: str,
    examples: Split | None,
    prior: object | None,
    replay: Split | None,
    settings: Plain,
) -> None:
    """Refuse arguments that a way lacks, or that have no part in it."""
    if how != "prior" and examples is None:
        rule = f'be examples of the new classes for how="{how}"'
        raise InputError("inputs", rule, "none", 'Without examples use how="prior".')
    if (prior is None) == (how == "prior"):
        raise InputError("prior", 'be given for how="prior", and only for it', f'how="{how}"')
    if how == "train" and replay is None:
        rule = (
            'be examples (inputs, targets) of the old classes for how="train", which forgets them '
            "otherwise"
        )
        raise InputError("replay", rule, "none", 'Or use how="mean", which trains nothing.')
    if how != "train" and settings:
        rule = f'be left out for how="{how}", which trains nothing'
        raise InputError("Settings of training", rule, ", ".join(settings))
