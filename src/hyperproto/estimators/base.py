"""What the estimators share: scale inputs, build a sphere, train by the one loop, read the answers off."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral
from typing import Any, Self, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)
from torch import Tensor, nn

from hyperproto._core.checks import check_finite_number, check_integers, choose
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.processes import derive_seed
from hyperproto.data import ImagePreprocessing, Source, Split, Standardizer
from hyperproto.data.preprocessing import Scaling, is_sparse, take_rows
from hyperproto.data.source import draw_rows
from hyperproto.defaults import (
    HIDDEN,
    INFERENCE_BATCH_SIZE,
    INFERENCE_ROWS,
    PARTIAL_FIT_RATE,
    PATIENCE,
    VALIDATION_FRACTION,
    InputKind,
    choose_scaling,
)
from hyperproto.estimators.columns import ClassColumn, Column
from hyperproto.estimators.export import export_estimator
from hyperproto.estimators.store import save_estimator
from hyperproto.evaluation.class_examples import Examples
from hyperproto.evaluation.confidence import (
    ClassCalibration,
    ConformalInterval,
    ConformalSets,
    TaskOutputs,
    uncalibrated,
)
from hyperproto.export import Exported
from hyperproto.losses import Reduction
from hyperproto.models import MLP
from hyperproto.spaces import OutputSpace, Space, Targets
from hyperproto.spec import NetworkSpec, SpaceSpec, TrainSettings
from hyperproto.training import fit
from hyperproto.training.build import build_network, build_space
from hyperproto.training.fit import kind_of, resolve_settings
from hyperproto.training.outputs import stack_outputs
from hyperproto_runtime.tables import TableEncoder, frame_columns, is_frame, needs_encoding

Rows = NDArray[np.intp]
WEIGHT = "\0weight"  # of a row, among the targets: the training loop has no other way; no column has this name


@dataclass(kw_only=True, eq=False, repr=False)
class SphereEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A network, a sphere with a task for each column of ``y``, and what translates inputs and answers.

    The parameters that all estimators share are fields, so that each is written down once; scikit-learn reads them
    off the constructor that they make.
    """

    dim: int | str = "auto"
    backbone: Any = "auto"
    hidden: Any = HIDDEN
    standardize: str = "auto"
    epochs: int | str = "auto"
    batch_size: int | str = "auto"
    lr: float | str = "auto"
    weight_decay: float | str = "auto"
    early_stopping: bool = False
    validation_fraction: float = VALIDATION_FRACTION
    patience: int = PATIENCE
    calibrate: bool = False
    random_state: Any = None
    verbose: bool = False

    flat_: bool = field(init=False, default=True)  # whether ``y`` has shape (n,)
    columns_: dict[str, Column] = field(init=False)
    encoder_: TableEncoder | None = field(init=False)
    held_out_: dict[str, TaskOutputs] | None = field(init=False)
    calibrations_: dict[str, ClassCalibration] = field(init=False)
    replay_: Examples | None = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Lay out the sphere for the answers in ``y``, and train a network to point at them.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, features); or array, shape (n, channels, height, width)
            Arrays, of objects too, must hold finite numbers: NaN in them is refused, as in scikit-learn. Gaps, words,
            dates and durations are taken from a DataFrame, whose columns have names to remember them by.
        y : array, shape (n,)
            Classes, as strings, numbers or booleans; or numbers. Of several columns an array or a DataFrame, shape
            (n, columns).
        sample_weight : array, shape (n,), optional
        """
        X, values = self._check(X, y, reset=True)
        weight, seed = self._check_weight(X, values, sample_weight), self._draw_seed()
        targets = self._to_targets(values)
        train, valid, held_out = self._split(X.shape[0], values, seed)
        self._build(X, targets, train, weight, seed, use_prior=True)
        inputs = self.inputs_(X)
        settings = replace(self.settings_, patience=self.patience if len(valid) else None)
        valid_rows = _rows(inputs, targets, valid) if len(valid) else None
        self._train(_rows(inputs, targets, train), weight, train, settings, valid_rows)
        self._keep_examples(Examples(*_rows(inputs, targets, train)))
        self.held_out_ = self._answer(*_rows(inputs, targets, held_out)) if len(held_out) else None
        return self._calibrate()

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take one pass over some rows; the first call must hold every class, and fixes the bounds of numbers.

        Inputs are scaled by the rows of the first call. ``calibrate``, ``reject`` and ``early_stopping`` hold rows
        out of all there are, so only ``fit`` uses them.
        """
        return self._partial_fit(X, y, sample_weight)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return where inputs lie on the sphere, shape (n, dim): unit vectors."""
        points: NDArray[Any] = self.space_.project(self._outputs(X)).cpu().numpy()
        return points

    def recalibrate(self, X: Any, y: Any) -> Self:
        """Fit the confidence of predictions to rows that were not trained on, with examples of every class.

        For use where ``fit`` held no rows out, after :meth:`partial_fit`, or after classes were added.
        """
        check_is_fitted(self)
        for column in self._class_columns.values():
            self._check_unknown(column.classes)
        inputs, targets = self._inputs(X), self._encode(y)
        check_consistent_length(inputs, *targets.values())
        self.held_out_ = self._answer(inputs, targets)
        return self._calibrate()

    def save(self, folder: Any, *, overwrite: bool = False) -> None:
        """Write everything a prediction needs into a new folder; ``hp.load(folder)`` gives it back.

        ``overwrite=True`` replaces an estimator that was saved there before, and nothing else.
        """
        check_is_fitted(self)
        save_estimator(self, folder, overwrite=overwrite)

    def export(self, folder: Any, X: Any, *, overwrite: bool = False) -> Exported:
        """Write a folder by which ``hyperproto.runtime.Predictor`` predicts without torch.

        Parameters
        ----------
        folder : path
            Must be new or empty; with ``overwrite`` it may hold another exported model.
        X : as for ``predict``
            Real rows, on which torch and onnxruntime are compared.
        """
        check_is_fitted(self)
        return export_estimator(self, folder, X, overwrite=overwrite)

    @abstractmethod
    def _read_y(self, y: Any, *, reset: bool, **about: Any) -> dict[str, NDArray[Any]]:
        """Return the checked values of ``y`` by column; with ``reset`` find out what the columns are first."""

    def _encode(self, y: Any) -> dict[str, Tensor]:
        """Return the targets of ``y`` by column, as the space takes them."""
        return self._to_targets(self._read_y(y, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.space_.dim)

    @property
    def _class_columns(self) -> dict[str, ClassColumn]:
        return {name: column for name, column in self.columns_.items() if isinstance(column, ClassColumn)}

    def _check(self, X: Any, y: Any, *, reset: bool, **about: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
        """Return checked inputs, and the checked values of ``y`` by column."""
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        X = self._check_inputs(X, reset=reset)
        values = self._read_y(y, reset=reset, **about)
        check_consistent_length(X, *values.values())
        return X, values

    def _check_inputs(self, X: Any, *, reset: bool) -> Any:
        """Return floats of shape (n, features), sparse or not, or (n, channels, height, width)."""
        if reset:
            self.encoder_ = TableEncoder.fit(frame_columns(X)) if needs_encoding(X) else None
        if self.encoder_ is not None:
            if not is_frame(X):
                raise InputTypeError("X", "be a table with named columns, as in training", type(X).__name__)
            if reset:
                _check_feature_names(self, X, reset=True)
                self.n_features_in_ = len(self.encoder_.columns)
            return self.encoder_.encode(frame_columns(X))
        array = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), allow_nd=True
        )
        if array.ndim not in (2, 4):
            rule = "be a table of shape (n, features) or images of shape (n, channels, height, width)"
            raise InputError("X", rule, array.shape)
        return array

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, **about: Any) -> Self:
        """Take one pass over some rows; the first call builds everything. ``about`` goes to :meth:`_read_y`."""
        first = not hasattr(self, "network_")
        X, values = self._check(X, y, reset=first, **about)
        weight, seed = self._check_weight(X, values, sample_weight), self._draw_seed()
        targets, every = self._to_targets(values), np.arange(X.shape[0])
        if first:
            self._build(X, targets, every, weight, seed, use_prior=False)
        inputs = self._prepare(X)
        seed = seed if first else derive_seed(seed, "order", len(self.history_))
        lr = self.settings_.lr * PARTIAL_FIT_RATE
        settings = replace(self.settings_, lr=lr, epochs=1, schedule="constant", seed=seed)
        self._train((inputs, targets), weight, every, settings, None)
        self._keep_examples(Examples(inputs, targets))
        return self._calibrate() if first else self

    def _check_weight(self, X: NDArray[Any], values: dict[str, NDArray[Any]], given: Any) -> NDArray[Any] | None:
        """Return the weight of each row, that of its class included; None where all count the same."""
        if X.shape[0] < 2:
            raise InputError("X", "hold at least 2 rows to learn from", f"1 sample, shape {X.shape}")
        by_row = None if given is None else _check_sample_weight(given, X, dtype=np.float64)
        both = {"sample_weight": by_row, "class_weight": self._weigh_classes(values)}
        weights = {name: weight for name, weight in both.items() if weight is not None}
        for name, weight in weights.items():
            if not (weight.min() >= 0 and weight.max() > 0):
                spread = f"{weight.min():g} to {weight.max():g}"
                raise InputError(name, "be at least 0, and one of them greater", spread)
        return np.prod(list(weights.values()), axis=0) if weights else None

    def _check_unknown(self, classes: NDArray[Any]) -> None:
        """Refuse a class that is called what inputs of no class are called."""

    def _weigh_classes(self, values: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return the weight of each row's class, where classes have weights."""
        return None

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _to_targets(self, values: dict[str, NDArray[Any]]) -> dict[str, Tensor]:
        return {name: column.encode(values[name]) for name, column in self.columns_.items()}

    def _split(self, n: int, values: dict[str, NDArray[Any]], seed: int) -> tuple[Rows, Rows, Rows]:
        """Return the rows to train on, to stop by, and to calibrate by; the last two may be empty.

        They are disjoint: on rows that chose when to stop, the network and its confidence look better than they are.
        """
        train, valid, held_out = np.arange(n), np.arange(0), np.arange(0)
        share = check_finite_number(self.validation_fraction, "validation_fraction", above=0, at_most=0.9)
        labels = values[next(iter(self.columns_))] if len(self.columns_) == len(self._class_columns) == 1 else None
        if self.calibrate or getattr(self, "reject", None) is not None:
            train, held_out = _hold_out(train, share, seed, labels)
        if self.early_stopping:
            train, valid = _hold_out(train, share, seed + 1, labels)
        return train, valid, held_out

    def _build(
        self,
        X: NDArray[Any],
        targets: dict[str, Tensor],
        rows: Rows,
        weight: NDArray[Any] | None,
        seed: int,
        *,
        use_prior: bool,
    ) -> None:
        """Measure the scale of the inputs, place the classes, and build the network."""
        train_weight = None if weight is None else weight[rows]
        asked = choose(self.standardize, {name: name for name in ("auto", *get_args(Scaling))}, what="scaling")
        how = choose_scaling(asked, sparse=is_sparse(X))
        self.inputs_ = Standardizer.fit(X if len(rows) == X.shape[0] else X[rows], train_weight, how)
        inputs, train_targets = _rows(self.inputs_(X), targets, rows)
        shape = tuple(inputs.shape[1:])
        described = {name: column.describe() for name, column in self.columns_.items()}
        prepared = ImagePreprocessing(1)  # nothing is left to do, and a space does not ask
        source = Source("arrays", Split(inputs, train_targets), None, described, prepared)
        spec = self._space_spec(None if use_prior else "none")
        self.space_ = cast(Space, build_space(spec, source, seed=seed))
        self.space_.balance(train_targets)
        open_ones = ("epochs", "batch_size", "lr", "weight_decay")
        given = {name: _number_or_none(getattr(self, name), name) for name in open_ones}
        train = TrainSettings(**given, seed=seed)
        self.settings_ = resolve_settings(train, self.space_, len(inputs), kind_of(inputs))
        self.network_ = self._build_network(shape, kind_of(inputs), seed).to(inputs.dtype)
        self.history_: list[dict[str, Any]] = []
        self.held_out_ = self.replay_ = None

    def _space_spec(self, prior: str | None) -> SpaceSpec:
        """Return the sphere that the parameters describe."""
        loss: Any = getattr(self, "loss", "auto")
        return SpaceSpec(
            dim=_number_or_none(self.dim, "dim"),
            loss=loss if isinstance(loss, str) else loss.name,
            loss_options={} if isinstance(loss, str) else asdict(loss),
            margin=_number_or_none(getattr(self, "margin", "auto"), "margin") if self._class_columns else 0.0,
            prior=prior,
        )

    def _build_network(self, shape: tuple[int, ...], kind: InputKind, seed: int) -> nn.Module:
        """Build the network for inputs of a shape, its weights fixed by the seed."""
        if callable(self.backbone):
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                network = self.backbone(self.space_.dim, shape)
            if not isinstance(network, nn.Module):
                raise InputTypeError("backbone", "give a torch module", type(network).__name__)
            return network
        if not isinstance(self.backbone, str):
            rule = 'be a name such as "auto" or "resnet-20", or a function (out_dim, shape) -> nn.Module'
            raise InputTypeError("backbone", rule, type(self.backbone).__name__)
        spec = NetworkSpec(backbone=None if self.backbone == "auto" else self.backbone)
        if len(shape) == 1:
            if self.backbone not in ("auto", MLP.name):
                rule = f'be "auto" or "{MLP.name}" for a table'
                raise InputError("backbone", rule, f'"{self.backbone}", which takes images')
            hidden = [self.hidden] if isinstance(self.hidden, Integral) else list(self.hidden)
            options = {"hidden": check_integers(hidden, "hidden", at_least=1)}
            spec = NetworkSpec(backbone=MLP.name, backbone_options=options)
        return build_network(spec, shape, kind, self.space_.dim, seed=seed)

    def _train(
        self,
        data: tuple[Tensor, dict[str, Tensor]],
        weight: NDArray[Any] | None,
        rows: Rows,
        settings: TrainSettings,
        valid: tuple[Tensor, dict[str, Tensor]] | None,
    ) -> None:
        """Train in place by the one loop, and leave the network ready to predict."""
        inputs, targets = data
        space: OutputSpace = self.space_
        if weight is not None:
            space = WeightedSpace(self.space_)
            targets = {**targets, WEIGHT: torch.from_numpy(weight[rows] / weight[rows].mean())}
        best: Any = {"valid": valid, "restore_best": valid is not None}
        run = fit(self.network_, space, (inputs, targets), settings, **best, progress=self.verbose and "lines")
        self.network_.eval()
        self.history_ += run.history
        self.n_iter_ = len(self.history_)
        self.loss_ = self.history_[-1]["loss"]

    def _keep_examples(self, examples: Examples) -> None:
        """Keep some examples for when classes are added, where the parameters ask for it."""
        self.replay_ = None

    def _prepare(self, X: NDArray[Any]) -> Tensor:
        """Return checked inputs as the network takes them."""
        return self.inputs_(X).to(next(self.network_.parameters()).dtype)

    def _inputs(self, X: Any) -> Tensor:
        return self._prepare(self._check_inputs(X, reset=False))

    def _outputs(self, X: Any) -> Tensor:
        """Return the network's outputs for new inputs, shape (n, dim)."""
        check_is_fitted(self)
        return self._run(self._inputs(X))

    def _run(self, inputs: Tensor) -> Tensor:
        return stack_outputs(
            self.network_, inputs, batch_size=INFERENCE_ROWS if inputs.ndim == 2 else INFERENCE_BATCH_SIZE
        )

    def _answer(self, inputs: Tensor, targets: dict[str, Tensor]) -> dict[str, TaskOutputs]:
        """Return, by column, what the network says about rows that it was not trained on."""
        z = self._run(inputs)
        scores, answers, norms = self._scores(z), self._answers(z), z.norm(dim=1).cpu().numpy()
        return {
            name: TaskOutputs(scores[name] if name in self._class_columns else answers[name], target.numpy(), norms)
            for name, target in targets.items()
        }

    def _scores(self, z: Tensor) -> dict[str, NDArray[Any]]:
        """Return the cosines of outputs by column, shapes (n, num_classes) or (n,)."""
        return {name: score.cpu().numpy() for name, score in self.space_.scores_by_task(z).items()}

    def _answers(self, z: Tensor) -> dict[str, NDArray[Any]]:
        """Return answers by column, in the dtype of the column."""
        return {name: self.columns_[name].decode(ids) for name, ids in self.space_.predict_by_task(z).items()}

    def _calibrate(self) -> Self:
        """Fit the confidence of each column of classes to held-out rows; without any, take the loss's own scale."""
        if self.held_out_ is None:
            self.calibrations_ = uncalibrated(self.space_)
            return self
        reject = getattr(self, "reject", None)
        rows = {name: self.held_out_[name] for name in self._class_columns}
        self.calibrations_ = {
            name: ClassCalibration.fit(row.scores, row.targets, row.norms, coverage=None, reject=reject)
            for name, row in rows.items()
        }
        if reject is not None:
            for row in rows.values():
                _warn_if_few(row, 1 - reject, f"reject={reject:g} rejects nothing")
        return self

    def _held_out(self) -> dict[str, TaskOutputs]:
        """Return what was said about held-out rows."""
        check_is_fitted(self)
        if self.held_out_ is None:
            advice = f"Fit with {arg('calibrate', True)}, or call recalibrate(X, y)."
            raise InputError("Sets and intervals", "be fitted to held-out data", "none", advice)
        return self.held_out_

    def _sets(self, name: str, scores: NDArray[Any], coverage: float) -> NDArray[np.bool_]:
        """Return which classes of a column to expect, shape (n, num_classes)."""
        model, rows = self.calibrations_[name], self._held_out()[name]
        _warn_if_few(rows, coverage, f"with coverage={coverage:g} every class is in every set")
        fitted = ConformalSets.fit(model.probabilities(rows.scores), rows.targets, coverage)
        return fitted.sets(model.probabilities(scores))

    def _intervals(self, name: str, answers: NDArray[Any], coverage: float) -> NDArray[Any]:
        """Return the ends of the intervals of a column of numbers, shape (n, 2)."""
        rows = self._held_out()[name]
        return ConformalInterval.fit(rows.scores, rows.targets, coverage).intervals(answers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = False
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class WeightedSpace(OutputSpace):
    """A sphere whose targets come with a weight for every row.

    The mean is over rows, not over weights: a batch of heavy rows takes a longer step, as if rows were repeated.
    """

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space, self.dim = space, space.dim

    def losses(self, z: Tensor, targets: Targets, *, reduction: Reduction = "mean") -> Targets:
        """Return the loss of each task, rows by their weights."""
        assert isinstance(targets, Mapping)
        weight = targets[WEIGHT].to(z.dtype)
        own = {name: target for name, target in targets.items() if name != WEIGHT}
        losses = self.space.losses_by_task(
            z, own, reduction="sum" if reduction == "mean" else reduction, sample_weight=weight
        )
        return {name: loss / len(z) for name, loss in losses.items()} if reduction == "mean" else losses

    def predict(self, z: Tensor) -> Targets:
        """Return what the sphere predicts."""
        return self.space.predict(z)


def read_column(y: Any) -> NDArray[Any]:
    """Return the one column of ``y``, shape (n,), without gaps."""
    values: NDArray[Any] = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    return values


def _number_or_none(value: Any, name: str) -> Any:
    """Return a parameter, and None where it says "auto"."""
    if not isinstance(value, str):
        return value
    choose(value, {"auto": None}, what=name.replace("_", " "))
    return None


def _rows(inputs: Tensor, targets: Mapping[str, Tensor], rows: Rows) -> tuple[Tensor, dict[str, Tensor]]:
    """Return some rows of inputs and targets."""
    if len(rows) == len(inputs):
        return inputs, dict(targets)
    ids = torch.from_numpy(rows)
    return take_rows(inputs, ids), {name: target.index_select(0, ids) for name, target in targets.items()}


def _hold_out(rows: Rows, share: float, seed: int, labels: NDArray[Any] | None) -> tuple[Rows, Rows]:
    """Return the rows to keep and those held out, each class in proportion."""
    count = max(1, round(share * len(rows)))
    if count >= len(rows):
        raise InputError("validation_fraction", "leave rows to train on", f"{share:g} of {len(rows)} rows")
    ids = np.zeros(len(rows)) if labels is None else np.unique(labels[rows], return_inverse=True)[1]
    taken = draw_rows(torch.from_numpy(ids.astype(np.int64)), count, seed=seed).numpy()
    return np.delete(rows, taken), rows[taken]


def _warn_if_few(rows: TaskOutputs, coverage: float, otherwise: str) -> None:
    """Say so where too few rows were held out for a promise about so large a share of them."""
    needed = math.ceil(coverage / (1 - coverage) - 1e-9) if 0 < coverage < 1 else 0
    if len(rows.targets) < needed:
        few = f"{needed} held-out rows are needed, got {len(rows.targets)}: {otherwise}"
        warnings.warn(f"{few}. Raise validation_fraction, or give recalibrate(X, y) more rows.", stacklevel=4)
