"""What changing the classes of a trained model works with: models, spaces, labels and examples in any form."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from hyperproto._core.checks import check_integer, check_names
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.files import replacing, write_json, write_json_lines
from hyperproto._core.registry import choose, unknown_choice
from hyperproto.data import Arrays, as_dataset
from hyperproto.data.batches import index_targets
from hyperproto.data.source import draw_rows
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace, Sphere
from hyperproto.spaces.tasks import Task, class_tasks
from hyperproto.training import Loaded, Run, load, read_run
from hyperproto.training.checkpoint import class_prototypes, weights_of
from hyperproto.training.folder import RunFolder
from hyperproto.training.run import FORMAT, describe_run

__all__ = [
    "AnyModel",
    "NewClasses",
    "class_task",
    "draw_replay",
    "in_memory",
    "join_examples",
    "new_class_names",
    "new_examples",
    "open_model",
    "store_model",
    "task_labels",
    "with_prototypes",
]

AnyModel = Run | Loaded | tuple[nn.Module, OutputSpace] | str | Path
NewClasses = int | tuple[str, ...]
AnySphere = TypeVar("AnySphere", bound=Sphere)


def open_model(run: AnyModel) -> Run:
    """Take a run, a network with its space, or the folder of a run."""
    if isinstance(run, Run):
        return run
    if isinstance(run, str | Path):
        record = read_run(run)
        network, space = load(run)
        return Run(network, space, Path(run), record.history, record.settings.get("monitor"))
    if isinstance(run, Loaded) or (isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], nn.Module)):
        return Run(*run)
    raise InputTypeError("run", "be a run, its folder, or a pair (network, space)", type(run).__name__)


def store_model(model: Run, space: OutputSpace, folder: str | Path | None) -> Run:
    """Return a run of the same network with another space, and write its folder where one is given."""
    if folder is None:
        return replace(model, space=space, folder=None)
    run = replace(model, space=space, folder=Path(folder))
    config: dict[str, Any] = {"settings": {"epochs": len(run.history)}, "data": {"train": 0, "valid": None}}
    config |= {"preprocessing": None, "spec": None}
    config |= {} if model.folder is None else read_run(model.folder).config
    own = {key: value for key, value in config.items() if key not in ("format", "network", "space", "versions")}
    RunFolder(Path(folder)).begin(describe_run(run.network, space, **own), space)
    with replacing(Path(folder) / "last.safetensors") as temporary:
        save_file(weights_of(run.network, space), temporary, metadata={"format": FORMAT})
    write_json_lines(Path(folder) / "epochs.jsonl", run.history)
    write_json(Path(folder) / "metrics.json", run.metrics)
    return run


def class_task(space: OutputSpace, task: str | None) -> tuple[Sphere, str]:
    """Return the space, and the name of a class task (default: the only one)."""
    if not isinstance(space, Sphere):
        advice = "Other spaces learn their classes: train again, or use hp.Space."
        raise InputTypeError("The space", "be a sphere with fixed prototypes", type(space).__name__, advice)
    names = {name: name for name in class_tasks(space.tasks)}
    if not names:
        raise InputError("The space", "have a class task", "ranges only")
    if task is None and len(names) > 1:
        listed = ", ".join(f'"{name}"' for name in names)
        raise InputError("task", "name one of several class tasks", "none", f"There are {listed}.")
    return space, next(iter(names)) if task is None else choose(task, names, what="class task")


def with_prototypes(space: AnySphere, task: str, prototypes: Prototypes) -> AnySphere:
    """Return a space like this one whose task ``task`` has other prototypes; the others keep theirs.

    A new class gets the mean of the class weights, where there are any.
    """
    placed = class_prototypes(space)
    weights = class_tasks(space.tasks)[task].class_weights
    if weights is not None:
        # old rows keep every bit, so they are found by their bits
        rows = placed[task].vectors.numpy(force=True)
        known = {row.tobytes(): weight for row, weight in zip(rows, weights, strict=True)}
        mean = sum(weights) / len(weights)
        weights = tuple(known.get(row.tobytes(), mean) for row in prototypes.vectors.numpy(force=True))
    placed = placed | {task: prototypes}
    tasks: dict[str, Task] = dict(space.tasks)
    for name, value in class_tasks(tasks).items():
        own = weights if name == task else value.class_weights
        tasks[name] = replace(value, classes=placed[name], class_weights=own)
    return type(space)(space.dim, space.as_given(tasks)).to(prototypes.vectors.device)


def new_class_names(old: Prototypes, labels: Any, names: Sequence[str] | None) -> NewClasses:
    """Return the names of the new classes, in their order, or their number where the old ones have no names.

    Those given; else those among the labels, sorted.
    """
    if names is not None:
        return check_names(tuple(names))
    if labels is None:
        raise InputError("labels", f"be given where {arg('names')} does not list the new classes", "neither")
    listed = _as_list(labels)
    if all(isinstance(label, str) for label in listed):
        return check_names(sorted(set(listed)))
    if old.names is not None:
        advice = f"Give labels as names, or list {arg('names')} too."
        raise InputError("labels", "be names, as the old classes have names", f"{listed[0]!r}", advice)
    return max(check_integer(label, "labels", at_least=0) for label in listed) + 1 - old.num_classes


def new_examples(model: Run, space: Sphere, task: str, classes: NewClasses, inputs: Any, labels: Any) -> Arrays:
    """Return examples of new classes in the form the wider space takes, labels of every other task missing."""
    if labels is None:
        raise InputError("labels", "name the class of each example", "none")
    ids = _new_ids(class_prototypes(space)[task], classes, labels)
    blank = {name: torch.full(ids.shape, value.missing) for name, value in space.tasks.items()}
    return Arrays(_as_inputs(inputs, model.network), space.as_given(blank | {task: ids}))


def _new_ids(old: Prototypes, classes: NewClasses, labels: Any) -> Tensor:
    """Return the ids of labels of new classes, after those of the old ones. Shape (n,), int64."""
    listed = _as_list(labels)
    first, count = old.num_classes, classes if isinstance(classes, int) else len(classes)
    advice = f"Examples of old classes go into {arg('replay')}."
    if all(isinstance(label, str) for label in listed) and not isinstance(classes, int):
        ids = {name: first + index for index, name in enumerate(classes)}
        for label in listed:
            if label in (old.names or ()) and label not in ids:
                raise InputError("labels", "be of new classes", f'"{label}", an old one', advice)
            if label not in ids:
                raise unknown_choice(label, ids, what="new class")
        return torch.tensor([ids[label] for label in listed], dtype=torch.int64)
    found = torch.tensor([check_integer(label, "labels", at_least=0) for label in listed], dtype=torch.int64)
    bad = ((found < first) | (found >= first + count)).nonzero().flatten()
    if len(bad):
        got = f"{int(found[bad[0]])} in row {int(bad[0])} ({len(bad)} of {len(found)} rows)"
        raise InputError("labels", f"be ids of new classes, from {first} to {first + count - 1}", got, advice)
    return found


def _as_list(labels: Any) -> list[Any]:
    """Return labels as a list of Python's own strings and numbers."""
    if isinstance(labels, str):
        raise InputTypeError("labels", "be a list, one label per example", f'one string, "{labels}"')
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if not isinstance(listed, list) or not listed:
        raise InputError("labels", "be a list, one label per example", "none")
    return listed


