"""Running one cell, from its spec to its record."""

import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from hyperproto._core.errors import InputError, NonFiniteLossError
from hyperproto._core.files import read_json_lines
from hyperproto.prototypes import Prototypes
from hyperproto.reproduction.cell_data import cell_source, prepared
from hyperproto.reproduction.cell_prototypes import cell_prototypes, describe_prototypes
from hyperproto.reproduction.cell_space import cell_network, cell_space
from hyperproto.reproduction.idea import trace_output
from hyperproto.reproduction.look import look_at_sphere
from hyperproto.reproduction.places import Places
from hyperproto.reproduction.records import FORMAT, versions
from hyperproto.reproduction.spec import Spec
from hyperproto.spaces import Space, TaskSpace
from hyperproto.training import fit

__all__ = ["run_cell"]

SETTINGS = ("epochs", "batch_size", "lr", "momentum", "weight_decay", "schedule", "reduction", "seed")


def run_cell(spec: Spec, places: Places) -> dict[str, Any]:
    """Run a cell to its end, from where it was left if it was begun; return its record.

    Returns
    -------
    dict
        ``spec``, ``address``, ``versions``, ``protocol`` (what the spec came to on these data), ``state`` ("done" or
        "diverged"), ``epochs`` (every epoch's measures), ``measures`` (the last), ``look`` (what a figure draws), and
        ``times``, the only part that differs when a cell is run again.
    """
    runners: dict[str, Callable[[Spec, Places], dict[str, Any]]] = {
        "train": _trained,
        "separation": _measured,
        "idea": _traced,
    }
    head = {"format": FORMAT, "address": spec.address, "spec": spec.to_dict(), "versions": versions()}
    return head | runners[spec.kind](spec, places)


def _trained(spec: Spec, places: Places) -> dict[str, Any]:
    """Train, or go on training; a loss that is not finite is a result, too."""
    if places.data is None:
        raise InputError("Training needs data. Give --data DIR, which holds them as published.")
    source = cell_source(spec, places.data)
    space = cell_space(spec, source, places)
    network = cell_network(spec, space.dim)
    train, test = prepared(source, spec)
    folder = places.runs / "cells" / spec.address
    settings = {name: getattr(spec, name) for name in SETTINGS}
    state, look = "diverged", None
    with suppress(NonFiniteLossError):  # squared error diverges at rates that the sphere bears
        run = fit(
            network,
            space,
            train,
            valid=test,
            folder=folder,
            resume=True,
            recipe={"cell": spec.to_dict()},
            preprocessing=source.preprocessing,
            progress=False,
            **settings,
        )
        state, look = "done", look_at_sphere(run, source, test, spec)
    epochs = read_json_lines(folder / "epochs.jsonl")
    return {
        "protocol": _protocol(spec, network, space, len(train), len(test)),
        "state": state,
        "epochs": epochs,
        "measures": epochs[-1]["valid"] if epochs and state == "done" else {},
        "look": look,
        "times": _times(folder),
    }


def _protocol(spec: Spec, network: nn.Module, space: TaskSpace, train: int, test: int) -> dict[str, Any]:
    """Return what the spec came to on these data."""
    return {
        "train": train,
        "test": test,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "out_dim": space.dim,
        "steps": -(-train // spec.batch_size) * spec.epochs,
        "prototypes": _described(space),
    }


def _times(folder: Path) -> dict[str, Any]:
    return {
        "epochs": read_json_lines(folder / "times.jsonl"),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def _described(space: TaskSpace) -> dict[str, Any] | None:
    if not isinstance(space, Space):
        return None
    held = space.prototypes
    every = [held] if isinstance(held, Prototypes) else list(held.values())
    return describe_prototypes(every[0]) if every else None


def _measured(spec: Spec, places: Places) -> dict[str, Any]:
    """Measure the separation of prototypes: nothing is trained."""
    num_classes, names = cast(int, spec.classes), None
    if spec.prototypes == "word2vec" and places.words is not None and places.data is not None:
        names = cast(Any, cell_source(spec, places.data).targets["class"]).names
    held = describe_prototypes(cell_prototypes(spec, num_classes, cast(int, spec.dim), names, places))
    measures = {f"separation/{name}": value for name, value in held["separation"].items()}
    return _untrained({"prototypes": held}, measures)


def _traced(spec: Spec, places: Places) -> dict[str, Any]:
    """Move one output by the gradient of its loss: the idea in a picture."""
    prototypes = cell_prototypes(spec, cast(int, spec.classes), cast(int, spec.dim), None, places)
    measures, look = trace_output(spec, prototypes)
    return _untrained({"prototypes": describe_prototypes(prototypes)}, measures) | {"look": look}


def _untrained(protocol: dict[str, Any], measures: dict[str, float]) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "state": "done",
        "epochs": [],
        "measures": measures,
        "look": None,
        "times": {},
    }
