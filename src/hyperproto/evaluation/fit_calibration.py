"""A calibration for the tasks of a space, fitted to a network's outputs on held-out data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from hyperproto._core.errors import InputError
from hyperproto.data import Batches, as_dataset
from hyperproto.evaluation.confidence.calibration import Calibration, ClassCalibration, TaskCalibration
from hyperproto.evaluation.confidence.conformal import ConformalInterval
from hyperproto.evaluation.confidence.temperature import Temperature
from hyperproto.evaluation.predictions import Answers, by_name, in_form, lengths, task_axes
from hyperproto.evaluation.sure_reports import report_intervals, report_sureness
from hyperproto.evaluation.sureness import sureness
from hyperproto.spaces import Classes, Range, Space
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training.evaluate import outputs

__all__ = ["fit_calibration", "uncalibrated"]

FEWEST = 20  # examples of which halves are compared


@dataclass(frozen=True, eq=False)
class _Outputs:
    """One task's outputs: scores (n, num_classes) or (n,), predictions, truths and lengths (n,)."""

    scores: Tensor
    predicted: Tensor
    targets: Tensor
    norms: Tensor

    def rows(self, index: Tensor) -> "_Outputs":
        return _Outputs(*(held[index] for held in (self.scores, self.predicted, self.targets, self.norms)))

    @property
    def present(self) -> Tensor:
        return ~self.targets.isnan() if self.targets.is_floating_point() else self.targets >= 0


def fit_calibration(
    network: nn.Module,
    space: TaskSpace,
    data: Any,
    *,
    coverage: float = 0.9,
    reject: float | None = None,
    method: str = "temperature",
    batch_size: int = 512,
    origin: dict[str, str] | None = None,
) -> Calibration:
    """Fit probabilities, sets, intervals and, if asked for, a threshold for unknown inputs.

    Parameters
    ----------
    network, space
        As trained.
    data : pair (inputs, targets), Arrays, ImageData or Dataset
        Held-out data: nothing that the network was trained on.
    coverage : float, default 0.9
        How often sets and intervals must hold the truth.
    reject : float, optional
        Share of known inputs that may be called unknown.
    method : {"temperature", "concentration", "concentrations"}
        A scale; one von Mises-Fisher concentration; or one for each class.
    batch_size : int, default 512
    origin : dict of str, optional
        Kept with the result.
    """
    if reject is not None and not any(isinstance(task, Classes) for task in space.tasks.values()):
        raise InputError("`reject` needs a class task; these are numbers only. Leave it out.")
    if method != "temperature" and not isinstance(space, Space):
        raise InputError(f'`method` must be "temperature" for a {type(space).__name__}; got "{method}".')
    options: dict[str, Any] = {"coverage": coverage, "reject": reject, "method": method}
    tasks: dict[str, TaskCalibration] = {}
    measures: dict[str, float] = {}
    most = 0
    for name, held in _gather(network, space, data, batch_size).items():
        there = held.rows(held.present)
        if not len(there.targets):
            raise InputError(f'Data to calibrate on must have labels for "{name}"; it has none.')
        tasks[name] = _fit(space, name, there, **options)
        most = max(most, len(there.targets))
        prefix = "" if space.bare else f"{name}/"
        measures |= {prefix + key: value for key, value in _cross_measure(space, name, there, options).items()}
    return Calibration(tasks, most, measures, origin or {})


def uncalibrated(space: TaskSpace) -> dict[str, TaskCalibration]:
    """Return the probabilities that class tasks have by themselves: the scale of their loss, or 1."""
    sphere = isinstance(space, Space)
    return {
        name: ClassCalibration(
            Temperature(float(getattr(task.loss, "scale", 1.0)) if sphere else 1.0),
            outlier="length" if sphere else "energy",
        )
        for name, task in space.tasks.items()
        if isinstance(task, Classes)
    }


@torch.no_grad()
def _gather(network: nn.Module, space: TaskSpace, data: Any, batch_size: int) -> dict[str, _Outputs]:
    parts: dict[str, list[tuple[Tensor, ...]]] = {}
    batches = Batches(as_dataset(data, name="data"), batch_size, shuffle=False)
    for z, targets in outputs(network, space, batches, Accelerator().device):
        predictions = space.predict(z)
        truth = in_form(predictions, targets)
        if truth is None:
            raise InputError("Data to calibrate on must have targets; it has none.")
        scores, true = by_name(space.scores(z)), by_name(truth)
        for name, predicted in by_name(predictions).items():
            held = (scores[name].cpu(), predicted.cpu(), true[name].cpu(), lengths(space, name, z))
            parts.setdefault(name, []).append(held)
    return {name: _Outputs(*map(torch.cat, zip(*held, strict=True))) for name, held in parts.items()}


def _fit(
    space: TaskSpace, name: str, held: _Outputs, *, coverage: float, reject: float | None, method: str
) -> TaskCalibration:
    task = space.tasks[name]
    if isinstance(task, Range):
        return ConformalInterval.fit(held.predicted, held.targets, coverage, low=task.low, high=task.high)
    axes = task_axes(space, name)
    return ClassCalibration.fit(
        held.scores,
        held.targets,
        held.norms,
        dim=axes.stop - axes.start,
        coverage=coverage,
        reject=reject,
        method=method,
        outlier="length" if isinstance(space, Space) else "energy",
    )


def _cross_measure(space: TaskSpace, name: str, held: _Outputs, options: dict[str, Any]) -> dict[str, float]:
    """Return measures of each half of the examples by a fit to the other, averaged; empty where they are few."""
    n = len(held.targets)
    if n < FEWEST:
        return {}
    order = torch.from_numpy(np.random.default_rng(0).permutation(n))
    halves = [held.rows(part) for part in order.tensor_split(2)]
    found = [
        _measure(_fit(space, name, fitted, **options), measured, uncalibrated(space).get(name))
        for fitted, measured in (halves, halves[::-1])
    ]
    return {key: (found[0][key] + found[1][key]) / 2 for key in found[0]}


def _measure(calibration: TaskCalibration, held: _Outputs, bare: TaskCalibration | None) -> dict[str, float]:
    if isinstance(calibration, ConformalInterval):
        report = report_intervals(_answers(calibration, held), calibration)
        assert report is not None
        return {"coverage": report.coverage, "width": report.width}
    sure = report_sureness(_answers(calibration, held), calibration)
    before = report_sureness(_answers(bare, held), bare) if bare is not None else None
    assert sure is not None
    assert before is not None
    found = {"ece_before": before.calibration_error, "ece": sure.calibration_error}
    found |= {"coverage": sure.coverage, "set_size": sure.set_size}
    return found | ({} if calibration.rejection is None else {"rejection": sure.rejection})


def _answers(calibration: TaskCalibration | None, held: _Outputs) -> Answers:
    assert calibration is not None
    scores = held.scores if held.scores.ndim == 2 else None
    top = held.predicted[:, None] if scores is not None else None
    return Answers(held.predicted, held.targets, **sureness(calibration, held.predicted, scores, held.norms, top))