def _as_inputs(inputs: Any, network: nn.Module) -> Tensor:
    """Return inputs as a tensor; floating point ones in the precision of the network's weights."""
    try:
        tensor = torch.as_tensor(inputs)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError("inputs", "be numbers, prepared as for training", str(error)) from None
    weight = next(network.parameters(), None)
    floats = weight is not None and weight.is_floating_point() and tensor.is_floating_point()
    return tensor.to(weight.dtype) if weight is not None and floats else tensor


def in_memory(data: Any, name: str, network: nn.Module) -> Arrays:
    """Return examples that are in memory, as the network takes them."""
    dataset = as_dataset(data, name=name)
    if not isinstance(dataset, Arrays):
        got, advice = type(dataset).__name__, "Stack a few of its examples."
        raise InputTypeError(name, "be a pair (inputs, targets) in memory", got, advice)
    return Arrays(_as_inputs(dataset.inputs, network), dataset.targets)


def task_labels(data: Arrays, task: str) -> Tensor:
    """Return the labels of one task, shape (n,)."""
    return data.targets if isinstance(data.targets, Tensor) else data.targets[task]


def draw_replay(data: Arrays, task: str, *, per_class: int, seed: int) -> Arrays:
    """Return up to ``per_class`` examples of each class of one task, drawn at random."""
    labels = task_labels(data, task).long()
    present = (labels >= 0).nonzero().flatten()
    if not len(present):
        raise InputError("replay", "hold labeled examples of the old classes", "none")
    counts = torch.full((int(labels.max()) + 1,), per_class)
    chosen = present[draw_rows(labels[present], counts, seed=seed)]
    return Arrays(data.inputs[chosen], index_targets(data.targets, chosen))


def join_examples(first: Arrays, second: Arrays) -> Arrays:
    """Return two sets of examples one after the other, their targets in either form."""
    inputs, more = torch.cat([first.inputs, second.inputs.to(first.inputs.dtype)]), second.targets
    if isinstance(first.targets, Tensor):
        assert isinstance(more, Tensor)
        return Arrays(inputs, torch.cat([first.targets, more.to(first.targets.dtype)]))
    assert not isinstance(more, Tensor)
    both = {name: torch.cat([target, more[name].to(target.dtype)]) for name, target in first.targets.items()}
    return Arrays(inputs, both)
