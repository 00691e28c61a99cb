"""An estimator as a folder of JSON and safetensors, and back: nothing in it is executed.

``estimator.json`` holds parameters, columns and calibration; ``last.safetensors`` the weights;
``prototypes.*`` the prototypes. Where there are any, ``held_out.safetensors`` holds the outputs for
held-out rows, and ``replay.safetensors`` the examples that were kept.
"""

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hyperproto._core.checks import choose
from hyperproto._core.errors import HyperprotoError, InputError, arg
from hyperproto._core.files import plain, read_json, versions, write_json
from hyperproto._core.folders import filling, former_files, whole
from hyperproto._core.schema import check_format, read_plain
from hyperproto.data import Split, Standardizer
from hyperproto.data.preprocessing import is_sparse, parts_of, sparse_rows
from hyperproto.estimators.base import SphereEstimator
from hyperproto.evaluation.confidence import TaskCalibration
from hyperproto.evaluation.confidence.calibration import TaskOutputs
from hyperproto.losses import LOSSES, get_loss
from hyperproto.models import Backbone
from hyperproto.runtime.tables import TableEncoder
from hyperproto.spaces import Space
from hyperproto.spec import ResolvedSettings
from hyperproto.tasks import Task, indexed, task_from_dict
from hyperproto.training.checkpoint import fill_weights, read_tensors, weights_of, write_tensors
from hyperproto.training.folder import prototype_files
from hyperproto.training.load import stored_network, stored_space
from hyperproto.training.run import EpochRecord

FORMAT = "hyperproto.estimator/3"
SPARSE = ("inputs.starts", "inputs.columns", "inputs.values")
HELD_OUT, REPLAY, OUTPUTS = (
    "held_out.safetensors",
    "replay.safetensors",
    ("scores", "targets", "strengths"),
)
CLOSING = "estimator.json"  # makes a folder an estimator


@dataclass(frozen=True)
class Features:
    """How many columns inputs have, and their names in a DataFrame."""

    count: int
    names: tuple[str, ...] | None

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != self.count:
            raise InputError("names", f"be those of {self.count} columns", len(self.names))


@dataclass(frozen=True)
class Description:
    """The parts of ``estimator.json``."""

    params: dict[str, Any]
    features: Features
    inputs: Standardizer
    encoder: TableEncoder | None
    network: dict[str, Any]
    precision: str
    space: dict[str, Any]
    calibrations: tuple[TaskCalibration, ...]
    flat: bool
    settings: dict[str, Any]
    history: tuple[EpochRecord, ...]


def save_estimator(
    estimator: SphereEstimator, folder: str | Path, *, overwrite: bool = False
) -> None:
    """Write a fitted estimator into a folder that is new or empty.

    With ``overwrite`` there may be another estimator, which stays as it is until the new one is
    written.
    """
    described = _describe(estimator)

    def names(stored: dict[str, Any]) -> list[str]:
        count = sum("classes" in task for task in stored["space"]["tasks"])
        prototypes = [f"prototypes.{index}.safetensors" for index in range(count)]
        return [CLOSING, "last.safetensors", HELD_OUT, REPLAY, *prototypes] if overwrite else []

    names_of = partial(former_files, form="hyperproto.estimator/", names=names)
    with filling(folder, CLOSING, names_of) as place:
        _write(estimator, described, place)


def _write(estimator: SphereEstimator, described: dict[str, Any], place: Path) -> None:
    for path, prototypes in prototype_files(place, estimator.space_).items():
        prototypes.save(path)
    write_tensors(
        place / "last.safetensors", weights_of(estimator.network_, estimator.space_), format=FORMAT
    )
    if estimator.held_out_ is not None:
        numbered = enumerate(estimator.held_out_.values())  # a column's name may be anything
        stored = {
            f"{part}.{index}": getattr(rows, part) for index, rows in numbered for part in OUTPUTS
        }
        tensors = {
            name: torch.from_numpy(np.array(value, order="C")) for name, value in stored.items()
        }
        write_tensors(place / HELD_OUT, tensors, format=FORMAT)
    if estimator.replay_ is not None:
        kept = {
            f"targets.{index}": ids for index, ids in enumerate(estimator.replay_.targets.values())
        }
        inputs = estimator.replay_.inputs
        if is_sparse(inputs):
            kept |= zip(SPARSE, parts_of(inputs), strict=True)
        else:
            kept["inputs"] = torch.as_tensor(inputs)
        write_tensors(place / REPLAY, kept, format=FORMAT)
    write_json(place / CLOSING, described)


def _describe(estimator: SphereEstimator) -> dict[str, Any]:
    network = estimator.network_
    if not isinstance(network, Backbone):
        advice = (
            "Use pickle or joblib, or a name of hyperproto.models.create_backbone for "
            f"{arg('backbone')}."
        )
        raise InputError(
            "The network", "be one of hyperproto.models to be saved", type(network).__name__, advice
        )
    for task in indexed(estimator.targets_).values():
        task.check_can_store()
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "class": type(estimator).__name__,
        "params": {
            name: _to_plain(name, value) for name, value in estimator.get_params(deep=False).items()
        },
        "features": {
            "count": estimator.n_features_in_,
            "names": None if names is None else list(names),
        },
        "inputs": asdict(estimator.inputs_),
        "encoder": None if estimator.encoder_ is None else asdict(estimator.encoder_),
        "network": {"name": network.name, **network.config},
        "precision": str(next(network.parameters()).dtype).removeprefix("torch."),
        "space": estimator.space_.to_dict(),
        "calibrations": [plain(asdict(fitted)) for fitted in estimator.calibrations_.values()],
        "flat": estimator.flat_,
        "settings": estimator.settings_.to_dict(),
        "history": estimator.history_,
        "versions": versions("scikit-learn"),
    }


