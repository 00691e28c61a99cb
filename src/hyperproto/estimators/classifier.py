"""Classification by the nearest prototype."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.data import Arrays
from hyperproto.estimators.auto import scale_of
from hyperproto.estimators.changes import ClassesChange
from hyperproto.estimators.columns import ClassColumn
from hyperproto.estimators.unknown import with_unknown
from hyperproto.estimators.weighing import weigh_classes
from hyperproto.evaluation.confidence import ConformalSets, Rejection, Temperature, outlier_score
from hyperproto.evaluation.new_classes.examples import draw_replay, join_examples
from hyperproto.spaces import Classes

__all__ = ["HypersphericalClassifier"]

TARGET = "target"


class HypersphericalClassifier(ClassifierMixin, ClassesChange):  # type: ignore[misc]
    """A classifier whose classes are fixed points on a sphere, as far apart as can be.

    Parameters
    ----------
    dim : int or "auto"
        Axes of the sphere. "auto" is K - 1 up to 64; beyond, the fewest from 64 on that keep the maximum cosine
        between classes at 0.1 or below (:func:`~hyperproto.estimators.auto.choose_dim`).
    loss : {"auto", "cosine_softmax", "squared_cosine", "sampled_cosine_softmax", ...}, or a loss
        "auto" is cosine softmax up to 1,000 classes and Equation 1 beyond.
    backbone : str or callable, default "auto"
        A perceptron for tables, by size a small residual network for images of shape (n, channels, height, width);
        or a name of :func:`hyperproto.models.create_backbone`, or a function ``(out_dim, shape) -> nn.Module``.
    hidden : sequence of int, default (100,)
        Hidden layers of the perceptron.
    epochs, batch_size : int or "auto"
        "auto" is batches of at most 64 rows and 15 passes over the data, or as many as give 60 steps.
    lr, weight_decay : float
        As :func:`hyperproto.fit` takes them, here with the mean over the batch.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    early_stopping : bool, default False
        Hold out a part, stop after ``patience`` epochs that brought nothing better on it, keep the best weights.
    validation_fraction : float, default 0.1
        Share of the rows to hold out, for each of the two purposes.
    patience : int, default 10
    calibrate : bool, default False
        Hold out a part and fit the temperature of ``predict_proba`` on it; ``conformal_sets`` needs this too.
    reject : float, optional
        Share of known inputs for which ``predict`` may answer ``unknown_label``; fitted on a held-out part.
    unknown_label : optional
        By default "unknown" where classes are strings, and -1 where they are numbers.
    replay : int, default 0
        How many examples of each class to keep, for ``add_classes(..., how="train")``; ``save`` writes them too.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    classes_ : array, shape (num_classes,)
    space_ : hyperproto.Space
    network_ : nn.Module
    calibration_error_ : float or None
        Expected calibration error of ``predict_proba`` on held-out rows; None where there are none, or under 20.
    history_ : list of dict
        The loss, and with early stopping the held-out accuracy, of every epoch.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> HypersphericalClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        dim: int | str = "auto",
        loss: Any = "auto",
        backbone: Any = "auto",
        hidden: Any = (100,),
        epochs: int | str = "auto",
        batch_size: int | str = "auto",
        lr: float = 0.3,
        weight_decay: float = 1e-4,
        class_weight: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        calibrate: bool = False,
        reject: float | None = None,
        unknown_label: Any = None,
        replay: int = 0,
        random_state: Any = None,
    ) -> None:
        self.dim = dim
        self.loss = loss
        self.backbone = backbone
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.calibrate = calibrate
        self.reject = reject
        self.unknown_label = unknown_label
        self.replay = replay
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Lay out a sphere for the classes in ``y`` and train a network to point at them.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, features); or array, shape (n, channels, height, width)
        y : array, shape (n,)
            Class names: strings, numbers or booleans.
        sample_weight : array, shape (n,), optional
        """
        X, y = self._check(X, y, reset=True)
        self._know(np.unique(y))
        self._learn(X, {TARGET: y}, sample_weight)
        return self._gain_confidence()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take one pass over some rows; the first call lays out the sphere and must name all classes.

        Inputs are standardised as the first call's rows ask for. ``calibrate``, ``reject`` and ``early_stopping``
        need data held out of all there is, so only ``fit`` looks at them.
        """
        again = hasattr(self, "network_")
        X, y = self._check(X, y, reset=not again)
        if not again:
            self._know(np.unique(y if classes is None else classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError("`classes` must be as in the first call of partial_fit. Fit a new estimator for others.")
        self._learn(X, {TARGET: y}, sample_weight, again=again, passes=1)
        return self if again else self._gain_confidence()

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class whose prototype is nearest (Equation 3), or ``unknown_label``. Shape (n,)."""
        check_is_fitted(self)
        if self.rejection_ is None:
            return self._predictions(X)[TARGET]  # of very many classes in bounded memory
        z = self._outputs(X)
        cosines = self._scores(z)[TARGET]
        names: NDArray[Any] = self.classes_[cosines.argmax(axis=1)]
        strange = outlier_score(cosines, z.norm(dim=1))
        return with_unknown(names, self.rejection_.accept(strange), self.unknown_label)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class, shape (n, num_classes): a softmax of scaled cosines."""
        cosines = self.cosines(X)
        return self.temperature_.probabilities(cosines)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the cosine to each prototype, shape (n, num_classes); for two classes the difference, shape (n,)."""
        cosines = self.cosines(X)
        return cosines if cosines.shape[1] > 2 else cosines[:, 1] - cosines[:, 0]

    def cosines(self, X: Any) -> NDArray[Any]:
        """Return the cosine to each prototype, shape (n, num_classes)."""
        return self._scores(self._outputs(X))[TARGET]

    def outlier_score(self, X: Any, kind: str = "length") -> NDArray[Any]:
        """Return how strange inputs look, larger for stranger, shape (n,).

        ``kind`` is as in :func:`hyperproto.evaluation.confidence.outlier_score`; ``reject`` goes by "length".
        """
        z = self._outputs(X)
        return outlier_score(self._scores(z)[TARGET], z.norm(dim=1), kind=kind, scale=self.temperature_.scale)

    def conformal_sets(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return which classes to expect, shape (n, num_classes): the right one is among them as often as stated."""
        held = self._held()
        probabilities = self.temperature_.probabilities(held.scores[TARGET])
        fitted = ConformalSets.fit(probabilities, held.targets[TARGET], coverage)
        return fitted.sets(self.predict_proba(X))

    def _check(self, X: Any, y: Any, *, reset: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        X, y = self._check_inputs(X, y=y, reset=reset)
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _know(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise InputError(
                f"`y` must hold at least two classes to tell apart; got one class, {classes[:1].tolist()[0]!r}."
            )
        self.classes_ = classes
        self.columns_ = {TARGET: ClassColumn(classes)}

    def _encode(self, y: Any) -> dict[str, Tensor]:
        return {TARGET: self.columns_[TARGET].encode(column_or_1d(y, warn=True))}

    def _set_classes(self) -> None:
        column = self.columns_[TARGET]
        assert isinstance(column, ClassColumn)
        self.classes_ = column.classes

    def _keep_examples(self, examples: Arrays, *, again: bool = False) -> None:
        count = check_integer(self.replay, "replay", at_least=0)
        if again and self.replay_ is not None:
            examples = join_examples(self.replay_, examples)
        self.replay_ = draw_replay(examples, TARGET, per_class=count, seed=0) if count else None

    def _weigh(self, values: dict[str, NDArray[Any]], weight: NDArray[Any] | None) -> NDArray[Any] | None:
        if self.class_weight is None:
            return weight
        by_class = weigh_classes(self.class_weight, self.classes_, values[TARGET])
        return by_class if weight is None else by_class * weight

    def _gain_confidence(self, *, asked: bool = False) -> Self:
        """Fit the temperature and the threshold on what was held out, or take the loss's own scale."""
        task = self.space_.tasks[TARGET]
        assert isinstance(task, Classes)
        scale = scale_of(task.loss, task.num_classes)
        self.temperature_ = Temperature(scale)
        self.calibration_error_: float | None = None
        self.rejection_: Rejection | None = None
        if self.held_ is not None:
            cosines = self.held_.scores[TARGET]
            if self.calibrate or asked:
                self.temperature_ = Temperature.fit(cosines, self.held_.targets[TARGET])
                self.calibration_error_ = self.held_.calibration_error(TARGET)
            if self.reject is not None:
                self.rejection_ = Rejection.fit(outlier_score(cosines, self.held_.norms), self.reject)
        return self

    def _stored(self) -> dict[str, Any]:
        held = None if self.rejection_ is None else self.rejection_.to_dict()
        error = self.calibration_error_
        return {"temperature": self.temperature_.to_dict(), "calibration_error": error, "rejection": held}

    def _restore(self, stored: dict[str, Any]) -> None:
        self._set_classes()
        self.temperature_ = Temperature.from_dict(stored["temperature"])
        self.calibration_error_ = stored.get("calibration_error")
        self.rejection_ = None if stored["rejection"] is None else Rejection.from_dict(stored["rejection"])
