"""What the estimators share: standardise, lay out a sphere, train by the one loop, read the answers off."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto._core.seeding import derive_seed
from hyperproto.data import Arrays
from hyperproto.estimators.auto import choose_dim, choose_loss, choose_range_dim, choose_steps, lay_out_classes
from hyperproto.estimators.columns import ClassColumn, Column
from hyperproto.estimators.held import Held
from hyperproto.estimators.inputs import Standardise, as_dense
from hyperproto.estimators.learning import build_network, hold_out, outputs_of, rows_of, train_network
from hyperproto.estimators.store import save_estimator
from hyperproto.spaces import Space
from hyperproto.spaces.tasks import Task

__all__ = ["SphereEstimator"]


class SphereEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A network, a sphere with a task for each column, and how inputs and answers are translated."""

    columns_: dict[str, Column]
    held_: Held | None

    def transform(self, X: Any) -> NDArray[Any]:
        """Return where inputs lie on the sphere, shape (n, dim): unit vectors."""
        z = self._outputs(X)
        points: NDArray[Any] = self.space_.project(z).cpu().numpy()
        return points

    def recalibrate(self, X: Any, y: Any) -> Self:
        """Fit the confidence of predictions on rows that were not learned from, and that show every class.

        Where ``fit`` held no rows out, after :meth:`partial_fit`, or after classes came.
        """
        check_is_fitted(self)
        inputs = self._prepare(self._check_inputs(X, reset=False)).to(next(self.network_.parameters()).dtype)
        targets = self._encode(y)
        check_consistent_length(inputs, *targets.values())
        self.held_ = Held.measure(self, inputs, targets, np.arange(len(inputs)))
        return self._gain_confidence(asked=True)

    def save(self, folder: Any) -> None:
        """Write everything a prediction needs into a new folder; ``hp.load(folder)`` gives it back."""
        check_is_fitted(self)
        save_estimator(self, folder)

    @property
    def _n_features_out(self) -> int:
        return int(self.space_.dim)

    def _check_inputs(self, X: Any, *, reset: bool, **options: Any) -> Any:
        """Return a dense float array of shape (n, features) or (n, channels, height, width); with ``y=...``, both."""
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), allow_nd=True, **options
        )
        return (as_dense(checked[0]), checked[1]) if "y" in options else as_dense(checked)

    def _learn(
        self,
        X: NDArray[Any],
        values: dict[str, NDArray[Any]],
        sample_weight: Any,
        *,
        again: bool = False,
        passes: int | None = None,
    ) -> Self:
        """Learn from checked values; ``again`` goes on from where the last call ended, for a number of passes."""
        if len(X) < 2:
            raise InputError(f"`X` must hold at least 2 rows to learn from; got 1 sample, shape {X.shape}.")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        weight = self._weigh(values, weight)
        if weight is not None and not (weight.min() >= 0 and weight.max() > 0):
            raise InputError("Weights must be 0 or more, and at least one more than 0; all are 0 or one is negative.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        targets = {name: column.encode(values[name]) for name, column in self.columns_.items()}
        train, valid, held = self._split(len(X), values, seed, once=passes is None)
        if not again:
            self.inputs_ = Standardise.fit(X[train], None if weight is None else weight[train])
        inputs = self._prepare(X)
        if not again:
            self._lay_out(None if passes is not None else rows_of(inputs, targets, train))
            self.network_ = build_network(self.backbone, self.hidden, self.space_.dim, inputs, seed)
            self.history_: list[dict[str, Any]] = []
        else:
            inputs = inputs.to(next(self.network_.parameters()).dtype)
        epochs, rows = choose_steps(self.epochs if passes is None else passes, self.batch_size, len(train))
        run = train_network(
            self.network_,
            self.space_,
            rows_of(inputs, targets, train),
            rows_of(inputs, targets, valid) if len(valid) else None,
            None if weight is None else weight[train],
            epochs=epochs,
            batch_size=rows,
            lr=check_finite_number(self.lr, "lr", above=0) * (1.0 if passes is None else PARTIAL),
            weight_decay=self.weight_decay,
            schedule="one-cycle" if passes is None else "constant",
            patience=self.patience if len(valid) else None,
            seed=derive_seed(seed, "order", len(self.history_)) if again else seed,
        )
        self.history_ += run.history
        self.n_iter_ = len(self.history_)
        self.loss_ = self.history_[-1]["loss"]
        self._keep_examples(Arrays(*rows_of(inputs, targets, train)), again=again)
        if passes is None:
            self.held_ = Held.measure(self, inputs, targets, held) if len(held) else None
        elif not again:
            self.held_ = None
        return self

    def _weigh(self, values: dict[str, NDArray[Any]], weight: NDArray[Any] | None) -> NDArray[Any] | None:
        """Return the weight of each row, that of its class included."""
        return weight

    def _held(self) -> Held:
        """Return what held-out rows were answered."""
        check_is_fitted(self)
        if self.held_ is None:
            raise InputError(
                "This promise needs held-out data; there is none. Fit with calibrate=True, or call recalibrate(X, y)."
            )
        return self.held_

    def _encode(self, y: Any) -> dict[str, Tensor]:
        """Return the targets of ``y`` by column, as the space takes them."""
        raise NotImplementedError

    def _set_classes(self) -> None:
        """Take note of the classes that ``columns_`` has now."""

    def _gain_confidence(self, *, asked: bool = False) -> Self:
        """Fit on what was held out what the settings ask for, or, where the user asked just now, all there is."""
        return self

    def _keep_examples(self, examples: Arrays, *, again: bool = False) -> None:
        """Keep some examples for the day when classes come, where the settings ask for it."""
        self.replay_: Arrays | None = None

    def _labels(self, values: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return the labels to hold out in proportion of, where there is one column of them."""
        columns = list(self.columns_.items())
        return values[columns[0][0]] if len(columns) == 1 and isinstance(columns[0][1], ClassColumn) else None

    def _split(
        self, n: int, values: dict[str, NDArray[Any]], seed: int, *, once: bool
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the rows to train on, to stop by, and to calibrate by; the last two may be none.

        They are apart: data that chose the moment to stop flatters the network, and would flatter its confidence.
        """
        train, none = np.arange(n), np.arange(0)
        share = check_finite_number(self.validation_fraction, "validation_fraction", above=0, at_most=0.9)
        labels = self._labels(values)
        train, held = (
            hold_out(train, share, seed, labels)
            if once and (self.calibrate or getattr(self, "reject", None) is not None)
            else (train, none)
        )
        train, valid = hold_out(train, share, seed + 1, labels) if once and self.early_stopping else (train, none)
        return train, valid, held

    def _prepare(self, X: NDArray[Any]) -> Tensor:
        return self.inputs_(X)

    def _lay_out(self, seen: tuple[Tensor, dict[str, Tensor]] | None) -> None:
        """Lay out the sphere: an axis for each number, a block of axes for each column of classes."""
        numbers = [name for name, column in self.columns_.items() if not isinstance(column, ClassColumn)]
        blocks = {name: column for name, column in self.columns_.items() if isinstance(column, ClassColumn)}
        sizes = self._block_sizes({name: len(column.classes) for name, column in blocks.items()}, len(numbers))
        tasks: dict[str, Task] = {}
        for name, column in self.columns_.items():
            if isinstance(column, ClassColumn):
                looked = None if seen is None else (seen[0], seen[1][name])
                placed = lay_out_classes(len(column.classes), sizes[name], looked)
                loss = choose_loss(self.loss, len(column.classes), beside_numbers=bool(numbers))
                tasks[name] = column.task(placed, loss)
            else:
                tasks[name] = column.task(self.margin if blocks else 0.0)
        dim = sum(sizes.values()) + len(numbers)
        if not blocks:
            dim = choose_range_dim(self.dim, len(numbers))
        self.space_ = Space(dim, tasks)

    def _block_sizes(self, counts: dict[str, int], numbers: int) -> dict[str, int]:
        """Return how many axes each column of classes gets."""
        if isinstance(self.dim, str) or not counts:
            return {name: choose_dim(self.dim, count) for name, count in counts.items()}
        left = choose_dim(self.dim, 2) - numbers
        if left < 2 * len(counts):
            raise InputError(
                f"`dim` must give an axis to each number and two to each column of classes, so at least "
                f'{numbers + 2 * len(counts)}; got {self.dim}. Leave it at "auto".'
            )
        share, more = divmod(left, len(counts))
        return {name: share + (index < more) for index, name in enumerate(counts)}

    def _outputs(self, X: Any) -> Tensor:
        """Return the network's outputs for new inputs, shape (n, dim)."""
        check_is_fitted(self)
        inputs = self._prepare(self._check_inputs(X, reset=False))
        return outputs_of(self.network_, inputs.to(next(self.network_.parameters()).dtype))

    def _scores(self, z: Tensor) -> dict[str, NDArray[Any]]:
        """Return the cosines of outputs by column, shapes (n, num_classes) or (n,)."""
        scores: Any = self.space_.scores(z)
        return {name: score.cpu().numpy() for name, score in scores.items()}

    def _predictions(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return answers by column, in the dtype of the column."""
        z = self._outputs(X)
        answers: Any = self.space_.predict(z)
        return {name: self.columns_[name].decode(answer) for name, answer in answers.items()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = False
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


PARTIAL = 0.3  # of the rate, in the passes of partial_fit: they have no schedule in which it would fall
