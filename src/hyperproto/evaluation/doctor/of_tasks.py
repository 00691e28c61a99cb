"""Findings about what was asked: too few dimensions, targets at a bound, and what was learned by heart."""

import torch

from hyperproto.evaluation.doctor.finding import Finding, Severity
from hyperproto.evaluation.doctor.seen import Part, Seen
from hyperproto.prototypes.suggest import separation_bound
from hyperproto.spaces import Classes, Range, Space
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training.run import class_prototypes

__all__ = ["dimension_too_small", "piled_targets", "train_test_gap"]

# Tables 1 and 3 of the paper: of 65 % with 100 classes 63 are left in 25 dimensions, where 0.07 is possible; 51 in 10
# (0.28), 29 in 5 (0.64) and 6 in 3 (0.93)
LIMITS: dict[Severity, float] = {"error": 0.8, "warning": 0.5, "note": 0.25}
WISHED = 0.1
LOOSE = 0.2  # how far above what is possible a placement may lie
PILED, ACCURACY_GAP, ERROR_GAP = 0.1, 0.15, 0.05


def dimension_too_small(seen: Seen) -> list[Finding]:
    """Find prototypes so close together that outputs can hardly be told apart."""
    found = []
    for task, prototypes in class_prototypes(seen.space).items():
        held, count, dim = prototypes.certificate, prototypes.num_classes, prototypes.dim
        evidence = {"max_cosine": held.max_cosine, "bound": held.bound, "dim": float(dim), "classes": float(count)}
        about = f"{task}: the nearest of {count:,} prototypes in {dim} dimensions have cosine {held.max_cosine:.3f}"
        severity = next((name for name, limit in LIMITS.items() if held.bound > limit), None)
        if severity is not None:
            enough = _enough(count, dim)
            by_prior = ", placed by a prior" if held.meaning is not None else ""
            says = f"{about}{by_prior}, and none could do better than {held.bound:.3f}."
            advice = f"Use {enough} dimensions or more: there {WISHED} is possible."
            found.append(Finding("dimension too small", severity, says, advice, evidence | {"enough": float(enough)}))
        elif held.max_cosine > held.bound + LOOSE and held.max_cosine > LIMITS["warning"] and held.meaning is None:
            says = f"{about}; {held.bound:.3f} might be possible."
            advice = "Place them with hp.place, or in more dimensions."
            found.append(Finding("prototypes badly separated", "warning", says, advice, evidence))
    return found


def piled_targets(seen: Seen) -> list[Finding]:
    """Find numbers many of which stand at a bound or beyond it: there all of them look the same."""
    found = []
    for task, asked in _tasks(seen).items():
        for part in seen.parts[:1] if isinstance(asked, Range) else ():
            assert isinstance(asked, Range)
            values = part.targets[task].double()
            values = values[~values.isnan()]
            slack = 1e-6 * (asked.high - asked.low)
            low = float((values <= asked.low + slack).double().mean()) if len(values) else 0.0
            high = float((values >= asked.high - slack).double().mean()) if len(values) else 0.0
            if max(low, high) <= PILED:
                continue
            found.append(
                Finding(
                    "targets at a bound",
                    "warning",
                    f"{task}: {100 * low:.0f} % of the {part.name} values stand at or below {asked.low:g}, "
                    f"{100 * high:.0f} % at or above {asked.high:g}.",
                    "Widen the range to hold all values, give it a margin such as 0.1, or take logarithms of values "
                    "that are mostly small; if the bound is a limit of the instrument, those values are not known.",
                    {"at_low": low, "at_high": high, "low": asked.low, "high": asked.high},
                )
            )
    return found


def train_test_gap(seen: Seen) -> list[Finding]:
    """Find a network that is much better on what it was trained on."""
    if len(seen.parts) < 2:
        return []
    found = []
    for task, asked in _tasks(seen).items():
        train, test = (_score(part, task, asked) for part in seen.parts[:2])
        classes = isinstance(asked, Classes)
        span = 1.0 if isinstance(asked, Classes) else asked.high - asked.low
        worse = train - test if classes else test - train
        far = worse > ACCURACY_GAP if classes else worse > ERROR_GAP * span and test > 2 * train
        if not far:
            continue
        kind, numbers = ("accuracy", f"{100 * train:.1f} and {100 * test:.1f} %") if classes else (
            "mean error", f"{train:.4g} and {test:.4g}"
        )  # fmt: skip
        found.append(
            Finding(
                "train/test gap",
                "warning",
                f"{task}: the {kind} on train and test data is {numbers}.",
                "Augment images, raise weight_decay, take a smaller network or more data, or take the best epoch.",
                {"train": train, "test": test},
            )
        )
    return found


def _enough(num_classes: int, dim: int) -> int:
    """Return the smallest dimension in which ``WISHED`` is not ruled out."""
    low, high = dim + 1, max(num_classes, dim + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if separation_bound(num_classes, middle) <= WISHED else (middle + 1, high)
    return low


def _tasks(seen: Seen) -> dict[str, Classes | Range]:
    return seen.space.tasks if isinstance(seen.space, TaskSpace | Space) else {}


def _score(part: Part, task: str, asked: Classes | Range) -> float:
    """Return the accuracy or the mean absolute error over the labels that are there; NaN where there are none."""
    predicted, targets = part.predicted[task], part.targets[task]
    present = asked.present(targets)
    if isinstance(asked, Classes):
        return float((predicted == targets)[present].double().mean())
    return float((predicted.double() - targets.double())[present].abs().nan_to_num(torch.inf).mean())
