"""Running one cell, from its description to its record."""

import base64
import json
import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from shutil import rmtree
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor, nn

from hyperproto._core.arrays import read_npy
from hyperproto._core.files import read_json_lines, versions
from hyperproto._core.processes import derive_seed
from hyperproto.data import Arrays, ImageData, ImagePreprocessing, Source
from hyperproto.data.source import draw_rows, select
from hyperproto.losses import cosine_loss
from hyperproto.models import FeatureBackbone
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Space, TaskSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import DataSpec, NetworkSpec
from hyperproto.sphere import normalize
from hyperproto.training import Run, fit
from hyperproto.training.build import (
    build_data,
    build_network,
    build_source,
    choose_network,
    cut_source,
)
from hyperproto.training.features import freeze
from hyperproto.training.outputs import network_outputs
from hyperproto.training.space import prior_from_data
from reproduction.cell import Cell
from reproduction.placements import Places, cell_prototypes, describe_prototypes
from reproduction.records import FORMAT, pack
from reproduction.stored import data_spec, network_spec, space_of, train_settings

UNCUT: dict[str, Any] = dict.fromkeys(
    ("first_classes", "train_examples", "test_examples", "valid_examples")
)
SHOWN, SIDE = (
    200,
    14,
)  # points of the rotated-MNIST figure, pixels of their images: a record of near 60 kB


def run_cell(cell: Cell, places: Places) -> dict[str, Any]:
    """Run a cell to its end, from its last checkpoint if there is one; return its record.

    Returns
    -------
    dict
        ``cell``, ``address``, ``versions``, ``protocol`` (what the cell came to on these data),
        ``state`` ("done" or "diverged"), ``epochs`` (every epoch's measures), ``measures`` (the
        last; of a number also ``mae_std``, how its absolute error varies over the test images, and ``rmse``; where
        the training data are uneven also ``uneven/accuracy``, on test images that are uneven alike),
        ``sphere`` (what a figure draws), ``outcomes`` (of each test image, stored beside the
        records), and ``times``, the only part that differs when a cell is
        run again.
    """
    jobs: dict[str, Callable[[Cell, Places], dict[str, Any]]] = {
        "train": _train,
        "constant": _answer_constant,
        "separation": _measure_separation,
        "idea": _trace_output,
    }
    record = {
        "format": FORMAT,
        "address": cell.address,
        "cell": asdict(cell),
        "versions": versions("scipy"),
    }
    empty: dict[str, Any] = {"state": "done", "epochs": [], "sphere": None, "times": {}}
    return record | empty | jobs[cell.job](cell, places)


@lru_cache(
    maxsize=1
)  # cells of one data set follow each other, and reading takes longer than a small cell
def _read(description: str) -> Source:
    return build_source(DataSpec(**json.loads(description)))


def read_cell_data(cell: Cell, places: Places) -> Source:
    """Return what a cell is trained and measured on."""
    spec = data_spec(cell.run.data, places.data)
    folder = features_folder(cell, places)
    if folder is None:
        return _read(json.dumps(asdict(spec)))
    network, whole = (
        json.dumps(asdict(part))
        for part in (network_spec(cell.run.network), replace(spec, tasks=(), **UNCUT))
    )
    return cut_source(_read_features(network, whole, folder), replace(spec, image_size=None))


def features_folder(cell: Cell, places: Places) -> Path | None:
    """Return where the features of a cell's data set are, which many cells share; None where it is
    not frozen.
    """
    if cell.job != "train" or not cell.run.network.freeze:
        return None
    data = cell.run.data
    return (
        places.runs / "features" / "-".join(filter(None, (data.reader, str(data.image_size or ""))))
    )


