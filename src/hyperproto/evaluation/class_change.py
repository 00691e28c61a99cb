"""What a change of classes did to a trained model: how good it was before, and
how good it is now.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from hyperproto._core.checks import names_or_numbers
from hyperproto._core.files import Plain, plain, write_json
from hyperproto.data.source import Split
from hyperproto.evaluation.class_examples import NEW_CLASSES, SphereRun, store_model
from hyperproto.prototypes import Prototypes
from hyperproto.training import Run
from hyperproto.training.outputs import evaluate

FORMAT = "hyperproto.class_change/1"
NOTABLE = 0.01  # loss of accuracy: one point


@dataclass(frozen=True)
class ClassChange:
    """How good a model was before its classes changed, and how good it is now.

    Attributes
    ----------
    how : {"mean", "train", "prior", "remove", "rename"}
        What was done.
    classes : tuple of str or int
        The classes that were added, removed, or renamed (by their new names).
    num_classes : int
        How many there are now.
    old_before, old_after : float or None
        Accuracy on examples of the classes that were there and still are: among the classes of
        then, and among those of now. None where there were no examples to measure it on.
    new_accuracy : float or None
        Accuracy on examples of new classes, among all classes.
    old_examples, new_examples : int
        How many examples that was.
    max_cosine_before, max_cosine : float
        The separation of the prototypes then and now: the largest cosine of two.
    notes : tuple of str
        What one should know, one sentence each; a loss of more than a point comes first.
    """

    how: str
    classes: tuple[str | int, ...]
    num_classes: int
    old_before: float | None
    old_after: float | None
    new_accuracy: float | None
    old_examples: int
    new_examples: int
    max_cosine_before: float
    max_cosine: float
    notes: tuple[str, ...] = ()

    @property
    def lost(self) -> float | None:
        """How much accuracy the old classes lost; negative where they gained."""
        if self.old_before is None or self.old_after is None:
            return None
        return self.old_before - self.old_after

    def to_dict(self) -> Plain:
        """Return plain values for JSON."""
        return plain({"format": FORMAT, **asdict(self)})

    def __str__(self) -> str:
        parts = [f"{self.how}: {len(self.classes)} classes, now {self.num_classes} in all."]
        if self.lost is not None:
            parts.append(f"Old classes: {self._old} ({self.old_examples} examples).")
        if self.new_accuracy is not None:
            new = f"{100 * self.new_accuracy:.1f} % ({self.new_examples} examples)"
            parts.append(f"New classes: {new}.")
        cosines = f"{self.max_cosine_before:.4f} before, {self.max_cosine:.4f} now"
        return " ".join([*parts, f"Maximum cosine: {cosines}.", *self.notes])

    @property
    def _old(self) -> str:
        """The accuracy of the old classes, then and now."""
        return (
            f"{100 * (self.old_before or 0):.1f} % before, {100 * (self.old_after or 0):.1f} % now"
        )

    def findings(self) -> Iterator[str]:
        """Yield what the old classes lost, where it is notable or not known, and that new ones were
        not learned.
        """
        if self.lost is None and self.how != "rename":
            yield "What the old classes lost is not measured: pass examples of them as old_valid."
        if self.lost is not None and self.lost > NOTABLE:
            yield f"The old classes lost {100 * self.lost:.1f} points of accuracy: {self._old}."
        if self.how == "train" and self.new_accuracy is not None and self.new_accuracy < 0.5:
            right = f"{100 * self.new_accuracy:.1f} %"
            yield f"The new classes are right in {right} only. Train longer or at a higher rate."


class Changed(NamedTuple):
    """A run with other classes, and what that did."""

    run: Run
    report: ClassChange


def report_change(
    how: str,
    classes: tuple[str | int, ...],
    model: SphereRun,
    changed: SphereRun,
    old_data: tuple[Split | None, Split | None] = (None, None),
    new_data: Split | None = None,
    notes: Sequence[str] = (),
) -> Changed:
    """Compare a model before and after, on examples of old classes (with ids of then and now) and
    of new ones.

    The report is stored where the changed run has a folder.
    """
    old_before, old_examples = _accuracy(model, old_data[0])
    old_after, _ = _accuracy(changed, old_data[1])
    new_accuracy, new_examples = _accuracy(changed, new_data)
    before, placed = model.placed, changed.placed
    report = ClassChange(
        how=how,
        classes=classes,
        num_classes=placed.num_classes,
        old_before=old_before,
        old_after=old_after,
        new_accuracy=new_accuracy,
        old_examples=old_examples,
        new_examples=new_examples,
        max_cosine_before=before.certificate.max_cosine,
        max_cosine=placed.certificate.max_cosine,
    )
    report = replace(
        report, notes=(*report.findings(), *notes, *_nearest(before.num_classes, placed))
    )
    folder = changed.run.folder
    if folder is not None and how == "train":
        write_json(folder / NEW_CLASSES, report.to_dict())
    elif folder is not None:
        store_model(changed.run, model.run, report.to_dict())
    if report.lost is not None and report.lost > NOTABLE:
        # at whoever called the public function
        warnings.warn(report.notes[0], UserWarning, stacklevel=3)
    return Changed(changed.run, report)


def _accuracy(model: SphereRun, data: Split | None) -> tuple[float | None, int]:
    """Return the accuracy of the task and the number of labels that are there; None where there are
    none.
    """
    count = 0 if data is None else int((data.targets[model.task] >= 0).sum())
    if data is None or not count:
        return None, 0
    measures = evaluate(model.run.network, model.space, (data.inputs, data.targets))
    return measures[model.space.metric_name(model.task, "accuracy")], count


def _nearest(old: int, placed: Prototypes) -> Iterator[str]:
    """Say which new class is nearest to an old one; the first ``old`` classes are the old ones."""
    if placed.num_classes > old:
        cosines = placed.vectors[old:] @ placed.vectors[:old].T
        new, near = divmod(int(cosines.argmax()), old)
        names = names_or_numbers(placed.names, placed.num_classes)
        yield (
            f'"{names[old + new]}" is nearest to an old class, "{names[near]}" '
            f"(cosine {cosines.max():.3f})."
        )
