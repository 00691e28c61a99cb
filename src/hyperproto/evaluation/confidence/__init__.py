"""How sure an answer is: probabilities, sets and intervals with a stated coverage, and when to say "unknown".

Everything here takes cosines, probabilities or numbers as numpy arrays or torch tensors, is fitted on held-out data,
and gives numpy arrays back. Values are frozen, and plain in ``to_dict``.
"""

from hyperproto.evaluation.confidence.calibration import Calibration, ClassCalibration
from hyperproto.evaluation.confidence.concentration import Concentration
from hyperproto.evaluation.confidence.conformal import ConformalInterval, ConformalSets
from hyperproto.evaluation.confidence.outliers import OUTLIER_SCORES, outlier_score
from hyperproto.evaluation.confidence.rejection import Rejection
from hyperproto.evaluation.confidence.temperature import Temperature

__all__ = [
    "OUTLIER_SCORES",
    "Calibration",
    "ClassCalibration",
    "Concentration",
    "ConformalInterval",
    "ConformalSets",
    "Rejection",
    "Temperature",
    "outlier_score",
]
