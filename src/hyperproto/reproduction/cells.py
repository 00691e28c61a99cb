"""Running one cell, from its description to its record."""

import base64
import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from hyperproto._core.errors import NonFiniteLossError
from hyperproto._core.files import read_json_lines
from hyperproto.data import Arrays, ImageData, Source
from hyperproto.data.source import select
from hyperproto.losses import cosine_loss
from hyperproto.prototypes import Prototypes
from hyperproto.reproduction.cell_data import cell_source, prepared
from hyperproto.reproduction.cell_space import cell_network, cell_space
from hyperproto.reproduction.placements import Places, cell_prototypes, describe_prototypes
from hyperproto.reproduction.records import FORMAT, versions
from hyperproto.reproduction.spec import Spec
from hyperproto.spaces import Sphere, TaskSpace
from hyperproto.sphere import normalize
from hyperproto.training import Run, fit

__all__ = ["run_cell"]

SETTINGS = ("epochs", "batch_size", "lr", "momentum", "weight_decay", "schedule", "reduction", "seed")
SHOWN, SIDE = 200, 14  # points of the rotated-MNIST figure, pixels of their images: a record of near 60 kB


def run_cell(spec: Spec, places: Places) -> dict[str, Any]:
    """Run a cell to its end, from its last checkpoint if there is one; return its record.

    Returns
    -------
    dict
        ``spec``, ``address``, ``versions``, ``protocol`` (what the spec came to on these data), ``state`` ("done" or
        "diverged"), ``epochs`` (every epoch's measures), ``measures`` (the last), ``look`` (what a figure draws), and
        ``times``, the only part that differs when a cell is run again.
    """
    runners: dict[str, Callable[[Spec, Places], dict[str, Any]]] = {
        "train": _train,
        "separation": _measure_separation,
        "idea": _trace_output,
    }
    record = {"format": FORMAT, "address": spec.address, "spec": spec.to_dict(), "versions": versions()}
    empty: dict[str, Any] = {"protocol": {}, "state": "done", "epochs": [], "measures": {}, "look": None, "times": {}}
    return record | empty | runners[spec.kind](spec, places)


def _train(spec: Spec, places: Places) -> dict[str, Any]:
    """Train, or go on training; a loss that is not finite is a result, too."""
    assert places.data is not None, "a plan leaves out cells without data"
    source = cell_source(spec, places.data)
    space = cell_space(spec, source, places)
    network = cell_network(spec, space.dim)
    train, test = prepared(source, spec)
    folder = places.runs / "cells" / spec.address
    settings = {name: getattr(spec, name) for name in SETTINGS}
    state, sphere = "diverged", None
    with suppress(NonFiniteLossError):  # squared error diverges at rates that the sphere bears
        run = fit(
            network,
            space,
            train,
            valid=test,
            folder=folder,
            resume=True,
            preprocessing=source.preprocessing,
            progress=False,
            **settings,
        )
        state, sphere = "done", _outputs_on_sphere(run, source, test, spec)
    epochs = read_json_lines(folder / "epochs.jsonl")
    return {
        "protocol": _protocol(spec, network, space, len(train), len(test)),
        "state": state,
        "epochs": epochs,
        "measures": epochs[-1]["valid"] if epochs and state == "done" else {},
        "look": sphere,
        "times": _times(folder),
    }


def _protocol(spec: Spec, network: nn.Module, space: TaskSpace, train: int, test: int) -> dict[str, Any]:
    """Return what the spec came to on these data."""
    prototypes: Any = space.prototypes if isinstance(space, Sphere) else {}
    every = [prototypes] if isinstance(prototypes, Prototypes) else list(prototypes.values())
    return {
        "train": train,
        "test": test,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "out_dim": space.dim,
        "steps": -(-train // spec.batch_size) * spec.epochs,
        "prototypes": describe_prototypes(every[0]) if every else None,
    }


def _times(folder: Path) -> dict[str, Any]:
    epochs = read_json_lines(folder / "times.jsonl")
    return {"epochs": epochs, "threads": torch.get_num_threads(), "machine": platform.machine()}


@torch.no_grad()
def _outputs_on_sphere(run: Run, source: Source, test: Arrays | ImageData, spec: Spec) -> dict[str, Any] | None:
    """Return where the first test images lie on S², with their digits, angles and pictures; None for other cells."""
    space = run.space
    if spec.data != "rotated-mnist" or not isinstance(space, Sphere) or space.dim != 3 or source.test is None:
        return None
    shown = select(source.test, torch.arange(min(SHOWN, len(source.test))))
    assert isinstance(shown.inputs, Tensor)
    assert isinstance(test, ImageData)
    pictures = ImageData(shown, test.preprocessing, workers=0)
    inputs = torch.stack([pictures[index][0] for index in range(len(pictures))])
    device = next(run.network.parameters()).device
    points = space.project(run.network.eval()(inputs.to(device))).cpu()
    small = torch.nn.functional.adaptive_avg_pool2d(shown.inputs.float(), SIDE).round().byte()
    prototypes = space.prototypes_by_task()
    return {
        "points": _rounded(points, 4),
        "labels": shown.targets["digit"].tolist(),
        "values": [round(value, 2) for value in shown.targets["angle"].tolist()],
        "prototypes": _rounded(prototypes["digit"].vectors, 6),
        "names": list(source.targets["digit"].names or ()),  # type: ignore[union-attr]  # digits are classes
        "side": SIDE,
        "images": base64.b64encode(small.numpy().tobytes()).decode(),
    }


def _measure_separation(spec: Spec, places: Places) -> dict[str, Any]:
    """Measure the separation of prototypes: nothing is trained."""
    names = None
    if spec.prototypes == "word2vec" and places.words is not None and places.data is not None:
        names = cast(Any, cell_source(spec, places.data).targets["class"]).names
    prototypes = cell_prototypes(spec, cast(int, spec.classes), cast(int, spec.dim), names, places)
    described = describe_prototypes(prototypes)
    measures = {f"separation/{name}": value for name, value in described["separation"].items()}
    return {"protocol": {"prototypes": described}, "measures": measures}


def _trace_output(spec: Spec, places: Places) -> dict[str, Any]:
    """Descend Equation 1 towards the first prototype, or Equation 7 towards the circle of the middle value."""
    dim, is_range = cast(int, spec.dim), spec.tasks == ("range",)
    prototypes = cell_prototypes(spec, cast(int, spec.classes), dim, None, places)
    upper = torch.eye(dim, dtype=torch.float64)[:1]
    marks = torch.cat([upper, -upper]) if is_range else prototypes.vectors.double()
    target = 0.0 if is_range else 1.0  # r = 0 is the middle of the range
    generator = torch.Generator().manual_seed(spec.seed)
    z = torch.randn(1, dim, generator=generator, dtype=torch.float64, requires_grad=True)
    path = [normalize(z.detach())[0]]
    for _ in range(spec.epochs):
        (gradient,) = torch.autograd.grad(cosine_loss(z, marks[0], target).sum(), z)
        z = (z - spec.lr * gradient).detach().requires_grad_(True)
        path.append(normalize(z.detach())[0])
    return {
        "protocol": {"prototypes": describe_prototypes(prototypes)},
        "measures": {"cosine/first": float(path[0] @ marks[0]), "cosine/last": float(path[-1] @ marks[0])},
        "look": {"path": _rounded(torch.stack(path), 5), "marks": _rounded(marks, 5), "target": target},
    }


def _rounded(values: Tensor, digits: int) -> list[list[float]]:
    return [[round(value, digits) for value in row] for row in values.tolist()]
