"""Findings in the outputs of a sphere: none, or all in one place, or in one corner of it."""

import torch
from torch import Tensor

from hyperproto.evaluation.doctor.finding import Finding
from hyperproto.evaluation.doctor.seen import Part, Seen
from hyperproto.spaces import Classes, Space
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.sphere import normalize

__all__ = ["collapsed_outputs", "never_predicted", "relu_before_sphere", "zero_norms"]

FEWEST = 8  # outputs to speak of all of them
TOGETHER = 0.95  # length of the mean of unit outputs
SUPPORT = 5  # examples of a class that is never predicted
NAMED = 5


def zero_norms(seen: Seen) -> list[Finding]:
    """Find outputs that point nowhere."""
    found = []
    for part in _parts(seen):
        finite = part.z.isfinite().all(dim=1)
        zero = part.z.abs().amax(dim=1) <= torch.finfo(part.z.dtype).tiny
        count, broken = int((zero & finite).sum()), int((~finite).sum())
        if not count and not broken:
            continue
        found.append(
            Finding(
                "zero norms",
                "error",
                f"Of {len(part.z):,} {part.name} outputs {count:,} are zero and {broken:,} not finite: "
                "they point nowhere and have no prediction.",
                "Remove the ReLU after the last layer, give that layer a bias, and look for NaN in the inputs.",
                {"zero": float(count), "not_finite": float(broken), "outputs": float(len(part.z))},
            )
        )
    return found[:1]


def relu_before_sphere(seen: Seen) -> list[Finding]:
    """Find outputs that are nowhere negative: of 2^dim corners of the sphere they reach one."""
    for part in _parts(seen):
        z = part.z[part.z.isfinite().all(dim=1)]
        if len(z) < FEWEST or float(z.min()) < 0:
            continue
        zeros = float((z == 0).double().mean())
        return [
            Finding(
                "a ReLU before the sphere",
                "error",
                f"None of {z.numel():,} numbers the network put out is negative ({100 * zeros:.0f} % are exactly 0), "
                "so most prototypes cannot be reached.",
                "Let the network end in a linear layer, without ReLU, softmax or sigmoid.",
                {"least": float(z.min()), "share_zero": zeros, "outputs": float(len(z))},
            )
        ]
    return []


def collapsed_outputs(seen: Seen) -> list[Finding]:
    """Find outputs that all lie in one direction, or predictions that are all one class."""
    for part in _parts(seen):
        usable = part.z[part.z.isfinite().all(dim=1)]
        if len(usable) < FEWEST or not _differ(part):
            continue
        length = float(normalize(usable.double()).mean(dim=0).norm())
        one = [task for task, ids in _class_answers(seen, part).items() if len(torch.unique(ids[ids >= 0])) == 1]
        if length < TOGETHER and not one:
            continue
        where = f"; every prediction of {one[0]} is the same class" if one else ""
        return [
            Finding(
                "collapsed outputs",
                "error",
                f"The mean of {len(usable):,} unit outputs has length {length:.3f}; 1 is all in one place{where}.",
                "Lower the learning rate, check that inputs are scaled and differ, and that labels belong to them; "
                "with few examples of most classes give class weights.",
                {"mean_length": length, "one_class": float(bool(one)), "outputs": float(len(usable))},
            )
        ]
    return []


def never_predicted(seen: Seen) -> list[Finding]:
    """Find classes with examples that no example is taken for."""
    found = []
    assert isinstance(seen.space, TaskSpace)
    for part in seen.parts[:1]:
        for task, ids in _class_answers(seen, part).items():
            labels, classes = part.targets[task], seen.space.tasks[task]
            assert isinstance(classes, Classes)
            support = torch.bincount(labels[labels >= 0].long(), minlength=classes.num_classes)
            answers = torch.bincount(ids[ids >= 0], minlength=classes.num_classes)
            silent = ((support >= SUPPORT) & (answers == 0)).nonzero().flatten()
            if not len(silent):
                continue
            names = ", ".join(str(name) for name in classes.decode(silent[:NAMED]))
            more = ", ..." if len(silent) > NAMED else ""
            found.append(
                Finding(
                    "classes never predicted",
                    "warning",
                    f"{task}: {len(silent):,} of {int((support > 0).sum()):,} classes are never predicted on the "
                    f"{part.name} part: {names}{more}.",
                    "Train longer, give class weights where they have few examples, and check their labels.",
                    {"classes": float(len(silent)), "seen": float((support > 0).sum())},
                )
            )
    return found


def _parts(seen: Seen) -> tuple[Part, ...]:
    """Return what there is of a sphere; of other spaces the direction says nothing."""
    return seen.parts if isinstance(seen.space, Space) else ()


def _differ(part: Part) -> bool:
    """Return whether outputs have reason to differ at all."""
    return any(len(torch.unique(held[~held.isnan()])) > 1 for held in part.targets.values())


def _class_answers(seen: Seen, part: Part) -> dict[str, Tensor]:
    assert isinstance(seen.space, TaskSpace)
    return {task: part.predicted[task] for task, asked in seen.space.tasks.items() if isinstance(asked, Classes)}
