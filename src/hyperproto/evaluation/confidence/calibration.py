"""Everything that was fitted on held-out data, task by task, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from hyperproto._core.arrays import Numbers, Values, labelled, to_labels, to_numbers
from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose
from hyperproto.evaluation.confidence.concentration import Concentration
from hyperproto.evaluation.confidence.conformal import ConformalInterval, ConformalSets
from hyperproto.evaluation.confidence.fields import get_field
from hyperproto.evaluation.confidence.outliers import OUTLIER_SCORES, outlier_score
from hyperproto.evaluation.confidence.rejection import Rejection
from hyperproto.evaluation.confidence.temperature import Temperature

__all__ = ["METHODS", "Calibration", "ClassCalibration", "TaskCalibration"]

FORMAT = "hyperproto.calibration/1"
METHODS = ("temperature", "concentration", "concentrations")
"""A scale; one von Mises-Fisher concentration; or one for each class."""


@dataclass(frozen=True)
class ClassCalibration:
    """A class task: probabilities and, where they were asked for, sets and a threshold for unknown inputs.

    Parameters
    ----------
    model : Temperature or Concentration
    sets : ConformalSets, optional
    rejection : Rejection, optional
    outlier : str, default "length"
        Which :func:`~hyperproto.evaluation.confidence.outliers.outlier_score` the threshold is about.
    """

    model: Temperature | Concentration
    sets: ConformalSets | None = None
    rejection: Rejection | None = None
    outlier: str = "length"

    def __post_init__(self) -> None:
        choose(self.outlier, OUTLIER_SCORES, what="outlier score")

    @classmethod
    def fit(
        cls,
        cosines: Values,
        labels: Values,
        norms: Values | None = None,
        *,
        dim: int = 2,
        coverage: float | None = 0.9,
        reject: float | None = None,
        method: str = "temperature",
        outlier: str | None = None,
    ) -> Self:
        """Fit everything on the same held-out examples.

        Parameters
        ----------
        cosines : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        norms : array, shape (n,), optional
            Lengths of the outputs.
        dim : int
            Axes that the task reads; only concentrations need it.
        coverage : float, optional
            Of prediction sets; None fits none.
        reject : float, optional
            Share of known inputs that may be called unknown; None fits no threshold.
        method : {"temperature", "concentration", "concentrations"}
            A scale; one von Mises-Fisher concentration; or one for each class.
        outlier : str, optional
            As ``kind`` of :func:`~hyperproto.evaluation.confidence.outliers.outlier_score`.
        """
        choose(method, dict.fromkeys(METHODS), what="method of calibration")
        array, ids = labelled(cosines, labels, "cosines")
        model: Temperature | Concentration
        if method == "temperature":
            model = Temperature.fit(array, ids)
        else:
            model = Concentration.fit(array, ids, dim, per_class=method == "concentrations")
        sets = None if coverage is None else ConformalSets.fit(model.probabilities(array), ids, coverage)
        bare = cls(model, sets, None, outlier or ("cosine" if norms is None else "length"))
        if reject is None:
            return bare
        present = to_labels(labels, len(np.asarray(labels)), array.shape[1]) >= 0
        lengths = None if norms is None else to_numbers(norms, "norms", ndim=1)[present]
        return cls(model, sets, Rejection.fit(bare.outliers(array, lengths), reject), bare.outlier)

    def probabilities(self, cosines: Values) -> Numbers:
        """Return one probability per class, shape (n, num_classes)."""
        return self.model.probabilities(cosines)

    def outliers(self, cosines: Values, norms: Values | None = None) -> Numbers:
        """Return how strange each input looks, shape (n,)."""
        model = self.model
        scale = model.scale if isinstance(model, Temperature) else model.scale * float(np.mean(model.kappas))
        return outlier_score(cosines, norms, kind=self.outlier, scale=scale)

    def accept(self, cosines: Values, norms: Values | None = None) -> npt.NDArray[np.bool_]:
        """Return which inputs look known, shape (n,); all of them where no threshold was fitted."""
        scores = self.outliers(cosines, norms)
        return np.ones(len(scores), dtype=bool) if self.rejection is None else self.rejection.accept(scores)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "kind": "classes",
            "model": self.model.to_dict(),
            "sets": None if self.sets is None else self.sets.to_dict(),
            "rejection": None if self.rejection is None else self.rejection.to_dict(),
            "outlier": self.outlier,
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        described, sets, rejection, outlier = (
            get_field(held, key, "calibration") for key in ("model", "sets", "rejection", "outlier")
        )
        models: dict[str, type[Temperature | Concentration]] = {
            "temperature": Temperature,
            "concentration": Concentration,
        }
        model = choose(get_field(described, "kind", "model"), models, what="kind of model").from_dict(described)
        return cls(
            model,
            None if sets is None else ConformalSets.from_dict(sets),
            None if rejection is None else Rejection.from_dict(rejection),
            outlier,
        )


TaskCalibration: TypeAlias = ClassCalibration | ConformalInterval


@dataclass(frozen=True)
class Calibration:
    """What was fitted on held-out data, and how well it does on data that it was not fitted on.

    Attributes
    ----------
    tasks : dict of ClassCalibration or ConformalInterval
        By task; one unnamed task is called "target".
    examples : int
        How many were fitted on.
    measures : dict of float
        Each half of the examples measured by a fit to the other half: calibration error before and after, coverage,
        size of sets, width of intervals, share of known inputs rejected.
    origin : dict of str
        Which data, which part, which weights.
    """

    tasks: dict[str, TaskCalibration]
    examples: int
    measures: dict[str, float] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_integer(self.examples, "examples", at_least=1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "format": FORMAT,
            "origin": dict(self.origin),
            "examples": self.examples,
            "measures": dict(self.measures),
            "tasks": {name: task.to_dict() for name, task in self.tasks.items()},
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described; of another format, say so."""
        found = get_field(held, "format", "calibration")
        if found != FORMAT:
            raise InputError(f"A calibration must be of format {FORMAT}; it says {found}. Calibrate the run again.")
        tasks, examples, measures, origin = (
            get_field(held, key, "calibration") for key in ("tasks", "examples", "measures", "origin")
        )
        if not all(isinstance(part, Mapping) for part in (tasks, measures, origin)):
            raise InputTypeError("A calibration must hold its tasks, measures and origin by name. Calibrate again.")
        kinds: dict[str, Any] = {"classes": ClassCalibration, "conformal_interval": ConformalInterval}
        read = {
            str(name): choose(get_field(task, "kind", "calibration"), kinds, what="kind of task").from_dict(task)
            for name, task in tasks.items()
        }
        return cls(read, examples, {key: value for key, value in measures.items() if value is not None}, dict(origin))
