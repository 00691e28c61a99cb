"""What a fitted estimator says about rows it did not learn from: what its confidence is measured on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperproto.estimators.learning import outputs_of, rows_of
from hyperproto.evaluation.confidence import Temperature
from hyperproto.metrics import expected_calibration_error

if TYPE_CHECKING:
    from hyperproto.estimators.base import SphereEstimator

__all__ = ["Held"]

FEWEST = 20  # rows of which halves are compared


@dataclass(frozen=True, eq=False)
class Held:
    """Cosines and answers for held-out rows, by column.

    Attributes
    ----------
    scores : dict of arrays, shape (m, num_classes) for classes, (m,) for numbers
        For classes the cosines, for numbers the predictions themselves.
    targets : dict of arrays, shape (m,)
        Class ids, or the true numbers.
    norms : array, shape (m,)
        Lengths of the outputs.
    """

    scores: dict[str, NDArray[Any]]
    targets: dict[str, NDArray[Any]]
    norms: NDArray[Any]

    @classmethod
    @torch.no_grad()
    def measure(
        cls, estimator: "SphereEstimator", inputs: Tensor, targets: dict[str, Tensor], rows: NDArray[Any]
    ) -> Self:
        """Ask a trained network about the rows that were held out."""
        some, true = rows_of(inputs, targets, rows)
        z = outputs_of(estimator.network_, some)
        scores: Any = estimator.space_.scores(z)
        answers: Any = estimator.space_.predict(z)
        named = {
            name: (answer if answer.is_floating_point() else scores[name]).cpu().numpy()
            for name, answer in answers.items()
        }
        return cls(named, {name: target.numpy() for name, target in true.items()}, z.norm(dim=1).cpu().numpy())

    def calibration_error(self, name: str) -> float | None:
        """Return the expected calibration error of a column, each half by a fit to the other; None of few rows.

        Rows that a temperature was fitted on would flatter it.
        """
        cosines, labels = self.scores[name], self.targets[name]
        if len(labels) < FEWEST:
            return None
        halves = np.array_split(np.random.default_rng(0).permutation(len(labels)), 2)
        found = []
        for fitted, measured in (halves, halves[::-1]):
            probabilities = Temperature.fit(cosines[fitted], labels[fitted]).probabilities(cosines[measured])
            found.append(expected_calibration_error(probabilities, labels[measured]))
        return float(np.mean(found))

    def to_tensors(self) -> dict[str, Tensor]:
        """Return tensors for a file, numbered by column: a name may be anything."""
        tensors = {"norms": torch.from_numpy(np.ascontiguousarray(self.norms))}
        for index, name in enumerate(self.scores):
            tensors[f"scores.{index}"] = torch.from_numpy(np.ascontiguousarray(self.scores[name]))
            tensors[f"targets.{index}"] = torch.from_numpy(np.ascontiguousarray(self.targets[name]))
        return tensors

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], names: list[str]) -> Self:
        """Rebuild from :meth:`to_tensors` and the columns' names in order."""
        scores = {name: tensors[f"scores.{index}"].numpy() for index, name in enumerate(names)}
        targets = {name: tensors[f"targets.{index}"].numpy() for index, name in enumerate(names)}
        return cls(scores, targets, tensors["norms"].numpy())
