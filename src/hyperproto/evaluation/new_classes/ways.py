"""Three ways to a new class: the mean of a few examples, a few steps of training, or a prior alone.

Each takes a network, a space and tensors, and leaves them as they are.
"""

import copy
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from hyperproto._core.checks import check_directions
from hyperproto._core.errors import InputError
from hyperproto.data import Arrays, Batches
from hyperproto.evaluation.new_classes.examples import NewClasses, join_examples
from hyperproto.evaluation.new_classes.spaces import class_axes, with_prototypes
from hyperproto.prototypes.change import points_by_similarity
from hyperproto.spaces import Sphere
from hyperproto.sphere import normalize
from hyperproto.training import Run, fit
from hyperproto.training.outputs import network_outputs
from hyperproto.training.run import class_prototypes

__all__ = ["extend_by_means", "extend_by_prior", "extend_by_training", "mean_directions"]

LOST = 1e-6  # a mean of unit vectors shorter than this has no direction


@torch.no_grad()
def mean_directions(
    network: nn.Module, space: Sphere, task: str, inputs: Tensor, groups: Tensor, count: int, *, batch_size: int = 512
) -> Tensor:
    """Return the mean direction of the outputs of each group, on the axes of one task. Shape (count, axes), float64.

    Parameters
    ----------
    inputs : Tensor, shape (n, ...)
    groups : Tensor of int64, shape (n,)
        The group of each input, in [0, count).
    """
    axes = class_axes(space, task)
    batches = Batches(Arrays(inputs, groups), batch_size, shuffle=False)
    sums = torch.zeros(count, axes.stop - axes.start, dtype=torch.float64)
    device = Accelerator().device
    space.to(device)
    for z, group in network_outputs(network, batches, device=device):
        part = z[:, axes].cpu().double()
        check_directions(part)
        sums.index_add_(0, group.cpu(), normalize(part))
    lengths = sums.norm(dim=1) / groups.bincount(minlength=count).clamp_min(1)
    bad = (lengths < LOST).nonzero().flatten()
    if len(bad):
        raise InputError(
            f"Each new class must have examples whose outputs agree on a direction; new class {int(bad[0])} has "
            f"{int((groups == bad[0]).sum())} examples and none ({len(bad)} of {count} classes)."
        )
    return normalize(sums)


def extend_by_means(network: nn.Module, space: Sphere, task: str, classes: NewClasses, examples: Arrays) -> Sphere:
    """Return the space with each new class at the mean direction of its examples. No training.

    Parameters
    ----------
    task : str
        The class task that gets more classes.
    classes : tuple of str, or int
        Their names, or their number where the old ones have no names.
    examples : Arrays
        Of the new classes, with targets in the form the space takes; ids follow those of the old classes.
    """
    old = class_prototypes(space)[task]
    count = classes if isinstance(classes, int) else len(classes)
    groups = _labels(examples, task) - old.num_classes
    means = mean_directions(network, space, task, examples.inputs, groups, count)
    placed = old.append(classes, means.to(old.vectors.device), method="at the mean of examples")
    return with_prototypes(space, task, placed)


def extend_by_prior(space: Sphere, task: str, classes: NewClasses, prior: object) -> Sphere:
    """Return the space with each new class among the old ones it is like, where outputs may go. No examples.

    A point far from the others would be better separated, and no output would come near it without training.
    """
    old = class_prototypes(space)[task]
    count = classes if isinstance(classes, int) else len(classes)
    names = None if old.names is None or isinstance(classes, int) else (*old.names, *classes)
    points = points_by_similarity(old, names, count, prior).to(old.vectors.device)
    placed = old.append(classes, points, method="among the classes that a prior likens them to")
    return with_prototypes(space, task, placed)


def extend_by_training(
    network: nn.Module,
    space: Sphere,
    task: str,
    classes: NewClasses,
    examples: Arrays,
    *,
    replay: Arrays,
    seed: int,
    folder: str | Path | None = None,
    **settings: Any,
) -> Run:
    """Train a copy of the network on new examples and replayed old ones, new classes at reserved or added points.

    ``settings`` are those of :func:`~hyperproto.training.fit.fit`.
    """
    placed = class_prototypes(space)[task].extend(classes, effort="fast", seed=seed)
    wider = with_prototypes(space, task, placed)
    return fit(copy.deepcopy(network), wider, join_examples(replay, examples), seed=seed, folder=folder, **settings)


def _labels(examples: Arrays, task: str) -> Tensor:
    return examples.targets if isinstance(examples.targets, Tensor) else examples.targets[task]
