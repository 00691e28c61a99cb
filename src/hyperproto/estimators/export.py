"""Export an estimator: what it scales inputs by, its network, its space, and what was fitted to held-out rows."""

from pathlib import Path
from typing import Any

from hyperproto.estimators.columns import ClassColumn, choose_unknown
from hyperproto.evaluation.confidence import ConformalInterval, ConformalSets
from hyperproto.export import Exported, export_model

COVERAGES = (0.9, 0.5, 0.8, 0.95, 0.99)  # of sets and intervals that an exported model can give, the default first


def export_estimator(estimator: Any, folder: str | Path, X: Any, *, overwrite: bool) -> Exported:
    """Write a fitted estimator as a folder that predicts without torch; see ``export`` of the estimators."""
    rows, names = estimator._check_inputs(X, reset=False), getattr(estimator, "feature_names_in_", None)
    held_out, fitted = estimator.held_out_, estimator.calibrations_
    about: dict[str, dict[str, Any]] = {}
    for name, column in estimator.columns_.items():
        about[name] = known = {"classes": column.classes.tolist()} if isinstance(column, ClassColumn) else {}
        if isinstance(column, ClassColumn) and name in fitted and fitted[name].rejection is not None:
            known["unknown"] = choose_unknown(column.classes, estimator.unknown_label)
        if held_out is not None:
            known["calibrated"] = True
            known["sets" if name in fitted else "intervals"] = [
                {key: value for key, value in part.to_dict().items() if key != "kind"}
                for part in (_conformal(fitted.get(name), held_out[name], coverage) for coverage in COVERAGES)
            ]
    return export_model(
        folder,
        estimator.network_,
        estimator.space_,
        rows,
        preprocessing=estimator.inputs_,
        encoder=estimator.encoder_,
        columns=None if names is None or estimator.encoder_ is not None else tuple(map(str, names)),
        calibrations={} if held_out is None else {name: task.to_dict() for name, task in fitted.items()},
        about=about,
        bare=estimator.flat_,
        overwrite=overwrite,
    )


def _conformal(model: Any, rows: Any, coverage: float) -> ConformalSets | ConformalInterval:
    """Return what a coverage asks for: sets where probabilities have a model, else intervals."""
    if model is None:
        return ConformalInterval.fit(rows.scores, rows.targets, coverage)
    return ConformalSets.fit(model.probabilities(rows.scores), rows.targets, coverage)
