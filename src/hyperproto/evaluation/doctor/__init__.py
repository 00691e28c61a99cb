"""What goes wrong in practice, found in a stored run."""

from hyperproto.evaluation.doctor.examine import examination_of, examine_run
from hyperproto.evaluation.doctor.finding import Examination, Finding

__all__ = ["Examination", "Finding", "examination_of", "examine_run"]