@lru_cache(maxsize=1)
def _read_features(network: str, data: str, folder: Path) -> Source:
    """Return all of some data, features in place of images: from the folder, or computed and
    written there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = DataSpec(**json.loads(data))
    spec, source = choose_network(
        NetworkSpec(**json.loads(network)), build_source(whole), whole.image_size
    )
    backbone = build_network(spec, source.preprocessing.input_shape, "images", 1, seed=0)
    return freeze(backbone, source, replace(whole, workers=0), folder)


def _train(cell: Cell, places: Places) -> dict[str, Any]:
    """Train, or go on training; a loss that is not finite is a result, too."""
    source = read_cell_data(cell, places)
    prototypes = _class_prototypes(cell, source, places)
    space = space_of(cell.run, source, prototypes, frozen=has_features(source))
    shape, seed = source.preprocessing.input_shape, derive_seed(cell.seed, "weights")
    spec = replace(network_spec(cell.run.network), weights=None)
    network: nn.Module = build_network(spec, shape, "images", space.dim, seed=seed)
    if isinstance(network, FeatureBackbone) and cell.run.network.freeze:
        network = network.output
    if cell.run.network.output_norm:
        network = nn.Sequential(network, nn.BatchNorm1d(space.dim))
    # workers: cells are spread over the cores already
    train, test = build_data(replace(data_spec(cell.run.data, places.data), workers=0), source)
    assert test is not None
    folder = places.runs / "cells" / cell.address
    state, sphere, measures, outcomes = "diverged", None, {}, {}
    uneven = _uneven_rows(cell, source)
    with suppress(FloatingPointError):  # squared error diverges at rates that the sphere bears
        options: Any = {
            "folder": folder,
            "resume": True,
            "progress": False,
        }
        run = fit(
            network,
            space,
            train,
            train_settings(cell.run.train),
            valid=test,
            preprocessing=source.preprocessing,
            **options,
        )
        state, sphere = "done", _outputs_on_sphere(run, source, test, cell)
        outcomes = _test_outcomes(run, test)
        measures = {
            f"{name}_std": float(torch.from_numpy(errors).std())
            for name, errors in outcomes.items()
            if name.endswith("mae")
        }
        measures |= {
            f"{name.removesuffix('mae')}rmse": float(np.sqrt(np.square(errors).mean()))
            for name, errors in outcomes.items()
            if name.endswith("mae")
        }
        if uneven is not None:
            outcomes["uneven/accuracy"] = outcomes["class/accuracy"][uneven]
            measures["uneven/accuracy"] = float(outcomes["uneven/accuracy"].mean())
    epochs = read_json_lines(folder / "epochs.jsonl")
    record = {
        "protocol": _protocol(cell, network, space, len(train), len(test))
        | ({} if uneven is None else {"uneven": len(uneven)}),
        "state": state,
        "epochs": epochs,
        "measures": {**epochs[-1]["valid"], **measures} if epochs and state == "done" else {},
        "sphere": sphere,
        "outcomes": {name: pack(values) for name, values in outcomes.items()},
        "times": {
            "epochs": read_json_lines(folder / "times.jsonl"),
            "threads": torch.get_num_threads(),
            "machine": platform.machine(),
        },
    }
    if cell.run.network.freeze:  # hundreds of heads, each trained in seconds
        rmtree(folder)
    return record


def _test_outcomes(run: Run, test: Arrays | ImageData) -> dict[str, NDArray[Any]]:
    """Return what became of each test image that has a target, by measure: whether its class was
    right, or the absolute error of its number.
    """
    parts: dict[str, list[Tensor]] = {}
    for z, targets in network_outputs(run.network, test):
        truth = by_name(targets)
        for task, predicted in by_name(run.space.predict(z)).items():
            predicted, target = predicted.cpu(), truth[task].cpu()
            if predicted.dtype.is_floating_point:
                errors = (predicted.double() - target.double()).abs()
                part = {"mae": errors[~errors.isnan()]}
            else:
                part = {"accuracy": (predicted == target)[target >= 0]}
            for measure, values in part.items():
                parts.setdefault(run.space.metric_name(task, measure), []).append(values)
    return {name: torch.cat(values).numpy() for name, values in parts.items()}


def _uneven_rows(cell: Cell, source: Source) -> NDArray[np.int64] | None:
    """Return the rows of an even test set that make one as uneven as the training data; None for
    other data.
    """
    if cell.run.data.reader != "cifar-100-uneven" or source.test is None:
        return None
    labels, counts = source.test.targets["class"], source.train.targets["class"].bincount()
    have = labels.bincount(minlength=len(counts))
    share = (have * counts / counts.max()).round().long().clamp(min=1)
    return draw_rows(labels, share, seed=derive_seed(0, "uneven test")).numpy()


def _answer_constant(cell: Cell, places: Places) -> dict[str, Any]:
    """Answer every test image with the median or the most frequent class of the training images."""
    source = read_cell_data(cell, places)
    assert source.test is not None
    measures = {}
    for name, target in source.targets.items():
        train, test = source.train.targets[name], source.test.targets[name]
        if target.reads == "index":
            train, test = train[train >= 0], test[test >= 0]
            measures[f"{name}/accuracy"] = float((test == train.mode().values).double().mean())
        else:
            median = train[~train.isnan()].quantile(0.5)
            errors = (test[~test.isnan()] - median).abs()
            measures |= {
                f"{name}/mae": float(errors.mean()),
                f"{name}/mae_std": float(errors.std()),
                f"{name}/rmse": float(errors.square().mean().sqrt()),
            }
    return {
        "protocol": {"train": len(source.train), "test": len(source.test)},
        "measures": measures,
    }


def _class_prototypes(cell: Cell, source: Source, places: Places) -> Prototypes | None:
    """Return the prototypes of the class task on a sphere; each range takes one axis."""
    space = cell.run.space
    if space.prototypes is None or not source.labels:
        return None
    ((name, labels),) = source.labels.items()
    axes = cast(int, space.dim) - (len(source.targets) - 1)
    prior = partial(prior_from_data, source.train, name, labels)
    return cell_prototypes(cell, labels.num_classes, axes, labels.names, places, prior)


def _protocol(
    cell: Cell, network: nn.Module, space: TaskSpace, train: int, test: int
) -> dict[str, Any]:
    """Return what the cell came to on these data."""
    every = list(by_name(space.prototypes).values())
    batch_size, epochs = cast(int, cell.run.train.batch_size), cast(int, cell.run.train.epochs)
    return {
        "train": train,
        "test": test,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "out_dim": space.dim,
        "steps": -(-train // batch_size) * epochs,
        "prototypes": describe_prototypes(every[0]) if every else None,
    }


@torch.no_grad()
def _outputs_on_sphere(
    run: Run, source: Source, test: Arrays | ImageData, cell: Cell
) -> dict[str, Any] | None:
    """Return where the first test images lie on S², with their digits, angles and pictures; None
    for other cells.
    """
    space = run.space
    if cell.run.data.reader != "rotated-mnist" or not isinstance(space, Space) or space.dim != 3:
        return None
    assert source.test is not None
    shown = select(source.test, torch.arange(min(SHOWN, len(source.test))))
    assert isinstance(shown.inputs, Tensor)
    assert isinstance(test, ImageData)
    pictures = ImageData(shown, test.preprocessing, workers=0)
    inputs = torch.stack([pictures[index][0] for index in range(len(pictures))])
    device = next(run.network.parameters()).device
    points = space.project(run.network.eval()(inputs.to(device))).cpu()
    small = torch.nn.functional.adaptive_avg_pool2d(shown.inputs.float(), SIDE).round().byte()
    prototypes = by_name(space.prototypes)
    return {
        "points": _rounded(points, 4),
        "labels": shown.targets["digit"].tolist(),
        "values": [round(value, 2) for value in shown.targets["angle"].tolist()],
        "prototypes": _rounded(prototypes["digit"].vectors, 6),
        "names": list(source.labels["digit"].names or ()),
        "side": SIDE,
        "images": base64.b64encode(small.numpy().tobytes()).decode(),
    }


def _measure_separation(cell: Cell, places: Places) -> dict[str, Any]:
    """Measure the separation of prototypes: nothing is trained."""
    names = None
    if cell.run.space.prototypes == "word2vec" and places.words is not None:
        names = read_cell_data(cell, places).labels["class"].names
    num_classes, dim = cast(int, cell.run.data.first_classes), cast(int, cell.run.space.dim)
    prototypes = cell_prototypes(cell, num_classes, dim, names, places)
    described = describe_prototypes(prototypes)
    measures = {f"separation/{name}": value for name, value in described["separation"].items()}
    words = (places.authors or Path()) / "sem" / f"cifar100-{num_classes}d-{num_classes}c.npy"
    if "prior" in str(cell.run.space.prototypes) and words.is_file():
        measures["agreement/spearman"] = rank_agreement(prototypes.vectors.numpy(), read_npy(words))
    return {"protocol": {"prototypes": described}, "measures": measures}


def rank_agreement(points: NDArray[np.float64], words: NDArray[np.float64]) -> float:
    """Return Spearman's correlation of the cosines between points with those between words."""
    pairs = ~np.eye(len(points), dtype=bool)
    units = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (points, words))
    return float(spearmanr(*((rows @ rows.T)[pairs] for rows in units)).statistic)


