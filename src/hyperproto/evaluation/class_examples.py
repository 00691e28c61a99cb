"""What changing the classes of a trained model works with: models, spaces, labels and examples in
any form.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_integer, check_names, choose
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.files import Plain, as_path, write_json, write_json_lines
from hyperproto._core.folders import filling
from hyperproto.data import Arrays, Split, as_examples
from hyperproto.data.source import draw_rows, select
from hyperproto.evaluation.run_data import open_run
from hyperproto.models import FeatureBackbone
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace, Space
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks import MISSING, indexed
from hyperproto.training import Run, load, read_run
from hyperproto.training.checkpoint import weights_of, write_tensors
from hyperproto.training.folder import prototype_files
from hyperproto.training.outputs import network_outputs
from hyperproto.training.run import FORMAT, describe_run

AnyModel = Run | tuple[nn.Module, OutputSpace] | str | Path
NEW_CLASSES = "new_classes.json"  # the report in the folder of a run


class SphereRun(NamedTuple):
    """A run, its space, and which of its tasks has the classes that change."""

    run: Run
    space: Space
    task: str

    @property
    def placed(self) -> Prototypes:
        """The prototypes of the classes that change."""
        return by_name(self.space.prototypes)[self.task]

    def changed(
        self, prototypes: Prototypes, former: Sequence[int], folder: str | Path | None
    ) -> "SphereRun":
        """Return the run with other prototypes, as :func:`with_prototypes` takes them, and where
        it is to be stored.
        """
        space = with_prototypes(self.space, self.task, prototypes, former)
        run = replace(self.run, space=space, folder=None if folder is None else Path(folder))
        return SphereRun(run, space, self.task)


def open_sphere(model: AnyModel, task: str | None) -> SphereRun:
    """Return a run given as such, by its folder, or as a network with its space, and the name of a
    class task (default: the only one).
    """
    run = load(model) if isinstance(model, str | Path) else model
    try:
        network, space = run
    except (TypeError, ValueError):
        rule = "be a run, its folder, or a pair (network, space)"
        raise InputTypeError("run", rule, type(model).__name__) from None
    if not isinstance(space, Space):
        advice = "Other spaces learn their classes: train again, or use hp.Space."
        rule = "be a sphere with fixed prototypes"
        raise InputTypeError("The space", rule, type(space).__name__, advice)
    names = {name: name for name in indexed(space.tasks)}
    if task is None and len(names) != 1:
        listed = ", ".join(f'"{name}"' for name in names) or "none"
        raise InputError("task", "name one of several class tasks", "none", f"There are {listed}.")
    chosen = next(iter(names)) if task is None else choose(task, names, what="class task")
    return SphereRun(run if isinstance(run, Run) else Run(network, space), space, chosen)


def store_model(run: Run, before: Run, report: Plain) -> None:
    """Write the folder of a run that was made from another without training, and a report."""
    assert run.folder is not None
    described = describe_run(
        run.network,
        run.space,
        settings={"epochs": len(run.history)},
        data={"train": 0, "valid": None},
        preprocessing=None,
        spec=None,
    )
    if before.folder is not None:
        described = read_run(before.folder).config | describe_run(run.network, run.space)
    with filling(run.folder, "config.json") as place:
        for path, prototypes in prototype_files(place, run.space).items():
            prototypes.save(path)
        write_tensors(place / "last.safetensors", weights_of(run.network, run.space), format=FORMAT)
        write_json_lines(place / "epochs.jsonl", run.history)
        write_json(place / "metrics.json", run.metrics)
        write_json(place / NEW_CLASSES, report)
        write_json(place / "config.json", described)


def with_prototypes(
    space: Space,
    task: str,
    prototypes: Prototypes,
    former: Sequence[int],
    *,
    labels: object = None,
) -> Space:
    """Return a space like this one whose task ``task`` has other prototypes; the others keep
    theirs. ``labels`` are its classes where they are no strings.

    Class j was class ``former[j]``; those after them are new, and get the mean of the class
    weights, where there are any.
    """
    tasks = dict(space.tasks)
    for name, placed in by_name(space.prototypes).items():
        tasks[name] = tasks[name].with_prototypes(placed)
    tasks[task] = space.tasks[task].with_prototypes(prototypes, former, labels)
    return space.with_tasks(tasks).to(prototypes.vectors.device)


def new_classes(
    old: Prototypes, labels: object, names: Sequence[str] | None
) -> tuple[str, ...] | tuple[int, ...]:
    """Return the new classes in their order, by name, or by ids that count on where the old ones
    have no names.

    Those given; else those among the labels, sorted.
    """
    if names is not None:
        return check_names(tuple(names))
    if labels is None:
        rule = f"be given where {arg('names')} does not list the new classes"
        raise InputError("labels", rule, "neither")
    listed = _as_list(labels)
    if {type(label) for label in listed} == {str}:
        return check_names(sorted(set(listed)))
    if old.names is not None:
        rule = "be names, as the old classes have names"
        advice = f"Give labels as names, or list {arg('names')} too."
        raise InputError("labels", rule, f"{listed[0]!r}", advice)
    last = max(check_integer(label, "labels", at_least=0) for label in listed)
    return tuple(range(old.num_classes, max(last, old.num_classes) + 1))


def new_examples(
    model: SphereRun, classes: Sequence[str | int], inputs: object, labels: object
) -> Split:
    """Return examples of new classes, by name or by ids that count on, with labels of every other
    task missing.
    """
    if labels is None:
        raise InputError("labels", "name the class of each example", "none")
    listed, first = _as_list(labels), model.placed.num_classes
    new = range(first, first + len(classes))
    id_of = dict(zip((*classes, *new), (*new, *new), strict=True))
    bad = [row for row, label in enumerate(listed) if label not in id_of]
    if bad:
        rule = f"be of new classes, by name or as ids from {new[0]} to {new[-1]}"
        got = f"{listed[bad[0]]!r} in row {bad[0]} ({len(bad)} of {len(listed)} rows)"
        raise InputError("labels", rule, got, f"Examples of old classes go into {arg('replay')}.")
    ids = torch.tensor([id_of[label] for label in listed], dtype=torch.int64)
    blank = {
        name: torch.from_numpy(task.encode([None] * len(ids)))
        for name, task in model.space.tasks.items()
    }
    return Split(_as_inputs(inputs, model.run), blank | {model.task: ids})


def _as_list(labels: Any) -> list[Any]:
    """Return labels as a list of Python's own strings and numbers."""
    if isinstance(labels, str):
        rule = "be a list, one label per example"
        raise InputTypeError("labels", rule, f'one string, "{labels}"')
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def _as_inputs(inputs: Any, run: Run) -> Tensor:
    """Return inputs as a tensor; files prepared, floating point in the precision of the network's
    weights.

    Where a network is frozen they are the features of images: only its last layers learn new
    classes, too.
    """
    match inputs:
        case [str() | Path(), *_]:
            inputs = _read_files(inputs, run.folder)
    tensor, network = torch.as_tensor(inputs), run.network
    weight = next(network.parameters(), tensor)
    if tensor.is_floating_point() and weight.is_floating_point():
        tensor = tensor.to(weight.dtype)
    if tensor.ndim == 4 and run.folder is not None and isinstance(network, FeatureBackbone):
        spec = read_run(run.folder).spec
        if spec is not None and spec.network.freeze:
            parts = network_outputs(network, (tensor, {}), call=network.features)
            return torch.cat([rows for rows, _ in parts])
    return tensor


def _read_files(paths: Sequence[str | Path], folder: Path | None) -> Tensor:
    """Return image files as the network of a stored run takes them."""
    if folder is None:
        advice = "A run's folder says how images are prepared."
        rule = "be numbers for a model that has no folder"
        raise InputTypeError("inputs", rule, "paths", advice)
    data = open_run(folder).read_unlabeled([as_path(path) for path in paths])[0]
    (found, _) = next(data.batches([torch.arange(len(data))]))
    return found


def in_memory(data: object, name: str, run: Run) -> Split | None:
    """Return examples that are in memory, as the network takes them; a split, and None, as they
    are.
    """
    match data:
        case None | Split():
            return data
        case [[*files], targets]:
            data = _as_inputs(files, run), targets
    dataset = as_examples(data, name=name)
    if not isinstance(dataset, Arrays):
        got, advice = type(dataset).__name__, "Stack a few of its examples."
        raise InputTypeError(name, "be a pair (inputs, targets) in memory", got, advice)
    return Split(_as_inputs(dataset.inputs, run), by_name(dataset.targets))


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
