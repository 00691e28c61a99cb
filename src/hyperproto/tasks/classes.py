"""One of K classes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.checks import (
    check_finite_number,
    choose,
    parse_classes,
    unknown_choice,
)
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto.defaults import UNFITTED_SCALE
from hyperproto.tasks.task import Axes, Task, Terms, to_array

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from hyperproto._core.files import Plain
    from hyperproto.losses import ClassLoss
    from hyperproto.priors import Prior
    from hyperproto.prototypes import Prototypes
    from hyperproto.tasks.prototype_head import PrototypeHead

MISSING = -1
BALANCED = "balanced"
PLAIN = (str, int, float, bool)  # classes that JSON can hold


@dataclass(frozen=True, eq=False, init=False)
class Classes(Task):
    """A classification task: the target ``cos(z, p_y) = 1``.

    Targets are ids of shape (n,), -1 where missing, or probabilities of shape (n, num_classes), a
    row of NaN where missing. Of the latter the loss is the expected one, too.

    Parameters
    ----------
    classes : int, sequence of str, nested dict, or Prototypes
        How many classes, their names, or prototypes placed already. A dict such as ``{"travel":
        ["book", "cancel"], "bank": ["pay"]}`` is a taxonomy: its ends are the classes, and those
        that are near in it are placed nearer.
    loss : ClassLoss or str, default "auto"
        A loss of :mod:`hyperproto.losses` or its name. "paper" is Equation 1; "auto" is chosen for
        the number of classes and axes (:func:`hyperproto.defaults.choose_loss`).
    weight : float, default 1.0
        Weight of this task in the sum; the method needs none.
    class_weight : sequence of float or "balanced", optional
        A weight for every class; the mean is then the weighted mean. "balanced" weighs classes by
        how rare they are in the data, as in scikit-learn, once :func:`hyperproto.fit` (or
        ``space.balance(targets)``) counts them. A row has the weight of its label, whatever is
        smoothed; for probabilities, the expected weight.
    label_smoothing : float, default 0.0
        ε, in [0, 1): the loss is the expected one where the class is drawn evenly from all K with
        probability ε, as in ``torch.nn.CrossEntropyLoss``; its cost grows with K whatever the loss.
    labels : array, shape (num_classes,), optional
        The classes as the user has them, where they are not strings.
    scale : float, optional
        What cosines are multiplied by for probabilities, where the loss has no logits: fitted to
        held-out data.
    """

    classes: int | tuple[str, ...] | Mapping[str, Any] | Prototypes
    loss: ClassLoss | Literal["auto"]
    weight: float
    class_weight: tuple[float, ...] | Literal["balanced"] | None
    label_smoothing: float
    labels: NDArray[Any] | None
    scale: float | None

    kind = "classes"
    reads = "index"
    metric = "accuracy"
    higher_is_better = True
    missing = MISSING
    has_prototypes = True

    def __init__(
        self,
        classes: int | Sequence[str] | Mapping[str, Any] | Prototypes,
        loss: ClassLoss | str = "auto",
        weight: float = 1.0,
        class_weight: Sequence[float] | Literal["balanced"] | None = None,
        label_smoothing: float = 0.0,
        labels: NDArray[Any] | None = None,
        scale: float | None = None,
    ) -> None:
        check_finite_number(weight, "weight", above=0)
        if not 0 <= check_finite_number(label_smoothing, "label_smoothing") < 1:
            raise InputError("label_smoothing", "lie in [0, 1)", f"{label_smoothing:g}")
        vars(self).update(
            classes=_read_classes(classes),
            loss=_read_loss(loss, label_smoothing),
            weight=weight,
            label_smoothing=float(label_smoothing),
            labels=labels,
            scale=None if scale is None else check_finite_number(scale, "scale", above=0),
        )
        vars(self).update(class_weight=_read_weights(class_weight, self.num_classes))
        if labels is not None and len(labels) != self.num_classes:
            rule = f"have {self.num_classes} values, one per class"
            raise InputError("labels", rule, len(labels))

    # -- values --------------------------------------------------------------------------------

    @classmethod
    def fit(cls, values: Any, about: str = "y", **options: Any) -> Self:
        """Return the classes among some values, sorted; of an array in its own dtype."""
        given = to_array(values)
        if given.dtype.kind == "O":
            there = [value for value in given.tolist() if value is not None]
            given = np.array(there, dtype=object) if values is given else to_array(there)
        try:
            labels = np.unique(given)
        except TypeError:  # of values that cannot be sorted
            kinds = sorted({type(value).__name__ for value in given.tolist()})
            advice = "Turn them into strings."
            raise InputTypeError(about, "hold classes of one type", kinds, advice) from None
        if len(labels) < 2:
            got = f"one class, {labels.tolist()[0]!r}" if len(labels) else "none"
            rule = "hold at least two classes in the training data"
            raise InputError(about, rule, got, "Leave it out.")
        return cls.of(labels, **options)

    @classmethod
    def of(cls, labels: NDArray[Any], **options: Any) -> Self:
        """Return the task whose classes are these values, in their order."""
        names = tuple(str(value) for value in labels.tolist())
        return cls(names, labels=None if labels.dtype.kind == "U" else labels, **options)

    @property
    def values(self) -> NDArray[Any]:
        """The classes as the user has them: their names, their own values, or their ids."""
        if self.labels is not None:
            return self.labels
        return np.arange(self.num_classes) if self.names is None else np.array(self.names)

    @property
    def known_values(self) -> list[Any]:
        """The names of the classes."""
        return list(self.names or range(self.num_classes))

    def encode(self, values: Any, about: str = "y", *, unseen: str = "error") -> NDArray[Any]:
        """Return class ids, shape (n,); None is a missing label."""
        raises = choose(unseen, {"error": True, "missing": False}, what="rule for unseen labels")
        given, known = to_array(values), self.values
        if given.dtype.kind == "O" or known.dtype.kind == "O" or not len(given):
            index = {value: k for k, value in enumerate(known.tolist())}
            found = [MISSING - 1 if v is not None else MISSING for v in given.tolist()]
            ids = np.array([index.get(v, m) for v, m in zip(given.tolist(), found, strict=True)])
        else:
            order = np.argsort(known, kind="stable")
            place = np.searchsorted(known, given, sorter=order).clip(0, len(known) - 1)
            ids = np.where(known[order[place]] == given, order[place], MISSING - 1)
        strange = np.flatnonzero(ids < MISSING)
        if len(strange) and raises:
            self._refuse(given[strange].tolist(), len(strange), len(given), about)
        return ids.clip(MISSING).astype(np.int64)

    def _refuse(self, strange: list[Any], rows: int, n: int, about: str) -> None:
        """Raise the error for values that are none of the classes."""
        different = list(dict.fromkeys(strange))
        # strings in double quotes, as elsewhere; numbers bare
        listed = ", ".join(json.dumps(v, ensure_ascii=False, default=repr) for v in different[:5])
        more = ", ..." if len(different) > 5 else ""
        nearest = unknown_choice(different[0], self.names or (), what="class").advice
        raise InputError(
            about,
            f"be among the {self.num_classes} classes of the training data",
            f"{listed}{more} ({len(different)} unseen in {rows} of {n} rows)",
            f"{nearest.partition('. ')[2]} Add training examples, or give "
            f"{arg('unseen', 'missing')} to leave those labels out.".strip(),
        )

    def decode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return classes, in the dtype they came in; None where missing."""
        known = self.values
        ids = np.asarray(targets)
        if (ids == MISSING).any():
            known = np.array([*known.tolist(), None], dtype=object)
        return known[ids]

    def describe_values(self, parts: Mapping[str, Tensor]) -> Plain:
        """Return the names, and for each part how many examples a class has."""
        found: Plain = {
            "kind": self.kind,
            "classes": self.num_classes,
            "names": list(self.names or ()),
        }
        for part, ids in parts.items():
            counts = ids[ids != MISSING].bincount(minlength=self.num_classes)
            missing = int((ids == MISSING).sum())
            found[part] = {
                "least": int(counts.min()),
                "most": int(counts.max()),
                "missing": missing,
            }
        return found

    @property
    def placed(self) -> Prototypes | None:
        """The prototypes, where they were placed already."""
        given: Any = self.classes
        return given if hasattr(given, "vectors") else None

    @property
    def num_classes(self) -> int:
        """K."""
        counted: Any = self.placed.num_classes if self.placed is not None else self.classes
        return int(counted if self.names is None else len(self.names))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The class names, where they were given."""
        if self.placed is not None:
            return self.placed.names
        if isinstance(self.classes, Mapping):
            from hyperproto.priors.taxonomy import leaves

            return leaves(self.classes)
        return self.classes if isinstance(self.classes, tuple) else None

    # -- targets -------------------------------------------------------------------------------

    def present(self, targets: Tensor) -> Tensor:
        """Return which labels are there. Only -1 is missing: another negative id is a mistake."""
        if targets.is_floating_point():
            return ~targets.isnan().any(dim=-1)
        return targets != MISSING

    def checks_values(self, targets: Tensor, name: str) -> bool:
        """Return whether every label is there; ids that are too large are found when looked up."""
        if targets.is_floating_point():
            return bool(self.present(targets).all())
        return targets.min().item() > MISSING

    def check(self, targets: Tensor, name: str) -> None:
        """Check every label: in ``[0, num_classes)``, or -1; or a row of probabilities."""
        if targets.ndim > 1 and targets.is_floating_point():
            shares = self.check_form(targets, len(targets), name)
            # half precision fails to sum to 1 by as much
            wrong = ((shares.sum(dim=1) - 1).abs() > 1e-3) | (shares < 0).any(dim=1)
            bad = (wrong & self.present(shares)).nonzero().flatten()
            if len(bad):
                rule = "be probabilities that sum to 1, or NaN where missing"
                got = f"a sum of {float(shares[bad[0]].sum()):g}"
                raise InputError(name, rule, first_row(bad, got, len(shares)))
            return
        labels = self.check_form(targets, targets.numel(), name)
        bad = ((labels < MISSING) | (labels >= self.num_classes)).nonzero().flatten()
        if len(bad):
            rule = f"be class ids in [0, {self.num_classes}), or {MISSING} where missing"
            raise InputError(name, rule, first_row(bad, str(int(labels[bad[0]])), len(labels)))

    def check_form(self, targets: Tensor, n: int, name: str) -> Tensor:
        """Check shape and dtype of labels; return ids as int64."""
        if targets.ndim > 1 and targets.is_floating_point():
            if targets.shape != (n, self.num_classes):
                shape = f"({n}, {self.num_classes})"
                rule = f"have shape {shape}, a probability for each class, or ({n},)"
                raise InputError(name, rule, tuple(targets.shape))
            if targets.requires_grad:
                got = "a tensor that requires a gradient"
                raise InputError(name, "be fixed", got, "Detach it.")
            return targets
        from hyperproto.losses import check_labels

        check_labels(targets, n, name=name)
        return targets.long()

    def ready(self, targets: Tensor, dtype: torch.dtype, *, complete: bool = False) -> Tensor:
        """Return ids, 0 where missing; or probabilities, 0 where missing, smoothed."""
        if targets.is_floating_point():
            shares = targets.to(dtype)
            if not complete:
                shares = shares.masked_fill(~self.present(targets).unsqueeze(-1), 0)
        else:
            if not complete:
                targets = targets.masked_fill(~self.present(targets), 0)
            if not self.label_smoothing:
                return targets
            shares = targets.new_zeros(len(targets), self.num_classes, dtype=dtype)
            shares = shares.scatter(1, targets.unsqueeze(1), 1)
        return shares * (1 - self.label_smoothing) + self.label_smoothing / self.num_classes

    def terms(self, predicted: Tensor, targets: Tensor) -> Terms:
        """Return how many classes are right, and how many labels there are."""
        from hyperproto.metrics import accuracy_terms

        return {"accuracy": accuracy_terms(predicted, targets)}

    def baseline(self, targets: Tensor) -> Tensor:
        """Return the majority class."""
        from hyperproto.metrics import most_likely

        labels = most_likely(targets)
        present = labels[labels >= 0].long()
        found = present.mode().values if len(present) else labels.new_tensor(0)
        return found.expand(len(targets))

    def row_weights(self, targets: Tensor, class_weight: Tensor) -> Tensor:
        """Return the weight of each row: that of its class, expected for probabilities."""
        if targets.is_floating_point():
            return targets.nan_to_num().to(class_weight.dtype) @ class_weight
        return class_weight[targets.clamp_min(0)]

    @property
    def is_open(self) -> bool:
        """Whether classes are still to be counted."""
        return self.class_weight == BALANCED

    def balanced(self, targets: Tensor, weight: Tensor | None = None) -> Classes:
        """Return the task with a weight n / (K count) for each class, K those with examples; 1 for
        one without. Rows count alike.
        """
        labels = targets[self.present(targets)].cpu()
        if labels.is_floating_point():
            counts = labels.double().sum(dim=0)
        else:
            counts = labels.long().bincount(minlength=self.num_classes).double()
        weights = counts.sum() / ((counts > 0).sum() * counts.clamp_min(1))
        return replace(self, class_weight=tuple(weights.where(counts > 0, 1.0).tolist()))

    def with_prototypes(
        self, placed: Any, former: Sequence[int] | None = None, labels: Any = None
    ) -> Self:
        """Return the task around other prototypes; new classes get the mean of the class weights,
        where there are any.
        """
        if former is None:
            return replace(self, classes=placed)
        weights = self.class_weight
        if isinstance(weights, tuple):
            mean, added = sum(weights) / len(weights), placed.num_classes - len(former)
            weights = (*(weights[index] for index in former), *[mean] * added)
        return replace(self, classes=placed, class_weight=weights, labels=labels)

    # -- the sphere ----------------------------------------------------------------------------

    @property
    def axes(self) -> Axes:
        """K - 1, in which a simplex fits, and two at least; as many as placed prototypes have."""
        if self.placed is not None:
            return Axes(self.placed.dim, self.placed.dim, fixed=True)
        return Axes(2, self.num_classes - 1)

    def head(self, axes: slice, dim: int) -> PrototypeHead:
        """Place the prototypes, unless they are placed already; a seed fixes every bit."""
        from hyperproto.prototypes import place
        from hyperproto.tasks.prototype_head import PrototypeHead

        if self.placed is not None:
            return PrototypeHead(self, axes, self.placed)
        classes: Any = self.classes
        placed = place(classes, axes.stop - axes.start, effort="fast", every_axis=True)
        return PrototypeHead(self, axes, placed)

    def joined(self, prior: Prior) -> Prior:
        """Return what data say about the classes, joined with what the task knows of them."""
        return prior

    @property
    def cosine_scale(self) -> float:
        """What cosines are multiplied by for probabilities, where the loss has no logits."""
        return UNFITTED_SCALE if self.scale is None else self.scale

    def resolved(self, **chosen: Any) -> Self:
        """Return the task with the loss that "auto" stands for."""
        if self.loss != "auto":
            return self
        return replace(self, loss=chosen["class_loss"])

    # -- stored --------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return the number of classes, the first names and the loss."""
        names = ", ".join((self.names or ())[:5]) + (", ..." if self.num_classes > 5 else "")
        return f"{self.num_classes} classes{': ' + names if self.names else ''}; {self.loss}"

    def to_dict(self) -> Plain:
        """Return plain values, without the prototypes."""
        loss = self.loss
        stored = {
            "task": self.kind,
            "classes": self.num_classes if self.names is None else list(self.names),
            "loss": {"name": loss} if isinstance(loss, str) else {"name": loss.name, **vars(loss)},
            "weight": self.weight,
            "class_weights": list(self.class_weight)
            if isinstance(self.class_weight, tuple)
            else self.class_weight,
        }
        stored |= {"label_smoothing": self.label_smoothing} if self.label_smoothing else {}
        stored |= {} if self.scale is None else {"scale": self.scale}
        if self.labels is not None:
            stored["labels"] = {"dtype": self.labels.dtype.str, "values": self.labels.tolist()}
        return stored

    @classmethod
    def from_dict(cls, values: Plain, prototypes: Any = None) -> Self:
        """Rebuild what :meth:`to_dict` described."""
        from hyperproto.losses import get_loss

        classes, loss = values.pop("classes"), values.pop("loss")
        values["class_weight"] = values.pop("class_weights", None)
        if "labels" in values:
            values["labels"] = _read_labels(**values["labels"])
        values["loss"] = "auto" if loss["name"] == "auto" else get_loss(**loss)
        return cls(prototypes or classes, **values)

    def check_can_store(self) -> None:
        """Raise where the classes are none that JSON can hold."""
        own = self.values
        if own.dtype.kind in "mMSc" or not all(isinstance(v, PLAIN) for v in own.tolist()):
            advice = "Use pickle or joblib, or turn them into strings."
            rule = "be strings, numbers or booleans to be saved"
            raise InputError("The classes", rule, f"dtype {own.dtype}", advice)


