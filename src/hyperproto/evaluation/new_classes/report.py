"""What a change of the classes did: to the old ones, before and after, and for the new ones."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from hyperproto._core.files import plain
from hyperproto.training import Run

__all__ = ["Changed", "ClassChange"]


@dataclass(frozen=True)
class ClassChange:
    """How good a model was before its classes changed, and how good it is now.

    Attributes
    ----------
    how : {"mean", "train", "prior", "remove", "rename"}
        What was done.
    classes : tuple of str or int
        The classes that came, went, or have other names now.
    num_classes : int
        How many there are now.
    old_before, old_after : float or None
        Accuracy on examples of the classes that were there and still are: among the classes of then, and among those
        of now. None where there were no examples to measure it on.
    new_accuracy : float or None
        Accuracy on examples of new classes, among all classes.
    old_examples, new_examples : int
        How many examples that was.
    max_cosine_before, max_cosine : float
        The separation of the prototypes then and now: the largest cosine of two.
    remarks : tuple of str
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
    remarks: tuple[str, ...] = ()

    @property
    def lost(self) -> float | None:
        """How much accuracy the old classes lost; negative where they gained."""
        return None if self.old_before is None or self.old_after is None else self.old_before - self.old_after

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        held: dict[str, Any] = plain(asdict(self))
        return held

    def __str__(self) -> str:
        said = [f"{self.how}: {len(self.classes)} classes, now {self.num_classes} in all."]
        if self.old_before is not None and self.old_after is not None:
            said.append(
                f"Old classes: {100 * self.old_before:.1f} % before, {100 * self.old_after:.1f} % now "
                f"({self.old_examples} examples)."
            )
        if self.new_accuracy is not None:
            said.append(f"New classes: {100 * self.new_accuracy:.1f} % ({self.new_examples} examples).")
        said.append(f"Maximum cosine: {self.max_cosine_before:.4f} before, {self.max_cosine:.4f} now.")
        return " ".join([*said, *self.remarks])


class Changed(NamedTuple):
    """A run with other classes, and what that did."""

    run: Run
    report: ClassChange
