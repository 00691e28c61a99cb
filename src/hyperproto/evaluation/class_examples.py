"""What changing the classes of a trained model works with: models, spaces, labels and examples in
any form.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_integer, check_names, choose
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.files import as_path, filling, write_json, write_json_lines
from hyperproto.data import Arrays, Split, as_examples
from hyperproto.data.source import draw_rows, select
from hyperproto.evaluation.run_data import open_run
from hyperproto.models import FeatureBackbone
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace, Space
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks import MISSING, Task, indexed
from hyperproto.training import Run, load, read_run
from hyperproto.training.checkpoint import weights_of, write_tensors
from hyperproto.training.folder import prototype_files
from hyperproto.training.outputs import network_outputs
from hyperproto.training.run import FORMAT, describe_run

AnyModel = Run | tuple[nn.Module, OutputSpace] | str | Path
NEW_CLASSES = "new_classes.json"  # the report in the folder of a run


def open_sphere(run: AnyModel, task: str | None) -> tuple[Run, Space, str]:
    """Return a run, its space, and the name of a class task (default: the only one).

    The run may be given as such, by its folder, or as a network with its space.
    """
    if isinstance(run, str | Path):
        record = read_run(run)
        network, opened = load(run)
        run = Run(network, opened, Path(run), record.history, record.settings.get("monitor"))
    elif isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], nn.Module):
        run = Run(*run)
    if not isinstance(run, Run):
        raise InputTypeError(
            "run", "be a run, its folder, or a pair (network, space)", type(run).__name__
        )
    space = run.space
    if not isinstance(space, Space):
        advice = "Other spaces learn their classes: train again, or use hp.Space."
        raise InputTypeError(
            "The space", "be a sphere with fixed prototypes", type(space).__name__, advice
        )
    names = {name: name for name in indexed(space.tasks)}
    if task is None and len(names) != 1:
        listed = ", ".join(f'"{name}"' for name in names) or "none"
        raise InputError("task", "name one of several class tasks", "none", f"There are {listed}.")
    return run, space, next(iter(names)) if task is None else choose(task, names, what="class task")


def store_model(run: Run, before: Run, report: dict[str, Any]) -> None:
    """Write the folder of a run that was made from another without training, and a report."""
    assert run.folder is not None
    config: dict[str, Any] = {
        "settings": {"epochs": len(run.history)},
        "data": {"train": 0, "valid": None},
    }
    config |= {"preprocessing": None, "spec": None}
    config |= {} if before.folder is None else read_run(before.folder).config
    own = {
        key: value
        for key, value in config.items()
        if key not in ("format", "network", "space", "versions")
    }
    with filling(run.folder, "config.json") as place:
        for path, prototypes in prototype_files(place, run.space).items():
            prototypes.save(path)
        write_tensors(place / "last.safetensors", weights_of(run.network, run.space), format=FORMAT)
        write_json_lines(place / "epochs.jsonl", run.history)
        write_json(place / "metrics.json", run.metrics)
        write_json(place / NEW_CLASSES, report)
        write_json(place / "config.json", describe_run(run.network, run.space, **own))


def with_prototypes(
    space: Space,
    task: str,
    prototypes: Prototypes,
    former: Sequence[int],
    *,
    labels: Any = None,
) -> Space:
    """Return a space like this one whose task ``task`` has other prototypes; the others keep
    theirs. ``labels`` are its classes where they are no strings.

    Class j was class ``former[j]``; those after them are new, and get the mean of the class
    weights, where there are any.
    """
    placed = space.named_prototypes()
    weights = indexed(space.tasks)[task].class_weight
    if isinstance(weights, tuple):
        added = prototypes.num_classes - len(former)
        mean = sum(weights) / len(weights)
        weights = (*(weights[index] for index in former), *[mean] * added)
    placed = placed | {task: prototypes}
    tasks: dict[str, Task] = dict(space.tasks)
    for name, value in indexed(tasks).items():
        changes: Any = {"class_weight": weights, "labels": labels} if name == task else {}
        tasks[name] = replace(value, classes=placed[name], **changes)
    return space.with_tasks(tasks).to(prototypes.vectors.device)


def new_classes(
    old: Prototypes, labels: Any, names: Sequence[str] | None
) -> tuple[str, ...] | tuple[int, ...]:
    """Return the new classes in their order, by name, or by ids that count on where the old ones
    have no names.

    Those given; else those among the labels, sorted.
    """
    if names is not None:
        return check_names(tuple(names))
    if labels is None:
        raise InputError(
            "labels", f"be given where {arg('names')} does not list the new classes", "neither"
        )
    listed = _as_list(labels)
    if all(isinstance(label, str) for label in listed):
        return check_names(sorted(set(listed)))
    if old.names is not None:
        advice = f"Give labels as names, or list {arg('names')} too."
        raise InputError(
            "labels", "be names, as the old classes have names", f"{listed[0]!r}", advice
        )
    last = max(check_integer(label, "labels", at_least=0) for label in listed)
    return tuple(range(old.num_classes, max(last, old.num_classes) + 1))


def new_examples(
    model: Run, task: str, classes: Sequence[str | int], inputs: Any, labels: Any
) -> Split:
    """Return examples of new classes, by name or by ids that count on, with labels of every other
    task missing.
    """
    if labels is None:
        raise InputError("labels", "name the class of each example", "none")
    assert isinstance(model.space, Space)
    tasks, listed = model.space.tasks, _as_list(labels)
    first = indexed(tasks)[task].num_classes
    new = range(first, first + len(classes))
    id_of = dict(zip((*classes, *new), (*new, *new), strict=True))
    bad = [row for row, label in enumerate(listed) if label not in id_of]
    if bad:
        rule = f"be of new classes, by name or as ids from {new[0]} to {new[-1]}"
        got = f"{listed[bad[0]]!r} in row {bad[0]} ({len(bad)} of {len(listed)} rows)"
        raise InputError("labels", rule, got, f"Examples of old classes go into {arg('replay')}.")
    ids = torch.tensor([id_of[label] for label in listed], dtype=torch.int64)
    blank = {name: torch.full(ids.shape, value.missing) for name, value in tasks.items()}
    return Split(_as_inputs(inputs, model), blank | {task: ids})


def _as_list(labels: Any) -> list[Any]:
    """Return labels as a list of Python's own strings and numbers."""
    if isinstance(labels, str):
        raise InputTypeError(
            "labels", "be a list, one label per example", f'one string, "{labels}"'
        )
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def _as_inputs(inputs: Any, model: Run) -> Tensor:
    """Return inputs as a tensor; files prepared, floating point in the precision of the network's
    weights.

    Where a network is frozen they are the features of images: only its last layers learn new
    classes, too.
    """
    if isinstance(inputs, list | tuple) and inputs and isinstance(inputs[0], str | Path):
        if model.folder is None:
            advice = "A run's folder says how images are prepared."
            raise InputTypeError(
                "inputs", "be numbers for a model that has no folder", "paths", advice
            )
        data = open_run(model.folder).read_unlabeled([as_path(path) for path in inputs])[0]
        inputs = data.inputs if isinstance(data, Arrays) else data.batch(torch.arange(len(data)))[0]
    tensor, network = torch.as_tensor(inputs), model.network
    weight = next(network.parameters(), tensor)
    tensor = (
        tensor.to(weight.dtype)
        if tensor.is_floating_point() and weight.is_floating_point()
        else tensor
    )
    if tensor.ndim == 4 and model.folder is not None and isinstance(network, FeatureBackbone):
        spec = read_run(model.folder).spec
        if spec is not None and spec.network.freeze:
            return torch.cat(
                [rows for rows, _ in network_outputs(network, (tensor, {}), call=network.features)]
            )
    return tensor