def first_row(bad: Tensor, value: str, n: int) -> str:
    """Return where the first bad value is and how many there are."""
    return f"{value} in row {int(bad[0])} ({len(bad)} of {n} rows)"


def _read_classes(classes: Any) -> Any:
    """Return how many classes, their names, a taxonomy, or prototypes."""
    if hasattr(classes, "vectors"):
        return classes
    if isinstance(classes, Mapping):
        from hyperproto.priors.taxonomy import leaves

        if found := leaves(classes):
            _read_classes(found)
            return classes
    count, names = parse_classes(classes)
    return count if names is None else names


def _read_loss(loss: Any, label_smoothing: float) -> Any:
    """Return "auto" or a loss."""
    if isinstance(loss, str) and loss == "auto":
        return loss
    from hyperproto.losses import LOSSES, ClassLoss, SampledCosineSoftmax, get_loss

    built = get_loss(loss) if isinstance(loss, str) else loss
    if not isinstance(built, ClassLoss):
        listed = ", ".join(f"hp.losses.{kind.__name__}()" for kind in LOSSES.values())
        raise InputTypeError("loss", f"be one of {listed} or its name", repr(loss))
    if label_smoothing and isinstance(built, SampledCosineSoftmax):
        rule = "be 0 with a loss over some of the classes"
        raise InputError("label_smoothing", rule, f"{label_smoothing:g}")
    return built


def _read_weights(given: Any, num_classes: int) -> Any:
    """Return a weight for every class, "balanced" or None."""
    if given is None:
        return None
    if isinstance(given, str):
        choose(given, {BALANCED: 0}, what="class weight")
        return given
    weights = tuple(check_finite_number(float(v), "class_weight", at_least=0) for v in given)
    if len(weights) != num_classes:
        rule = f"have {num_classes} weights, one per class"
        raise InputError("class_weight", rule, len(weights))
    return weights


def _read_labels(dtype: str, values: list[Any]) -> NDArray[Any]:
    """Return stored classes as an array."""
    kind = np.dtype(str(dtype))
    if kind.kind not in "biufUO":
        rule = "be strings, numbers or booleans"
        raise InputError("Stored classes", rule, f"dtype {kind}")
    labels = np.array(values, dtype=kind)
    if labels.ndim != 1:
        raise InputError("Stored classes", "be a list", f"shape {labels.shape}")
    if kind.kind == "O" and len({isinstance(value, str) for value in labels.tolist()}) > 1:
        raise InputError("Stored classes", "be strings, or none of them one", labels.tolist())
    return labels
