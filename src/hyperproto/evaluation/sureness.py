"""How sure one batch of answers is, as far as a run's calibration can say; kept as tensors beside the answers."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperproto.evaluation.confidence.calibration import ClassCalibration, TaskCalibration
from hyperproto.evaluation.confidence.conformal import ConformalInterval

__all__ = ["sureness"]


def sureness(
    calibration: TaskCalibration, predicted: Tensor, scores: Tensor | None, norms: Tensor, top: Tensor | None
) -> dict[str, Tensor]:
    """Return what is kept of a batch beyond its answers, named as in :class:`Answers`.

    Parameters
    ----------
    calibration : ClassCalibration or ConformalInterval
    predicted : Tensor, shape (n,)
    scores : Tensor, shape (n, num_classes), or None
    norms : Tensor, shape (n,)
    top : Tensor of int64, shape (n, k), or None
    """
    if isinstance(calibration, ConformalInterval):
        return {"intervals": torch.from_numpy(calibration.intervals(predicted))}
    if scores is None or top is None:
        return {}
    return _of_classes(calibration, scores, norms, top.cpu().numpy())


def _of_classes(calibration: ClassCalibration, scores: Tensor, norms: Tensor, top: Any) -> dict[str, Tensor]:
    probabilities = calibration.probabilities(scores)
    held: dict[str, Any] = {
        "probabilities": np.take_along_axis(probabilities, top, axis=1),
        "outliers": calibration.outliers(scores, norms),
    }
    if calibration.rejection is not None:
        held["accepted"] = calibration.rejection.accept(held["outliers"])
    if calibration.sets is not None:
        inside = calibration.sets.sets(probabilities)
        order = np.argsort(-probabilities, axis=1, kind="stable")
        held["set_sizes"] = inside.sum(axis=1)
        # members row after row, the most probable first
        held["set_members"] = order[np.take_along_axis(inside, order, axis=1)]
    return {name: torch.from_numpy(np.asarray(value)) for name, value in held.items()}