def load_estimator(folder: str | Path) -> SphereEstimator:
    """Give back an estimator that was saved, ready to predict."""
    # here, since these store themselves with this module
    from hyperproto.estimators import (
        HypersphericalClassifier,
        HypersphericalMultiTask,
        HypersphericalRegressor,
    )

    kinds = HypersphericalClassifier, HypersphericalRegressor, HypersphericalMultiTask
    folder = whole(folder)
    stored = read_json(folder / CLOSING)
    check_format(stored, FORMAT, f'"{folder}"', "an estimator")
    about = read_plain(Description, stored, f'"{folder / CLOSING}"')
    try:
        params = {name: _from_plain(value) for name, value in about.params.items()}
        kind = choose(stored["class"], {kind.__name__: kind for kind in kinds}, what="estimator")
        estimator = kind(**params)
        estimator.history_ = list(stored["history"])
        _refill(estimator, about, folder)
    except HyperprotoError:
        raise
    except (AttributeError, LookupError, ArithmeticError, TypeError, ValueError) as error:
        got, advice = f"{type(error).__name__}: {error}", "It may have been edited."
        raise InputError(f'"{folder / CLOSING}"', "describe an estimator", got, advice) from None
    return estimator


def _refill(estimator: SphereEstimator, about: Description, folder: Path) -> None:
    """Set what ``fit`` sets."""
    estimator.n_features_in_, names = about.features.count, about.features.names
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    width = about.features.count if about.encoder is None else len(about.encoder.outputs)
    estimator.inputs_, estimator.encoder_ = about.inputs.check_width(width), about.encoder
    estimator.flat_ = about.flat
    space = stored_space(about.space, folder)
    if not isinstance(space, Space):
        raise InputError(f'The space of "{folder}"', "be a sphere", type(space).__name__)
    estimator.targets_ = space.tasks
    dtype = choose(
        about.precision, {"float32": torch.float32, "float64": torch.float64}, what="precision"
    )
    network = stored_network(about.network, folder).to(dtype)
    fill_weights(network, space, read_tensors(folder / "last.safetensors"))
    estimator.network_, estimator.space_ = network.eval(), space
    estimator.settings_ = ResolvedSettings.from_dict(about.settings)
    estimator.n_iter_, estimator.loss_ = len(about.history), about.history[-1].loss
    estimator.held_out_ = _read_held_out(folder / HELD_OUT, estimator.targets_)
    estimator.replay_ = _read_replay(
        folder / REPLAY, estimator.targets_, about.inputs.out_width(width)
    )
    estimator.calibrations_ = (
        dict(zip(estimator._class_columns, about.calibrations, strict=True))
        if about.calibrations
        else {}
    )


def _read_held_out(path: Path, columns: dict[str, Task]) -> dict[str, TaskOutputs] | None:
    """Return what was said about held-out rows, None where none were held out."""
    if not path.is_file():
        return None
    stored, held_out = read_tensors(path), {}
    for index, (name, column) in enumerate(columns.items()):
        rows = TaskOutputs(*(stored[f"{part}.{index}"].numpy() for part in OUTPUTS))
        _check_targets(torch.from_numpy(rows.targets), len(rows.scores), column)
        held_out[name] = rows
    return held_out


def _read_replay(path: Path, columns: dict[str, Task], width: int) -> Split | None:
    """Return the examples that were kept, None where none were."""
    if not path.is_file():
        return None
    stored = read_tensors(path)
    kept = {name: stored[f"targets.{index}"] for index, name in enumerate(columns)}
    if "inputs" not in stored:
        starts, places, values = (stored[part] for part in SPARSE)
        stored["inputs"] = sparse_rows(starts, places, values, width)
    inputs = stored["inputs"]
    for name, ids in kept.items():
        _check_targets(ids, len(inputs), columns[name])
    return Split(inputs, kept)


def _check_targets(targets: torch.Tensor, count: int, task: Task) -> None:
    """Raise where these are not the targets of ``count`` rows."""
    if task.reads == "mask":
        task.check_form(targets, count, "Stored targets")
    elif targets.shape != (count,):
        raise InputError("Stored targets", f"have shape ({count},)", tuple(targets.shape))
    if task.reads != "number":
        task.check(targets, "Stored targets")


def _to_plain(name: str, value: Any) -> Any:
    """Return a setting as JSON has it; dicts as pairs, since their keys may be numbers."""
    if type(value) in LOSSES.values():
        return {"loss": {"name": value.name, **vars(value)}}
    if isinstance(value, Task):
        return {"given": value.to_dict()}
    if isinstance(value, dict):
        return {
            "pairs": [[_to_plain(name, key), _to_plain(name, item)] for key, item in value.items()]
        }
    if isinstance(value, list | tuple):
        return [_to_plain(name, item) for item in value]
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError):
        if name == "random_state":
            return None  # a generator has moved on since
        rule = "be a number, a string or a list of those to be saved"
        raise InputError(name, rule, repr(value), "Use pickle or joblib.") from None
    return plain


def _from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_plain(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "given" in value:
        return task_from_dict(value["given"])
    return get_loss(**value["loss"]) if "loss" in value else dict(_from_plain(value["pairs"]))
