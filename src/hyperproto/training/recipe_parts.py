"""From a recipe and its data to a space, a network and what they are trained on."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

import torch

from hyperproto._core.errors import InputError
from hyperproto._core.processes import from_first
from hyperproto._core.seeding import derive_seed
from hyperproto.baselines import ConventionalSpace
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.data import Arrays, ImageData, ImagePreprocessing, Labels, Source, Split, training_data
from hyperproto.data.preprocessing import Preprocessing
from hyperproto.data.source import hold_out_rows, select
from hyperproto.defaults import MAX_CLASSES_OF_SUM, choose_loss
from hyperproto.losses import CauchySoftmax, ClassLoss, CosineSoftmax, FreeNormSoftmax, PowerCosine, SquaredCosine
from hyperproto.models import BACKBONES, Backbone, LibraryNetwork, create_backbone, default_backbone
from hyperproto.prototypes import Prototypes, place
from hyperproto.prototypes.prototypes import check_dim
from hyperproto.spaces import Classes, CompositeSpace, Range, Space, TaskSpace
from hyperproto.training.look import can_be_looked_at, look_at
from hyperproto.training.protocol import paper_backbone
from hyperproto.training.recipe_values import Recipe

__all__ = [
    "auto_dim",
    "build_data",
    "build_network",
    "build_space",
    "hold_out",
    "input_shape",
    "seed_weights",
    "settle",
]

Data: TypeAlias = Arrays | ImageData
MARGIN, JOINT_RATE = 0.1, 0.1  # where classes and numbers share a sphere: near a pole classes cannot be told apart
MOST_AXES = 100  # for a class task: with more, prototypes are hardly farther apart and steps cost more
SHORT_NAMES = {
    SquaredCosine.name: "squared",
    CosineSoftmax.name: "softmax",
    FreeNormSoftmax.name: "free",
    PowerCosine.name: "power",
    CauchySoftmax.name: "cauchy",
}
LOSSES: dict[str, Callable[[int], ClassLoss]] = {
    "squared": lambda num_classes: SquaredCosine(),
    "softmax": lambda num_classes: CosineSoftmax(),
    "free": lambda num_classes: FreeNormSoftmax(),
    "power": lambda num_classes: PowerCosine(),
    "cauchy": lambda num_classes: CauchySoftmax(),
}


def auto_dim(tasks: Mapping[str, Classes | Range]) -> int:
    """Return the dimension for who does not choose: an axis a class, at most 100, and one for each range.

    A task of K classes gets min(K, 100) axes and no fewer than 2; with a range there are 3 in all at least.

    >>> auto_dim({"style": Classes(40), "year": Range(1500, 1900)})
    41
    """
    classes = [task.num_classes for task in tasks.values() if isinstance(task, Classes)]
    ranges = len(tasks) - len(classes)
    return max(3 if ranges else 2, ranges + sum(max(2, min(count, MOST_AXES)) for count in classes), ranges + 1)


def settle(recipe: Recipe, tasks: Mapping[str, Classes | Range], seen: Split | None = None) -> Recipe:
    """Return the recipe with the loss and the prior that "auto" stands for; ``seen`` are the training examples.

    Whoever names the loss that "auto" stands for gets the same prior.
    """
    counts = [task.num_classes for task in tasks.values() if isinstance(task, Classes)]
    if recipe.loss not in ("auto", "free"):
        return recipe
    if recipe.protocol == "paper" or recipe.space != "sphere" or not counts:
        return replace(recipe, loss="squared") if recipe.loss == "auto" else recipe
    if len(counts) < len(tasks):
        return _beside_numbers(recipe, max(counts))
    axes = auto_dim(tasks) if recipe.dim is None else recipe.dim
    *others, largest = sorted(counts)
    left = axes - sum(max(2, count - 1) for count in others)  # of several tasks the others get their simplex first
    loss = SHORT_NAMES[choose_loss(largest, max(1, left))] if recipe.loss == "auto" else recipe.loss
    few_axes = len(counts) == 1 and axes < largest - 1
    looks = few_axes and largest <= MATRIX_POINTS and can_be_looked_at(seen)
    prior = "data" if looks and recipe.prior is None and recipe.prototypes is None else recipe.prior
    return replace(recipe, loss=loss, prior=prior)


def _beside_numbers(recipe: Recipe, num_classes: int) -> Recipe:
    """Return the recipe for classes and numbers together, which did well on both data sets of ``past-joint``."""
    if recipe.loss == "auto" and num_classes > MAX_CLASSES_OF_SUM:
        return replace(recipe, loss="squared")
    margin = MARGIN if recipe.margin is None else recipe.margin
    return replace(recipe, loss="free", margin=margin, lr=JOINT_RATE if recipe.lr is None else recipe.lr)


def build_space(recipe: Recipe, tasks: Mapping[str, Classes | Range], seen: Split | None = None) -> TaskSpace:
    """Build the output space of a recipe for the tasks of its source; targets and predictions are dicts by name."""
    recipe = settle(recipe, tasks, seen)
    made: dict[str, Classes | Range] = {
        name: replace(task, loss=LOSSES[recipe.loss](task.num_classes))
        if isinstance(task, Classes)
        else replace(task, margin=_margin(recipe))
        for name, task in tasks.items()
    }
    if recipe.space == "conventional":
        return ConventionalSpace(made)
    dim = auto_dim(tasks) if recipe.dim is None else check_dim(recipe.dim)
    if recipe.prototypes or recipe.prior not in (None, "none"):
        name, task = _only_class_task(made)
        axes = dim - (len(made) - 1)
        held = (
            _loaded(recipe, task, name)
            if recipe.prototypes
            else from_first(lambda: _placed(recipe, name, task, axes, seen))
        )
        made[name] = replace(task, classes=held)
        dim = held.dim + len(made) - 1 if recipe.dim is None else dim
    return (CompositeSpace if recipe.space == "composite" else Space)(dim, made)


def _margin(recipe: Recipe) -> float:
    if recipe.margin is not None:
        return recipe.margin
    return MARGIN if recipe.space == "composite" else 0.0


def _only_class_task(tasks: Mapping[str, Classes | Range]) -> tuple[str, Classes]:
    found = [(name, task) for name, task in tasks.items() if isinstance(task, Classes)]
    if len(found) != 1:
        raise InputError(
            f"`prototypes` and `prior` are for data with one class task; this has {len(found)}. Leave them out."
        )
    return found[0]


def _placed(recipe: Recipe, name: str, task: Classes, dim: int, seen: Split | None) -> Prototypes:
    """Place prototypes by a prior: one that is given, or a look at the training examples."""
    prior, missing, method = cast(Any, recipe.prior), cast(Any, recipe.prior_missing), "auto"
    if recipe.prior == "data":
        if seen is None or not can_be_looked_at(seen):
            raise InputError('The prior "data" needs rows, images or image files to look at. Leave it out.')
        prior = look_at(seen, name, task)
        method = "project" if prior is not None and dim < task.num_classes - 1 else method
    return place(
        cast(Any, task.classes), dim, prior=prior, missing=missing, method=method, effort="fast", progress=False
    )


def _loaded(recipe: Recipe, task: Classes, name: str) -> Prototypes:
    """Return the prototypes of a file in the order of the data's classes; without names, in the file's own."""
    held = Prototypes.load(str(recipe.prototypes))
    names = task.names or ()
    if held.num_classes != task.num_classes or (held.names and set(held.names) != set(names)):
        strange = sorted(set(held.names or ()) - set(names))
        found = f'others, such as "{strange[0]}"' if strange else f"{held.num_classes} prototypes"
        raise InputError(
            f'"{recipe.prototypes}" must hold a prototype for each of the {task.num_classes} classes of "{name}"; it '
            f"holds {found}. Place them for these classes: hyperproto place NAMES D -o FILE."
        )
    order = [held.names.index(known) for known in names] if held.names else list(range(task.num_classes))
    return Prototypes(held.vectors[order], held.certificate, names or None)


def input_shape(preprocessing: Preprocessing) -> tuple[int, ...]:
    """Return the shape of one input: (channels, size, size), or (columns,)."""
    if isinstance(preprocessing, ImagePreprocessing):
        return preprocessing.channels, preprocessing.size, preprocessing.size
    return (len(preprocessing.columns),)


def build_network(recipe: Recipe, preprocessing: Preprocessing, out_dim: int) -> Backbone:
    """Build the network of a recipe; its weights are drawn from torch's random numbers."""
    shape = input_shape(preprocessing)
    name = recipe.backbone
    if name is None and recipe.protocol == "paper":
        name = paper_backbone(recipe.data["reader"], shape)
    if name is None:
        return default_backbone(out_dim, shape)
    known = dict(zip(("channels", "size"), shape, strict=False)) if len(shape) == 3 else {"in_features": shape[0]}
    build = LibraryNetwork if ":" in name else BACKBONES.get(name)
    taken = inspect.signature(build).parameters if build else {}
    fitting = {key: value for key, value in known.items() if key in taken}
    return create_backbone(name, out_dim=out_dim, **(fitting | recipe.backbone_options))


