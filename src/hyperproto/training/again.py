"""A training that learned nothing is done once more, from other weights and in another order."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hyperproto._core.processes import derive_seed, from_first
from hyperproto.data import as_examples
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import TrainSettings
from hyperproto.training.fit import fit
from hyperproto.training.folder import RunFolder
from hyperproto.training.outputs import (
    baseline_metrics,
    mean_terms,
    measure,
    network_outputs,
    not_better,
)
from hyperproto.training.run import Run

EXAMPLES = 2048  # of the training data, which tell whether anything was learned
FEWEST_STEPS = 60  # with fewer, the settings are to blame and not the seed
ROUNDING = 1e-4  # of a loss
SMALLEST_RATE = 1e-6  # of a step toward the least loss


def fit_or_try_again(
    network: nn.Module,
    space: OutputSpace,
    data: object,
    settings: TrainSettings,
    *,
    rebuild: Callable[[int], nn.Module],
    say: Callable[[str], object],
    sample_weight: Tensor | None = None,
    folder: RunFolder | None = None,
    is_second: bool = False,
    **options: Any,
) -> Run:
    """Train by :func:`~hyperproto.training.fit.fit`; where that fails, once more with another seed.

    Parameters
    ----------
    network, space, data, settings, sample_weight, folder, **options
        As for ``fit``. A run that failed is removed from its folder.
    rebuild : callable from a seed to a network
        Draws weights.
    say : callable
        Called with a sentence where the second training fails, too.
    is_second : bool, default False
        Whether ``settings`` have the other seed already, as a run that is resumed may.
    """
    untrained = copy.deepcopy(space.state_dict())
    seeds = [settings.seed, derive_seed(settings.seed, "again")]
    for attempt, seed in enumerate(seeds[: 1 if is_second else 2]):
        if attempt:
            network.load_state_dict(rebuild(seed).state_dict())
            space.load_state_dict(untrained)
            if folder is not None:
                from_first(folder.clear)
        again = replace(settings, seed=seed)
        run = fit(
            network, space, data, again, sample_weight=sample_weight, folder=folder, **options
        )
        if run.steps < FEWEST_STEPS or not from_first(
            lambda: has_failed(network, space, data, sample_weight)
        ):
            return run
    say("Nothing was learned, from two seeds: one answer to all examples has no greater loss.")
    return run


@torch.no_grad()
def has_failed(
    network: nn.Module, space: OutputSpace, data: object, sample_weight: Tensor | None = None
) -> bool:
    """Return whether predictions for the training data are no better than constant ones: by no measure, nor by
    the loss.

    By accuracy alone every imbalanced table would fail, and by the loss alone nothing else would be
    known of what it is good for.
    """
    examples = as_examples(data, name="data")
    rows = torch.arange(0, len(examples), -(-len(examples) // EXAMPLES))
    with torch.random.fork_rng():  # from which data may draw
        found = list(network_outputs(network, examples, rows=rows))
    z = torch.cat([outputs for outputs, _ in found])
    parts = [by_name(targets) for _, targets in found]
    targets = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    baseline = baseline_metrics(space, targets)
    measures = mean_terms(measure(space, space.predict(z), targets))
    if not baseline or len(not_better(measures, baseline)) < len(baseline):
        return False
    weight = None if sample_weight is None else sample_weight[rows].to(z.device)

    def loss(outputs: Tensor) -> Tensor:
        options = {} if weight is None else {"sample_weight": weight}
        return space.loss(outputs, targets, **options)

    return float(loss(z)) >= least_constant(loss, z) * (1 - ROUNDING)


@torch.enable_grad()
def least_constant(loss: Callable[[Tensor], Tensor], z: Tensor) -> float:
    """Return the least loss of outputs that are all the same, sought from the mean of ``z``, shape
    (n, dim).

    By steepest descent: an optimizer of torch would load its compiler, which takes longer.
    """
    constant, rate = z.detach().mean(dim=0, keepdim=True).requires_grad_(), 1.0
    least = loss(constant.expand(len(z), -1))
    for _ in range(100):
        (slope,) = torch.autograd.grad(least, constant)
        while rate > SMALLEST_RATE:
            moved = (constant - rate * slope).detach().requires_grad_()
            found = loss(moved.expand(len(z), -1))
            if found < least - rate / 2 * slope.square().sum():
                break
            rate /= 2
        else:
            break
        constant, least, rate = moved, found, 2 * rate
    return float(least.detach())
