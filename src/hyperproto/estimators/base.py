"""What the estimators share: scale inputs, build a sphere, train by the one loop, read the answers
off.
"""

import re
import warnings
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, Self, TypeAlias, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)
from torch import Tensor, nn

from hyperproto import defaults
from hyperproto._core.arrays import Array
from hyperproto._core.checks import check_finite_number, check_integers, choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.processes import derive_seed
from hyperproto.data import Split, Standardizer
from hyperproto.data.preprocessing import Scaling, is_sparse
from hyperproto.data.source import draw_rows, select
from hyperproto.data.tables import warn_useless
from hyperproto.estimators.store import save_estimator
from hyperproto.evaluation.confidence import TaskCalibration, TaskOutputs
from hyperproto.models import MLP
from hyperproto.runtime.tables import TableEncoder, frame_columns, is_frame, needs_encoding
from hyperproto.spaces import Space
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import NetworkSpec, SpaceSpec, TrainSettings
from hyperproto.tasks import Classes, Task, indexed
from hyperproto.training import fit
from hyperproto.training.again import fit_or_try_again
from hyperproto.training.build import build_network
from hyperproto.training.fit import kind_of, resolve_settings
from hyperproto.training.outputs import stack_outputs
from hyperproto.training.space import build_space

Rows: TypeAlias = NDArray[np.intp]
Weight: TypeAlias = Array | None
TEXT = "A pipeline learns from words: make_pipeline(TfidfVectorizer(sublinear_tf=True), ...)."
WORDS = (
    "Words may be in tables with named columns, such as data frames, where those of training have "
    "them."
)


