"""What classifiers can be told about their classes after they were fitted."""

from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from hyperproto.estimators.base import SphereEstimator
from hyperproto.estimators.changing import add_to, column_of, remove_from, rename_in
from hyperproto.evaluation.new_classes import ClassChange

__all__ = ["ClassesChange"]

PASSES = 50  # over new and replayed examples: they are few, and twenty passes leave two similar classes as one


class ClassesChange(SphereEstimator):
    """An estimator whose classes may come, go and be renamed, with a report of what that did to the others."""

    def add_classes(
        self,
        X: Any = None,
        y: Any = None,
        *,
        how: Literal["mean", "train", "prior"] = "mean",
        classes: Any = None,
        prior: Any = None,
        replay: Any = None,
        old_valid: Any = None,
        new_valid: Any = None,
        column: str | None = None,
        **settings: Any,
    ) -> ClassChange:
        """Learn new classes, and return how good the old ones were before and are now.

        Prototypes of the old classes stay as they are, bit for bit. A warning says where the old classes lost more
        than a point of accuracy. Confidence is to be fitted again, by :meth:`recalibrate`.

        Parameters
        ----------
        X : array, shape (n, ...)
            Examples of the new classes, a few each; how="prior" needs none.
        y : array, shape (n,)
            Their classes, of the kind the old ones are.
        how : {"mean", "train", "prior"}, default "mean"
            "mean" puts each new prototype at the mean direction of its examples, without training. "train" adds one
            far from the others and trains a copy of the network on the new examples and replayed old ones. "prior"
            puts it among the old classes that a semantic prior likens it to, without any example.
        classes : array, optional
            The new classes, for how="prior".
        prior : optional
            For how="prior": word vectors, a taxonomy, ... over old and new classes; see :func:`hyperproto.place`.
        replay : pair (X, y), optional
            For how="train": examples of old classes; by default those kept by the setting ``replay``.
        old_valid, new_valid : pair (X, y), optional
            Held-out examples to measure on; by default those replayed and those given, and the report says so.
        column : str, optional
            Which column of classes, where there are several.
        **settings
            For how="train", of :func:`hyperproto.evaluation.add_classes`, such as ``epochs=50``; rate, schedule and
            weight decay are those of ``fit``.

        Returns
        -------
        ClassChange
        """
        check_is_fitted(self)
        more = {"classes": classes, "replay": replay, "old_valid": old_valid, "new_valid": new_valid}
        if how == "train":
            own = {"lr": self.lr, "weight_decay": self.weight_decay, "schedule": "one-cycle"}  # as ``fit`` has them
            settings = {"epochs": PASSES, "progress": False} | own | settings
        return add_to(self, column_of(self, column), X, y, how=how, prior=prior, **more, **settings)

    def remove_classes(self, classes: Any, *, old_valid: Any = None, column: str | None = None) -> ClassChange:
        """Forget classes, and return how good the others were before and are now; nothing is trained.

        ``old_valid`` and ``column`` are as in :meth:`add_classes`.
        """
        check_is_fitted(self)
        return remove_from(self, column_of(self, column), classes, old_valid)

    def rename_classes(self, names: Any, *, column: str | None = None) -> ClassChange:
        """Call classes otherwise, ``{old: new}``; answers are the same but for the names."""
        check_is_fitted(self)
        return rename_in(self, column_of(self, column), names)
