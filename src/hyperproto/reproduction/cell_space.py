"""From a cell to its output space and its network, weights fixed by the seed."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch

from hyperproto._core.seeding import derive_seed
from hyperproto.baselines import ConventionalSpace, DeepNCM, weigh_tasks
from hyperproto.data import Labels, Source
from hyperproto.losses import CauchySoftmax, ClassLoss, CosineSoftmax, FreeNormSoftmax, PowerCosine, SquaredCosine
from hyperproto.models import Backbone, create_backbone
from hyperproto.reproduction.placements import Places, cell_prototypes
from hyperproto.reproduction.spec import Spec
from hyperproto.spaces import Classes, CompositeSpace, Range, Space, Sphere, TaskSpace, tasks_for
from hyperproto.training.build import prior_from_data

__all__ = ["cell_network", "cell_space"]

Tasks = Mapping[str, Classes | Range]
SPHERES: dict[str, type[Sphere]] = {"sphere": Space, "composite": CompositeSpace}


def cell_space(spec: Spec, source: Source, places: Places) -> TaskSpace:
    """Build the output space of a cell for its data's tasks; targets are dicts by name."""
    tasks = tasks_for(source.targets)
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(spec.seed, "space"))  # squared error off several axes has a layer of its own
        if spec.space in SPHERES:
            builder = SPHERES[spec.space]
            made: TaskSpace = builder(cast(int, spec.dim), _weighed(spec, _on_sphere(spec, source, places)))
        elif spec.space == "deep-ncm":
            made = DeepNCM(cast(int, spec.dim), _weighed(spec, tasks), mean=cast(Any, spec.mean))
        else:
            made = ConventionalSpace(_weighed(spec, tasks), clamp=cast(Any, spec.clamp), width=spec.width)
    return made


def cell_network(spec: Spec, out_dim: int) -> Backbone:
    """Build the network of a cell, weights drawn from its seed."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(spec.seed, "weights"))
        return create_backbone(spec.network, out_dim=out_dim, **dict(spec.network_options))


def _weighed(spec: Spec, tasks: Tasks) -> Tasks:
    return tasks if spec.task_weight is None else weigh_tasks(tasks, spec.task_weight)


def _on_sphere(spec: Spec, source: Source, places: Places) -> dict[str, Classes | Range]:
    """Give the classes their prototypes and their loss; each range takes one axis."""
    tasks = tasks_for(source.targets)
    ranges = sum(isinstance(task, Range) for task in tasks.values())
    made: dict[str, Classes | Range] = dict(tasks)
    for name, task in tasks.items():
        if isinstance(task, Classes):
            look = partial(prior_from_data, source.train, name, cast(Labels, source.targets[name]))
            held = cell_prototypes(spec, task.num_classes, cast(int, spec.dim) - ranges, task.names, places, look)
            made[name] = replace(task, classes=held, loss=_class_loss(spec))
        elif spec.margin:
            made[name] = replace(task, margin=spec.margin)
    return made


def _class_loss(spec: Spec) -> ClassLoss:
    options = dict(spec.loss_options)
    if spec.loss == "softmax":
        return CosineSoftmax(spec.loss_scale)
    if spec.loss == "squared":
        return SquaredCosine()
    if spec.loss == "free":
        return FreeNormSoftmax(**options)
    return PowerCosine(**options) if spec.loss == "power" else CauchySoftmax(**options)