@dataclass(kw_only=True, eq=False, repr=False)
class SphereEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A network, a sphere with a task for each column of ``y``, and what translates inputs and
    answers.

    The parameters that all estimators share are fields, so that each is written down once;
    scikit-learn reads them off the constructor that they make.
    """

    dim: int | str = "auto"
    backbone: Any = "auto"
    hidden: Any = "auto"
    standardize: str = "auto"
    epochs: int | str = "auto"
    batch_size: int | str = "auto"
    lr: float | str = "auto"
    weight_decay: float | str = "auto"
    early_stopping: bool = False
    validation_fraction: float = defaults.VALIDATION_FRACTION
    patience: int = defaults.PATIENCE
    calibrate: bool = False
    random_state: Any = None
    verbose: bool = False

    flat_: bool = field(init=False, default=True)  # whether ``y`` has shape (n,)
    targets_: dict[str, Task] = field(init=False)
    encoder_: TableEncoder | None = field(init=False)
    held_out_: dict[str, TaskOutputs] | None = field(init=False)
    calibrations_: dict[str, TaskCalibration] = field(
        init=False
    )  # of columns of classes, where rows were held out
    replay_: Split | None = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Lay out the sphere for the answers in ``y``, and train a network to point at them.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, features); or array, shape (n, channels,
            height, width)
            Arrays, of objects too, must hold finite numbers: NaN in them is refused, as in
            scikit-learn. Gaps, words, dates and durations are taken from a DataFrame, whose columns
            have names to remember them by.
        y : array, shape (n,)
            Classes, as strings, numbers or booleans; or numbers. Of several columns an array or a
            DataFrame, shape (n, columns).
        sample_weight : array, shape (n,), optional
        """
        X, values = self._check(X, y, reset=True)
        weight, seed = self._check_weight(X, values, sample_weight), self._draw_seed()
        train, valid, held_out = self._split(X.shape[0], values, seed)
        data = self._build(X, self._to_targets(values), train, weight, seed, use_prior=True)
        settings = replace(self.settings_, patience=self.patience if len(valid) else None)
        learned = _select(data, train)
        self._train(
            learned,
            _select(data, valid) if len(valid) else None,
            _select(weight, train),
            settings,
            try_again=True,
        )
        self._keep_examples(learned)
        if len(held_out):
            self._calibrate(_select(data, held_out))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take one pass over some rows; the first call must hold every class, and fixes the bounds
        of numbers.

        Inputs are scaled by the rows of the first call. ``calibrate``, ``reject`` and
        ``early_stopping`` hold rows out of all there are, so only ``fit`` uses them.
        """
        return self._partial_fit(X, y, sample_weight)

    def transform(self, X: Any) -> Array:
        """Return where inputs lie on the sphere, shape (n, dim): unit vectors."""
        return self.space_.project(self._outputs(X)).cpu().numpy()

    def save(self, folder: Any, *, overwrite: bool = False) -> None:
        """Write everything a prediction needs into a new folder; ``hp.load(folder)`` gives it back.

        ``overwrite=True`` replaces an estimator that was saved there before, and nothing else.
        """
        check_is_fitted(self)
        save_estimator(self, folder, overwrite=overwrite)

    @abstractmethod
    def _read_y(self, y: Any, *, reset: bool, **about: Any) -> dict[str, Array]:
        """Return the checked values of ``y`` by column; with ``reset`` find out what the columns
        are first.
        """

    def _encode(self, y: Any) -> dict[str, Tensor]:
        """Return the targets of ``y`` by column, as the space takes them."""
        return self._to_targets(self._read_y(y, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.space_.point_dim)

    @property
    def _class_columns(self) -> dict[str, Classes]:
        return indexed(self.targets_)

    def _check(self, X: Any, y: Any, *, reset: bool, **about: Any) -> tuple[Any, dict[str, Array]]:
        """Return checked inputs, and the checked values of ``y`` by column."""
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None."
            )
        X = self._check_inputs(X, reset=reset)
        values = self._read_y(y, reset=reset, **about)
        check_consistent_length(X, *values.values())
        return X, values

    def _check_inputs(self, X: Any, *, reset: bool) -> Any:
        """Return floats of shape (n, features), sparse or not, or (n, channels, height, width)."""
        if reset:
            columns = frame_columns(X) if needs_encoding(X) else None
            for name, cells in (columns or {}).items():
                warn_useless(
                    name, cells, leave_out="Leave it out where it only names the row.", words=TEXT
                )
            self.encoder_ = TableEncoder.fit(columns) if columns else None
        if self.encoder_ is not None:
            if not is_frame(X):
                raise InputTypeError(
                    "X", "be a table with named columns, as in training", type(X).__name__
                )
            if reset:
                _check_feature_names(self, X, reset=True)
                self.n_features_in_ = len(self.encoder_.columns)
            return self.encoder_.encode(frame_columns(X))
        if (isinstance(X, list) or getattr(X, "ndim", 0) == 1) and isinstance(
            next(iter(X), None), str
        ):
            raise InputError("X", "be a table of numbers, or one with named columns", "texts", TEXT)
        how: dict[str, Any] = {
            "accept_sparse": "csr",
            "dtype": (np.float64, np.float32),
            "allow_nd": True,
        }
        try:
            array = validate_data(self, X, reset=reset, **how)
        except ValueError as error:
            if not (
                found := re.search(
                    r"could not convert string to float: (?:np.str_\()?(.*?)\)?$", str(error)
                )
            ):
                raise
            raise InputError("X", "hold numbers", found[1], WORDS) from None
        if array.ndim not in (2, 4):
            rule = (
                "be a table of shape (n, features) or images of shape (n, channels, height, width)"
            )
            raise InputError("X", rule, array.shape)
        return array

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, **about: Any) -> Self:
        """Take one pass over some rows; the first call builds everything. ``about`` goes to
        :meth:`_read_y`.
        """
        first = not hasattr(self, "network_")
        X, values = self._check(X, y, reset=first, **about)
        weight, seed = self._check_weight(X, values, sample_weight), self._draw_seed()
        targets = self._to_targets(values)
        if first:
            data = self._build(X, targets, np.arange(X.shape[0]), weight, seed, use_prior=False)
        else:
            data, seed = (
                Split(self._prepare(X), targets),
                derive_seed(seed, "order", len(self.history_)),
            )
        lr = self.settings_.lr * defaults.PARTIAL_FIT_RATE
        self._train(
            data,
            None,
            weight,
            replace(self.settings_, lr=lr, epochs=1, schedule="constant", seed=seed),
        )
        self._keep_examples(data)
        return self

    def _check_weight(self, X: Array, values: dict[str, Array], given: Any) -> Weight:
        """Return the weight of each row, that of its class included; None where
        all count the same.
        """
        if X.shape[0] < 2:
            raise InputError(
                "X", "hold at least 2 rows to learn from", f"1 sample, shape {X.shape}"
            )
        by_row = None if given is None else _check_sample_weight(given, X, dtype=np.float64)
        both = {"sample_weight": by_row, "class_weight": self._weigh_classes(values)}
        weights = {name: weight for name, weight in both.items() if weight is not None}
        for name, weight in weights.items():
            if not (weight.min() >= 0 and weight.max() > 0):
                spread = f"{weight.min():g} to {weight.max():g}"
                raise InputError(name, "be at least 0, and one of them greater", spread)
        return np.prod(list(weights.values()), axis=0) if weights else None

    def _check_unknown(self, classes: Array) -> None:
        """Refuse a class that is called what inputs of no class are called."""

    def _weigh_classes(self, values: dict[str, Array]) -> Weight:
        """Return the weight of each row's class, where classes have weights."""
        return None

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _to_targets(self, values: dict[str, Array]) -> dict[str, Tensor]:
        return {
            name: torch.from_numpy(task.encode(values[name]))
            for name, task in self.targets_.items()
        }

    def _split(self, n: int, values: dict[str, Array], seed: int) -> tuple[Rows, Rows, Rows]:
        """Return the rows to train on, to stop by, and to calibrate by; the last two may be empty.

        They are disjoint: on rows that chose when to stop, the network and its confidence look
        better than they are.
        """
        train, valid, held_out = np.arange(n), np.arange(0), np.arange(0)
        share = check_finite_number(
            self.validation_fraction, "validation_fraction", above=0, at_most=0.9
        )
        labels = (
            values[next(iter(self.targets_))]
            if len(self.targets_) == len(self._class_columns) == 1
            else None
        )
        if self.calibrate or getattr(self, "reject", None) is not None:
            train, held_out = _hold_out(train, share, seed, labels)
        if self.early_stopping:
            train, valid = _hold_out(train, share, seed + 1, labels)
        return train, valid, held_out

    def _build(
        self,
        X: Any,
        targets: dict[str, Tensor],
        rows: Rows,
        weight: Weight,
        seed: int,
        *,
        use_prior: bool,
    ) -> Split:
        """Measure the scale of the training rows, place the classes, and build the network.

        Return all rows as the network takes them.
        """
        asked = choose(
            self.standardize, {name: name for name in ("auto", *get_args(Scaling))}, what="scaling"
        )
        how = defaults.choose_scaling(asked, sparse=is_sparse(X))
        self.inputs_ = Standardizer.fit(_select(X, rows), _select(weight, rows), how)
        inputs = self.inputs_(X)
        data, kind = Split(inputs, targets), kind_of(inputs, self.inputs_)
        train = _select(data, rows)
        spec = self._space_spec(None if use_prior else "none")
        self.space_ = cast(Space, build_space(spec, self.targets_, train, seed=seed))
        counts = _select(weight, rows)
        self.space_.balance(train.targets, None if counts is None else torch.from_numpy(counts))
        self.targets_ = self.space_.tasks
        open_ones = ("epochs", "batch_size", "lr", "weight_decay")
        given = {name: _none_if_auto(getattr(self, name), name) for name in open_ones}
        self.settings_ = resolve_settings(
            TrainSettings(**given, seed=seed), self.space_, len(train), kind
        )
        self.network_ = self._build_network(tuple(inputs.shape[1:]), kind, seed).to(inputs.dtype)
        self.history_: list[dict[str, Any]] = []
        self.held_out_ = self.replay_ = None
        self.calibrations_ = {}
        return data

    def _space_spec(self, prior: str | None) -> SpaceSpec:
        """Return the sphere that the parameters describe."""
        loss: Any = getattr(self, "loss", "auto") if self._class_columns else "auto"
        number_loss: Any = getattr(self, "number_loss", "auto")
        return SpaceSpec(
            number_loss=number_loss,
            dim=_none_if_auto(self.dim, "dim"),
            loss=loss if isinstance(loss, str) else loss.name,
            loss_options={} if isinstance(loss, str) else asdict(loss),
            prior=prior,
        )

    def _build_network(
        self, shape: tuple[int, ...], kind: defaults.InputKind, seed: int
    ) -> nn.Module:
        """Build the network for inputs of a shape, its weights fixed by the seed."""
        if callable(self.backbone):
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                network = self.backbone(self.space_.dim, shape)
            if not isinstance(network, nn.Module):
                raise InputTypeError("backbone", "give a torch module", type(network).__name__)
            return network
        if not isinstance(self.backbone, str):
            rule = (
                'be a name such as "auto" or "resnet-20", or a function (out_dim, shape) -> '
                "nn.Module"
            )
            raise InputTypeError("backbone", rule, type(self.backbone).__name__)
        spec = NetworkSpec(backbone=None if self.backbone == "auto" else self.backbone)
        if len(shape) == 1:
            if self.backbone not in ("auto", MLP.name):
                rule = f'be "auto" or "{MLP.name}" for a table'
                raise InputError("backbone", rule, f'"{self.backbone}", which takes images')
            given = _none_if_auto(self.hidden, "hidden")
            hidden = [given] if isinstance(given, Integral) else given
            options = (
                {}
                if hidden is None
                else {"hidden": check_integers(list(hidden), "hidden", at_least=1)}
            )
            spec = NetworkSpec(backbone=MLP.name, backbone_options=options)
        return build_network(spec, shape, kind, self.space_.dim, seed=seed)

    def _train(
        self,
        data: Split,
        valid: Split | None,
        weight: Weight,
        settings: TrainSettings,
        *,
        try_again: bool = False,
    ) -> None:
        """Train in place by the one loop, and leave the network ready to predict."""
        options: Any = {"progress": self.verbose and "lines"}
        if valid is not None:
            options |= {"valid": (valid.inputs, valid.targets), "restore_best": True}
        if weight is not None:
            options["sample_weight"] = torch.from_numpy(weight / weight.mean())
        train: Any = fit
        if try_again:
            inputs: Any = data.inputs
            shape, kind = tuple(inputs.shape[1:]), kind_of(inputs, self.inputs_)
            rebuild = partial(self._build_network, shape, kind)
            say = partial(warnings.warn, category=ConvergenceWarning, stacklevel=6)
            train = partial(fit_or_try_again, rebuild=rebuild, say=say)
        run = train(self.network_, self.space_, (data.inputs, data.targets), settings, **options)
        self.network_.eval()
        self.history_ += run.history
        self.n_iter_ = len(self.history_)
        self.loss_ = self.history_[-1]["loss"]

    @abstractmethod
    def _calibrate(self, data: Split) -> Self:
        """Fit confidence to rows that were not trained on."""

    def _keep_examples(self, examples: Split) -> None:
        """Keep some examples for when classes are added, where the parameters ask for it."""
        self.replay_ = None

    def _prepare(self, X: Array) -> Tensor:
        """Return checked inputs as the network takes them."""
        return self.inputs_(X).to(next(self.network_.parameters()).dtype)

    def _inputs(self, X: Any) -> Tensor:
        return self._prepare(self._check_inputs(X, reset=False))

    def _outputs(self, X: Any) -> Tensor:
        """Return the network's outputs for new inputs, shape (n, dim)."""
        check_is_fitted(self)
        return self._run(self._inputs(X))

    def _run(self, inputs: Any) -> Tensor:
        size = defaults.INFERENCE_ROWS if inputs.ndim == 2 else defaults.INFERENCE_BATCH_SIZE
        return stack_outputs(self.network_, inputs, batch_size=size)

    def _logits(self, z: Tensor) -> dict[str, Array]:
        """Return the logits of each column of classes, shape (n, num_classes)."""
        heads = self.space_.named_heads()
        return {name: heads[name].logits(z).cpu().numpy() for name in self._class_columns}

    def _strengths(self, z: Tensor, name: str) -> Array:
        """Return how strongly outputs point at their class, shape (n,)."""
        found: Tensor = self.space_.named_heads()[name].strength(z)
        return found.cpu().numpy()

    def _scores(self, z: Tensor) -> dict[str, Array]:
        """Return the cosines of outputs by column, shapes (n, num_classes) or (n,)."""
        return {name: score.cpu().numpy() for name, score in by_name(self.space_.scores(z)).items()}

    def _answers(self, z: Tensor) -> dict[str, Array]:
        """Return answers by column, in the dtype of the column."""
        return {
            name: self.targets_[name].decode(found.numpy(force=True))
            for name, found in by_name(self.space_.predict(z)).items()
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = False
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def read_column(y: Any) -> Array:
    """Return the one column of ``y``, shape (n,), without gaps."""
    values: Array = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    return values


def _none_if_auto(value: Any, name: str) -> Any:
    """Return None where a parameter says "auto", and anything but another text as it is."""
    if not isinstance(value, str):
        return value
    choose(value, {"auto": None}, what=name.replace("_", " "))
    return None


def _select(data: Any, rows: Rows) -> Any:
    """Return some rows of an array, a sparse matrix or a split; all of them,
    and None, as they are.
    """
    if data is None or len(rows) == (len(data) if isinstance(data, Split) else data.shape[0]):
        return data
    return select(data, torch.from_numpy(rows)) if isinstance(data, Split) else data[rows]


def _hold_out(rows: Rows, share: float, seed: int, labels: Array | None) -> tuple[Rows, Rows]:
    """Return the rows to keep and those held out, each class in proportion."""
    count = max(1, round(share * len(rows)))
    if count >= len(rows):
        raise InputError(
            "validation_fraction", "leave rows to train on", f"{share:g} of {len(rows)} rows"
        )
    ids = np.zeros(len(rows)) if labels is None else np.unique(labels[rows], return_inverse=True)[1]
    taken = draw_rows(torch.from_numpy(ids.astype(np.int64)), count, seed=seed).numpy()
    return np.delete(rows, taken), rows[taken]
