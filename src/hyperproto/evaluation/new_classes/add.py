"""New classes for a trained model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto._core.registry import choose
from hyperproto.data import Arrays
from hyperproto.evaluation.new_classes.examples import (
    NewClasses,
    as_inputs,
    draw_replay,
    new_ids,
    prepared,
    settle_names,
)
from hyperproto.evaluation.new_classes.measure import measure_change, warn_of_loss
from hyperproto.evaluation.new_classes.models import AnyModel, Model, open_model, store_model, store_report
from hyperproto.evaluation.new_classes.report import Changed
from hyperproto.evaluation.new_classes.spaces import class_task, full_targets
from hyperproto.evaluation.new_classes.ways import extend_by_means, extend_by_prior, extend_by_training
from hyperproto.spaces import Sphere
from hyperproto.training.run import class_prototypes

__all__ = ["add_classes"]

NEEDS_EXAMPLES = {"mean": True, "train": True, "prior": False}
FEW_EXAMPLES: dict[str, Any] = {"lr": 0.05, "batch_size": 32, "reduction": "mean"}
OLD_AGAIN = "Old classes are measured on what could be replayed, not on held-out examples."
NEW_AGAIN = "New classes are measured on the very examples given."


def add_classes(
    run: AnyModel,
    inputs: Any = None,
    labels: Any = None,
    *,
    how: Literal["mean", "train", "prior"] = "mean",
    names: Sequence[str] | None = None,
    prior: object | None = None,
    replay: Any = None,
    replay_per_class: int = 20,
    old_valid: Any = None,
    new_valid: Any = None,
    task: str | None = None,
    epochs: int = 20,
    seed: int = 0,
    folder: str | Path | None = None,
    **settings: Any,
) -> Changed:
    """Return a trained model that knows more classes, and a report of what that did to the old ones.

    Ids and prototypes of the old classes stay as they are. The given model is not touched: "train" trains a copy, the
    other ways share its network.

    Parameters
    ----------
    run : Run, pair (network, space), or path
        What ``fit`` or ``load`` gave, or a run's folder. The space must be a sphere, :class:`hyperproto.Sphere`.
    inputs : array or tensor, shape (n, ...)
        Examples of the new classes, prepared as for training. A few each will do; how="prior" needs none.
    labels : sequence, shape (n,)
        Their names; ids, counted on from the old ones, where classes have no names or ``names`` says them.
    how : {"mean", "train", "prior"}, default "mean"
        "mean" puts each new prototype at the mean direction of its examples' outputs, without training. "train" takes
        a reserved prototype, or adds one far from the others, and trains on the new examples and replayed old ones.
        "prior" puts it among the old classes that a semantic prior likens it to, without any example.
    names : sequence of str, optional
        The new classes in their order; those among the labels, sorted, unless given.
    prior : optional
        For how="prior": word vectors, a taxonomy, ... over old and new classes; see :func:`hyperproto.place`.
    replay : pair (inputs, targets), optional
        For how="train": examples of old classes in the form ``fit`` takes. Without them old classes are forgotten.
    replay_per_class : int, default 20
        How many of each old class to replay at most.
    old_valid, new_valid : pair (inputs, targets), optional
        Held-out examples to measure old and new classes on, new ones with labels as above. Unless given, replayed
        and new examples themselves are measured on; the report says so.
    task : str, optional
        Which class task, where the space has several.
    epochs, seed, **settings
        For how="train": as for ``fit``, but unless said otherwise 20 epochs in batches of 32, rate 0.05, mean loss:
        so few examples would make too few steps of the usual batches.
    folder : path, optional
        Where to store the new run, for ``load``.

    Returns
    -------
    Changed
        A pair (run, report). A warning says where the old classes lost more than a point of accuracy.
    """
    needs = choose(how, NEEDS_EXAMPLES, what="way to add classes")
    model = open_model(run)
    space, task = class_task(model.space, task)
    old = class_prototypes(space)[task]
    classes = settle_names(old, labels, names)
    examples = None if inputs is None else _examples(model, space, task, classes, inputs, labels)
    _check_goes_together(how, needs, examples, prior, replay, settings)
    stored = None if replay is None else prepared(replay, "replay", model.network)
    if examples is not None and stored is not None and how == "train":
        per_class = check_integer(replay_per_class, "replay_per_class", at_least=1)
        drawn = draw_replay(stored, task, per_class=per_class, seed=seed)
        settings = FEW_EXAMPLES | settings
        settings |= {key: model.config.get(key) for key in ("preprocessing", "recipe")} | {"epochs": epochs}
        parts = model.network, space, task, classes, examples
        made = extend_by_training(*parts, replay=drawn, seed=seed, folder=folder, **settings)
    elif examples is not None and how == "mean":
        made = store_model(model, extend_by_means(model.network, space, task, classes, examples), folder)
    else:
        made = store_model(model, extend_by_prior(space, task, classes, prior), folder)
    held = stored if old_valid is None else prepared(old_valid, "old_valid", model.network)
    tried = examples if new_valid is None else _examples(model, space, task, classes, *new_valid)
    remarks = [OLD_AGAIN] if old_valid is None and held is not None else []
    remarks += [NEW_AGAIN] if new_valid is None and tried is not None else []
    report = measure_change(how, model, made, task, held, tried, remarks)
    store_report(made, report)
    warn_of_loss(report)
    return Changed(made, report)


def _examples(model: Model, space: Sphere, task: str, classes: NewClasses, inputs: Any, labels: Any) -> Arrays:
    """Return examples of new classes in the form the wider space takes."""
    if labels is None:
        raise InputError("`labels` must say the class of each example; got none.")
    ids = new_ids(class_prototypes(space)[task], classes, labels)
    return Arrays(as_inputs(inputs, model.network), full_targets(space, task, ids))


def _check_goes_together(
    how: str, needs: bool, examples: Arrays | None, prior: object | None, replay: Any, settings: dict[str, Any]
) -> None:
    """Say what is missing for a way, or has no part in it."""
    if needs and examples is None:
        raise InputError(f'how="{how}" needs examples of the new classes; got none. how="prior" goes without.')
    if (prior is None) == (how == "prior"):
        raise InputError('how="prior" and prior=... go together; got one without the other.')
    if how == "train" and replay is None:
        raise InputError(
            'how="train" must replay examples of the old classes, which are forgotten otherwise; got none. Pass '
            'replay=(inputs, targets), or use how="mean", which trains nothing.'
        )
    if how != "train" and settings:
        raise InputError(f'how="{how}" trains nothing; got {", ".join(settings)}, which are for how="train".')
