"""Classification by the nearest prototype."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from hyperproto._core.arrays import Array
from hyperproto._core.checks import check_integer, unknown_choice
from hyperproto._core.errors import InputError
from hyperproto.data import Split
from hyperproto.data.source import join
from hyperproto.defaults import COVERAGE
from hyperproto.estimators.base import read_column
from hyperproto.estimators.changes import ClassChanges
from hyperproto.estimators.confidence import choose_unknown
from hyperproto.evaluation.class_examples import draw_replay
from hyperproto.evaluation.confidence import TaskCalibration, uncalibrated
from hyperproto.losses import ClassLoss
from hyperproto.runtime.answers import with_unknown
from hyperproto.spaces.output_space import UNNAMED
from hyperproto.tasks import Classes


@dataclass(kw_only=True, eq=False, repr=False)
class HypersphericalClassifier(ClassifierMixin, ClassChanges):  # type: ignore[misc]
    """A classifier whose classes are fixed points on a sphere, as far apart as possible.

    Parameters
    ----------
    dim : int or "auto"
        Axes of the sphere. "auto" is K - 1, at most 256 (:func:`hyperproto.defaults.choose_dim`).
    loss : {"auto", "free_norm_softmax", "cosine_softmax", "squared_cosine", ...}, or a loss
        A name in ``hyperproto.losses.LOSSES``; "auto" is :func:`hyperproto.defaults.choose_loss`.
    backbone : str or callable, default "auto"
        An MLP for tables, by size a small residual network for images of shape (n, channels,
        height, width); or a name of :func:`hyperproto.models.create_backbone`, or a function
        ``(out_dim, shape) -> nn.Module``.
    hidden : int, sequence of int or "auto"
        Hidden layers of the MLP. "auto" is one of 100 values, two where columns are binned, and one
        of 512 for 256 dense columns or more, which are taken for features of a network.
    standardize : {"auto", "binned", "robust", "columns", "global", "none"}
        "columns" takes each column to mean 0 and spread 1, "robust" bends columns with heavy tails
        first, by asinh, "binned" adds bins of each column where there are 4,000 rows or more, and
        "global" divides all by one number. "auto" is "binned" for dense tables and images, "global"
        for sparse ones, which stay sparse: they are never shifted.
    epochs, batch_size, lr : number or "auto"
        As :func:`hyperproto.fit` takes them. "auto" is batches of at most 64 rows and 15 epochs, of
        sparse ones 256 and 10, or as many as give 300 steps, at a rate that suits the loss
        (:mod:`hyperproto.defaults`).
    weight_decay : float or "auto"
        "auto" is :func:`hyperproto.defaults.choose_weight_decay`.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    early_stopping : bool, default False
        Hold out a part, stop after ``patience`` epochs without improvement on it, keep the best
        weights.
    validation_fraction : float, default 0.1
        Share of the rows to hold out, for each of the two purposes.
    patience : int, default 10
    calibrate : bool, default False
        Hold out a part and fit the temperature of ``predict_proba`` on it; ``conformal_sets`` needs
        this too.
    reject : float, optional
        Share of known inputs for which ``predict`` may give ``unknown_label``; fitted on a
        held-out part.
    unknown_label : optional
        By default "unknown" where classes are strings, and -1 where they are numbers; no class may
        be called that.
    replay : int, default 0
        How many examples of each class to keep, for ``add_classes(..., how="train")``; ``save``
        writes them too.
    random_state : int, RandomState instance or None
    verbose : bool, default False
        Show how training goes: a progress bar in a terminal, elsewhere a line per epoch.

    Attributes
    ----------
    classes_ : array, shape (num_classes,)
    space_ : hyperproto.Space
    network_ : nn.Module
    history_ : list of dict
        The loss, and with early stopping the held-out accuracy, of every epoch.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> HypersphericalClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    loss: str | ClassLoss = "auto"
    class_weight: Mapping[Any, float] | str | None = None
    reject: float | None = None
    unknown_label: object = None
    replay: int = 0

    def partial_fit(  # type: ignore[override]  # as scikit-learn has it for classifiers
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Take one pass over some rows; the first call places the classes and must name all of
        them.

        Inputs are scaled by the rows of the first call. ``calibrate``, ``reject`` and
        ``early_stopping`` hold rows out of all there are, so only ``fit`` uses them.
        """
        return self._partial_fit(X, y, sample_weight, classes)

    def predict(self, X: ArrayLike) -> Array:
        """Return the class whose prototype is nearest (Equation 3), or ``unknown_label``. Shape
        (n,).
        """
        z = self._outputs(X)
        calibration = self._calibration(UNNAMED)
        labels = self._predictions(z)[UNNAMED]  # of very many classes in bounded memory
        if calibration.rejection is None:
            return labels
        unknown = choose_unknown(self.classes_, self.unknown_label)
        accepted = calibration.accept(self._logits(z)[UNNAMED], self._strengths(z, UNNAMED))
        return with_unknown(labels, accepted, unknown)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, shape (n, num_classes): a softmax of the logits of
        the loss.
        """
        logits = self._logits(self._outputs(X))[UNNAMED]
        return self._calibration(UNNAMED).probabilities(logits)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the logit of each class, shape (n, num_classes); for two classes the difference,
        shape (n,).
        """
        logits = self._logits(self._outputs(X))[UNNAMED]
        return logits if logits.shape[1] > 2 else logits[:, 1] - logits[:, 0]

    def cosines(self, X: ArrayLike) -> Array:
        """Return the cosine to each prototype, shape (n, num_classes)."""
        return self._scores(self._outputs(X))[UNNAMED]

    def outlier_score(self, X: ArrayLike, kind: str | None = None) -> Array:
        """Return how unusual inputs are, larger for more unusual ones, shape (n,).

        ``kind`` is as in :func:`hyperproto.evaluation.confidence.outlier_score`; ``reject`` uses
        the one that suits the loss, which is the default.
        """
        z = self._outputs(X)
        fitted = self._calibration(UNNAMED)
        fitted = fitted if kind is None else replace(fitted, outlier=kind)
        return fitted.outliers(self._logits(z)[UNNAMED], self._strengths(z, UNNAMED))

    def conformal_sets(self, X: ArrayLike, coverage: float = COVERAGE) -> NDArray[np.bool_]:
        """Return which classes to expect, shape (n, num_classes): the true one is among them as
        often as stated.
        """
        self._held_out()
        return self._sets(UNNAMED, self._logits(self._outputs(X))[UNNAMED], coverage)

    @property
    def calibration_error_(self) -> float | None:
        """Expected calibration error of ``predict_proba``, each half of the held-out rows by a fit
        to the other.

        None where no rows were held out, or fewer than 20.
        """
        if self.held_out_ is None:
            return None
        before = uncalibrated(self.space_)[UNNAMED].model
        measures = self.held_out_[UNNAMED].cross_measure(
            lambda part: TaskCalibration.fit(
                part.scores, part.targets, coverage=None, before=before
            )
        )
        return measures.get("ece")

    @property
    def classes_(self) -> Array:
        """The classes, sorted, in the dtype of ``y``."""
        return self._class_columns[UNNAMED].values

    def _read_y(
        self, y: ArrayLike, *, reset: bool, classes: ArrayLike | None = None
    ) -> dict[str, Array]:
        values = read_column(y)
        check_classification_targets(values)
        given = values if classes is None else np.asarray(classes)
        if reset:
            self.targets_ = {UNNAMED: Classes.fit(given, loss=self.loss)}
            if self.reject is not None:
                self._check_unknown(self.classes_)
        elif classes is not None and not np.array_equal(np.unique(given), self.classes_):
            rule = "be as in the first call of partial_fit"
            advice = "Fit a new estimator for others."
            raise InputError("classes", rule, np.unique(given).tolist(), advice)
        return {UNNAMED: values}

    def _keep_examples(self, examples: Split) -> None:
        per_class = check_integer(self.replay, "replay", at_least=0)
        if self.replay_ is not None:
            examples = join(self.replay_, examples)
        self.replay_ = (
            draw_replay(examples, UNNAMED, per_class=per_class, seed=0) if per_class else None
        )

    def _weigh_classes(self, targets: dict[str, Tensor]) -> Array | None:
        given, ids = self.class_weight, targets[UNNAMED].numpy()
        if not isinstance(given, Mapping):
            return None if given is None else compute_sample_weight(given, ids)
        classes = self.classes_.tolist()
        for name in given:
            if name not in classes:
                raise unknown_choice(str(name), map(str, classes), what="class in `class_weight`")
        return np.array([float(given.get(name, 1)) for name in classes])[ids]
