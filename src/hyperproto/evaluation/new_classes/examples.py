"""Labels of new classes as people give them, and the old examples that are replayed."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_integer, check_names
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import unknown_choice
from hyperproto.data import Arrays, as_dataset
from hyperproto.data.arrays import index_targets
from hyperproto.prototypes import Prototypes

__all__ = ["NewClasses", "as_inputs", "draw_replay", "join_examples", "new_ids", "prepared", "settle_names"]

NewClasses = int | tuple[str, ...]


def as_inputs(inputs: Any, network: nn.Module) -> Tensor:
    """Return inputs as a tensor; floating point ones in the precision of the network's weights."""
    try:
        tensor = torch.as_tensor(inputs)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError(f"`inputs` must be numbers, prepared as for training ({error}).") from None
    weight = next(network.parameters(), None)
    floats = tensor.is_floating_point() and weight is not None and weight.is_floating_point()
    return tensor.to(weight.dtype) if floats and weight is not None else tensor


def settle_names(old: Prototypes, labels: Any, names: Sequence[str] | None) -> NewClasses:
    """Return the names of the new classes, in their order, or their number where the old ones have no names.

    Those given; else those among the labels, sorted.
    """
    if names is not None:
        return check_names(tuple(names))
    if labels is None:
        raise InputError("Say which classes are new: labels for examples, or names=[...].")
    listed = _as_list(labels)
    if all(isinstance(label, str) for label in listed):
        return check_names(sorted(set(listed)))
    if old.names is not None:
        raise InputError(
            f"New classes must have names, as the old ones do; got labels such as {listed[0]!r}. Give labels as "
            "names, or names=[...] beside ids."
        )
    return max(check_integer(label, "labels", at_least=0) for label in listed) + 1 - old.num_classes


def new_ids(old: Prototypes, classes: NewClasses, labels: Any) -> Tensor:
    """Return the ids of labels of new classes, behind those of the old ones. Shape (n,), int64."""
    listed = _as_list(labels)
    first, count = old.num_classes, classes if isinstance(classes, int) else len(classes)
    if all(isinstance(label, str) for label in listed) and not isinstance(classes, int):
        ids = {name: first + index for index, name in enumerate(classes)}
        for label in listed:
            if label not in ids:
                raise _strange(label, old, ids)
        return torch.tensor([ids[label] for label in listed], dtype=torch.int64)
    found = torch.tensor([check_integer(label, "labels", at_least=0) for label in listed], dtype=torch.int64)
    bad = ((found < first) | (found >= first + count)).nonzero().flatten()
    if len(bad):
        raise InputError(
            f"`labels` must be ids of new classes, from {first} to {first + count - 1}; row {int(bad[0])} holds "
            f"{int(found[bad[0]])} ({len(bad)} of {len(found)} rows). Examples of old classes go into replay=..."
        )
    return found


def prepared(data: Any, name: str, network: nn.Module) -> Arrays:
    """Return examples that are held in memory, as the network takes them."""
    held = as_dataset(data, name=name)
    if not isinstance(held, Arrays):
        raise InputTypeError(
            f"`{name}` must be a pair (inputs, targets) held in memory; got {type(held).__name__}. Stack a few of "
            "its examples."
        )
    return Arrays(as_inputs(held.inputs, network), held.targets)


def draw_replay(data: Arrays, task: str, *, per_class: int, seed: int) -> Arrays:
    """Return up to ``per_class`` examples of each class of one task, drawn at random."""
    targets = data.targets if isinstance(data.targets, Tensor) else data.targets[task]
    order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(seed))
    labels = targets[order].long()
    by_class = labels.argsort(stable=True)
    ordered = labels[by_class]
    before = torch.searchsorted(ordered, ordered)  # where the class of each begins
    rank = torch.arange(len(ordered)) - before
    chosen = order[by_class[(rank < per_class) & (ordered >= 0)]]
    if not len(chosen):
        raise InputError("`replay` must hold labelled examples of the old classes; it has none.")
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


def _as_list(labels: Any) -> list[Any]:
    """Return labels as a list of Python's own strings and numbers."""
    if isinstance(labels, str):
        raise InputTypeError(f'`labels` must be a list, a label for each example; got one string, "{labels}".')
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if not isinstance(listed, list) or not listed:
        raise InputError("`labels` must hold a label for each example; got none.")
    return listed


def _strange(label: str, old: Prototypes, ids: dict[str, int]) -> InputError:
    if old.names is not None and label in old.names:
        return InputError(
            f'`labels` must be of new classes; "{label}" is an old one. Examples of old classes go into replay=...'
        )
    return unknown_choice(label, ids, what="new class")