def in_memory(data: Any, name: str, model: Run) -> Split | None:
    """Return examples that are in memory, as the network takes them; a split, and None, as they
    are.
    """
    if data is None or isinstance(data, Split):
        return data
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], list):
        data = (_as_inputs(data[0], model), data[1])
    dataset = as_examples(data, name=name)
    if not isinstance(dataset, Arrays):
        got, advice = type(dataset).__name__, "Stack a few of its examples."
        raise InputTypeError(name, "be a pair (inputs, targets) in memory", got, advice)
    return Split(_as_inputs(dataset.inputs, model), by_name(dataset.targets))


def draw_replay(examples: Split, task: str, *, per_class: int, seed: int) -> Split:
    """Return up to ``per_class`` examples of each class of one task, drawn at random."""
    labels = examples.targets[task].long()
    present = (labels >= 0).nonzero().flatten()
    if not len(present):
        raise InputError("replay", "hold labeled examples of the old classes", "none")
    counts = torch.full((int(labels.max()) + 1,), per_class)
    return select(examples, present[draw_rows(labels[present], counts, seed=seed)])


def moved_ids(former: Tensor, before: int) -> Tensor:
    """Return the present id for each of ``before`` former ids, where class j of now was class
    ``former[j]``.

    One more at the end makes an index of -1, a missing label, stay -1, which removed classes become
    too.

    >>> moved_ids(torch.tensor([2, 0]), 3).tolist()
    [1, -1, 0, -1]
    """
    ids = torch.full((before + 1,), MISSING)
    ids[former] = torch.arange(len(former))
    return ids