def hold_out(recipe: Recipe, source: Source) -> Source:
    """Return the data with the recipe's share of the training part in the place of the test part.

    It comes before everything that looks at training examples, prototypes included.
    """
    if not recipe.valid_share:
        return source
    train = source.train
    labels = [train.targets[name] for name, known in source.targets.items() if isinstance(known, Labels)]
    seed = derive_seed(recipe.seed, "validation")
    kept, held = hold_out_rows(labels, len(train), share=recipe.valid_share, seed=seed)
    if not len(held):
        raise InputError(
            f"`valid_share` must hold out an example at least; {recipe.valid_share:g} of {len(train)} is none."
        )
    return replace(source, train=select(train, kept), test=select(train, held))


def build_data(recipe: Recipe, source: Source) -> tuple[Data, Data | None]:
    """Return what to train on, and what to measure on during training."""
    options: Any = {"keep": recipe.keep, "workers": recipe.workers, "skip_corrupt": recipe.skip_corrupt}
    augment = source.augment if recipe.augment else None
    made = training_data(source.train, source.preprocessing, augment, **options)
    return made, None if source.test is None else training_data(source.test, source.preprocessing, **options)


def seed_weights(recipe: Recipe) -> None:
    """Fix what the weights are drawn from."""
    torch.manual_seed(derive_seed(recipe.seed, "weights"))
