"""Old classes before and after, and new ones, measured."""

import warnings

from torch import nn

from hyperproto.data import Arrays
from hyperproto.evaluation.new_classes.models import Model
from hyperproto.evaluation.new_classes.report import ClassChange
from hyperproto.evaluation.new_classes.spaces import class_task
from hyperproto.evaluation.predict import predict_split
from hyperproto.metrics import accuracy_terms
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import Sphere
from hyperproto.training import Run
from hyperproto.training.run import class_prototypes

__all__ = ["measure_change", "remark_on_loss", "share_right", "warn_of_loss"]

NOTABLE = 0.01  # a point
UNMEASURED = "What the old classes lost is not measured: pass examples of them as old_valid=(inputs, targets)."


def measure_change(
    how: str,
    model: Model,
    made: Run,
    task: str,
    old_valid: Arrays | None,
    new_valid: Arrays | None,
    remarks: list[str],
) -> ClassChange:
    """Compare a model with one that knows more classes, on examples of old and of new ones."""
    (before, _), (now, _) = class_task(model.space, task), class_task(made.space, task)
    old_before, old_examples = share_right(model.network, before, task, old_valid)
    old_after, _ = share_right(made.network, now, task, old_valid)
    new_accuracy, new_examples = share_right(made.network, now, task, new_valid)
    then, placed = class_prototypes(before)[task], class_prototypes(now)[task]
    return ClassChange(
        how=how,
        classes=tuple(range(then.num_classes, placed.num_classes))
        if placed.names is None
        else placed.names[then.num_classes :],
        num_classes=placed.num_classes,
        old_before=old_before,
        old_after=old_after,
        new_accuracy=new_accuracy,
        old_examples=old_examples,
        new_examples=new_examples,
        max_cosine_before=then.certificate.max_cosine,
        max_cosine=placed.certificate.max_cosine,
        remarks=(
            *remark_on_loss(old_before, old_after),
            *_remark_on_new(how, new_accuracy),
            *remarks,
            _nearest(then, placed),
        ),
    )


def share_right(network: nn.Module, space: Sphere, task: str, data: Arrays | None) -> tuple[float | None, int]:
    """Return the accuracy of one task and the number of labels that are there; None where there are none."""
    if data is None:
        return None, 0
    answers = predict_split(network, space, data, top=1).tasks[task]
    assert answers.targets is not None
    right, count = accuracy_terms(answers.predicted, answers.targets)
    return (right / count if count else None), count


def remark_on_loss(before: float | None, after: float | None) -> list[str]:
    """Return a sentence where the old classes lost more than a point, or nobody knows."""
    if before is None or after is None:
        return [UNMEASURED]
    if before - after <= NOTABLE:
        return []
    return [
        f"The old classes lost {100 * (before - after):.1f} points of accuracy: {100 * before:.1f} % before, "
        f"{100 * after:.1f} % now."
    ]


def _remark_on_new(how: str, accuracy: float | None) -> list[str]:
    """Return a sentence where training left most of the new examples wrong."""
    if how != "train" or accuracy is None or accuracy >= 0.5:
        return []
    return [f"The new classes are right in {100 * accuracy:.1f} % only. Train longer (epochs=) or faster (lr=)."]


def warn_of_loss(report: ClassChange) -> None:
    """Say aloud where the old classes lost more than a point; to the caller of whoever calls this."""
    if report.lost is not None and report.lost > NOTABLE:
        warnings.warn(report.remarks[0], UserWarning, stacklevel=3)


def _nearest(old: Prototypes, placed: Prototypes) -> str:
    """Say which new class lies nearest to an old one."""
    count = old.num_classes
    cosines = placed.vectors[count:] @ placed.vectors[:count].T
    new, beside = divmod(int(cosines.argmax()), count)
    names = placed.names or tuple(map(str, range(placed.num_classes)))
    return f'"{names[count + new]}" lies nearest to an old class, "{names[beside]}" (cosine {cosines.max():.3f}).'