def _trace_output(cell: Cell, places: Places) -> dict[str, Any]:
    """Descend Equation 1 toward the first prototype, or Equation 7 toward the circle of the middle
    value.
    """
    dim, is_range = cast(int, cell.run.space.dim), cell.run.data.tasks == ("range",)
    steps, lr = cast(int, cell.run.train.epochs), cast(float, cell.run.train.lr)
    prototypes = cell_prototypes(cell, cast(int, cell.run.data.first_classes), dim, None, places)
    upper = torch.eye(dim, dtype=torch.float64)[:1]
    marks = torch.cat([upper, -upper]) if is_range else prototypes.vectors.double()
    target = 0.0 if is_range else 1.0  # r = 0 is the middle of the range
    generator = torch.Generator().manual_seed(cell.seed)
    z = torch.randn(1, dim, generator=generator, dtype=torch.float64, requires_grad=True)
    path = [normalize(z.detach())[0]]
    for _ in range(steps):
        (gradient,) = torch.autograd.grad(cosine_loss(z, marks[0], target).sum(), z)
        z = (z - lr * gradient).detach().requires_grad_(True)
        path.append(normalize(z.detach())[0])
    return {
        "protocol": {"prototypes": describe_prototypes(prototypes)},
        "measures": {
            "cosine/first": float(path[0] @ marks[0]),
            "cosine/last": float(path[-1] @ marks[0]),
        },
        "sphere": {
            "path": _rounded(torch.stack(path), 5),
            "marks": _rounded(marks, 5),
            "target": target,
        },
    }


def _rounded(values: Tensor, digits: int) -> list[list[float]]:
    return [[round(value, digits) for value in row] for row in values.tolist()]


def has_features(source: Source) -> bool:
    """Whether features have taken the place of images."""
    inputs, images = source.train.inputs, isinstance(source.preprocessing, ImagePreprocessing)
    return images and isinstance(inputs, torch.Tensor) and inputs.ndim == 2
