"""What the estimators share: scale inputs, build a sphere, train by the one loop, and read the
predictions off.
"""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, TypeAlias, TypeVar, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
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
from hyperproto.evaluation.confidence import TaskCalibration, TaskOutputs
from hyperproto.models import MLP, create_backbone
from hyperproto.priors import Prior
from hyperproto.prototypes import Prototypes, place
from hyperproto.runtime.tables import TableEncoder, frame_columns, is_frame, needs_encoding
from hyperproto.spaces import Space
from hyperproto.spaces.output_space import by_name
from hyperproto.spaces.space import choose_layout, loss_name
from hyperproto.spec import NetworkSpec, ResolvedSettings, TrainSettings
from hyperproto.tasks import Classes, Task, indexed
from hyperproto.training import Run, fit
from hyperproto.training.again import fit_or_try_again
from hyperproto.training.build import build_network
from hyperproto.training.fit import kind_of, resolve_settings
from hyperproto.training.outputs import stack_outputs
from hyperproto.training.space import prior_from_data

T = TypeVar("T")
Rows: TypeAlias = NDArray[np.intp]
Weight: TypeAlias = Array | None
TEXT = "A pipeline learns from words: make_pipeline(TfidfVectorizer(sublinear_tf=True), ...)."


@dataclass(kw_only=True, eq=False, repr=False)
class SphereEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A network, a sphere with a task for each column of ``y``, and what translates inputs and
    predictions.

    The parameters that all estimators share are fields, so that each is written down once;
    scikit-learn reads them off the constructor that they make.
    """

    dim: int | str = "auto"
    backbone: str | Callable[[int, tuple[int, ...]], nn.Module] = "auto"
    hidden: int | Sequence[int] | str = "auto"
    standardize: str = "auto"
    epochs: int | str = "auto"
    batch_size: int | str = "auto"
    lr: float | str = "auto"
    weight_decay: float | str = "auto"
    early_stopping: bool = False
    validation_fraction: float = defaults.VALIDATION_FRACTION
    patience: int = defaults.PATIENCE
    calibrate: bool = False
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    flat_: bool = field(init=False, default=True)  # whether ``y`` has shape (n,)
    targets_: dict[str, Task] = field(init=False)
    encoder_: TableEncoder | None = field(init=False)
    inputs_: Standardizer = field(init=False)
    space_: Space = field(init=False)
    network_: nn.Module = field(init=False)
    settings_: ResolvedSettings = field(init=False)
    history_: list[dict[str, Any]] = field(init=False)
    held_out_: dict[str, TaskOutputs] | None = field(init=False)
    # of columns of classes, where rows were held out
    calibrations_: dict[str, TaskCalibration] = field(init=False)
    replay_: Split | None = field(init=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Lay out the sphere for the values in ``y``, and train a network to point at them.

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
        rows, targets, weight = self._check(X, y, sample_weight, reset=True)
        seed = self._draw_seed()
        train, valid, held_out = self._split(rows.shape[0], targets, seed)
        data = self._build(rows, targets, train, weight, seed, use_prior=True)
        learned = _select(data, train)
        stop_by = _select(data, valid) if len(valid) else None
        settings = replace(self.settings_, patience=None if stop_by is None else self.patience)
        run = fit_or_try_again(
            self.network_,
            self.space_,
            (learned.inputs, learned.targets),
            settings,
            rebuild=partial(self._build_network, learned.inputs),
            say=partial(warnings.warn, category=ConvergenceWarning, stacklevel=3),
            **self._options(_select(weight, train), stop_by),
        )
        self._record(run, learned)
        if len(held_out):
            self._calibrate(_select(data, held_out))
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take one pass over some rows; the first call must hold every class, and fixes the bounds
        of numbers.

        Inputs are scaled by the rows of the first call. ``calibrate``, ``reject`` and
        ``early_stopping`` hold rows out of all there are, so only ``fit`` uses them.
        """
        return self._partial_fit(X, y, sample_weight)

    def transform(self, X: ArrayLike) -> Array:
        """Return where inputs lie on the sphere, shape (n, dim): unit vectors."""
        return self.space_.project(self._outputs(X)).cpu().numpy()

    @abstractmethod
    def _read_y(
        self, y: ArrayLike, *, reset: bool, classes: ArrayLike | None = None
    ) -> dict[str, Array]:
        """Return the checked values of ``y`` by column; with ``reset`` find out what the columns
        are first, of which ``classes`` may say more than ``y``.
        """

    def _encode(
        self, y: ArrayLike, *, reset: bool = False, classes: ArrayLike | None = None
    ) -> dict[str, Tensor]:
        """Return the targets of ``y`` by column, as the space takes them."""
        values, targets = self._read_y(y, reset=reset, classes=classes), {}
        for name, task in self.targets_.items():
            targets[name] = torch.from_numpy(task.encode(values[name]))
        return targets

    @property
    def _n_features_out(self) -> int:
        return self.space_.point_dim

    @property
    def _class_columns(self) -> dict[str, Classes]:
        return indexed(self.targets_)

    def _check(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        classes: ArrayLike | None = None,
    ) -> tuple[Array, dict[str, Tensor], Weight]:
        """Return checked inputs, targets by column, and the weight of each row, that of its class
        included; None where all count the same.
        """
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None."
            )
        rows = self._check_inputs(X, reset=reset)
        targets = self._encode(y, reset=reset, classes=classes)
        check_consistent_length(rows, *targets.values())
        if rows.shape[0] < 2:
            got = f"1 sample, shape {rows.shape}"
            raise InputError("X", "hold at least 2 rows to learn from", got)
        by_row, weight = None, None
        if sample_weight is not None:
            by_row = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        given = {"sample_weight": by_row, "class_weight": self._weigh_classes(targets)}
        for name, factor in given.items():
            if factor is None:
                continue
            if not (factor.min() >= 0 and factor.max() > 0):
                spread = f"{factor.min():g} to {factor.max():g}"
                raise InputError(name, "be at least 0, and one of them greater", spread)
            weight = factor if weight is None else weight * factor
        return rows, targets, weight

    def _check_inputs(self, X: Any, *, reset: bool) -> Array:
        """Return floats of shape (n, features), sparse or not, or (n, channels, height, width)."""
        if reset:
            columns = frame_columns(X) if needs_encoding(X) else {}
            advice = "Leave it out where it only names the row."
            for name, cells in columns.items():
                warn_useless(name, cells, leave_out=advice, words=TEXT)
            self.encoder_ = TableEncoder.fit(columns) if columns else None
        if self.encoder_ is not None:
            if not is_frame(X):
                rule = "be a table with named columns, as in training"
                raise InputTypeError("X", rule, type(X).__name__)
            if reset:
                _check_feature_names(self, X, reset=True)
                self.n_features_in_ = len(self.encoder_.columns)
            return self.encoder_.encode(frame_columns(X))
        is_list = isinstance(X, list) or getattr(X, "ndim", 0) == 1
        if is_list and isinstance(next(iter(X), None), str):
            raise InputError("X", "be a table of numbers, or one with named columns", "texts", TEXT)
        dtypes = (np.float64, np.float32)
        try:
            array = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=dtypes, allow_nd=True
            )
        except ValueError as error:
            word = r"could not convert string to float: (?:np.str_\()?(.*?)\)?$"
            if (found := re.search(word, str(error))) is None:
                raise
            advice = (
                "Words may be in tables with named columns, such as data frames, where those of "
            )
            advice += "training have them."
            raise InputError("X", "hold numbers", found[1], advice) from None
        if array.ndim not in (2, 4):
            rule = (
                "be a table of shape (n, features) or images of shape (n, channels, height, width)"
            )
            raise InputError("X", rule, array.shape)
        return array

    def _partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Take one pass over some rows; the first call builds everything."""
        first = not hasattr(self, "network_")
        rows, targets, weight = self._check(X, y, sample_weight, reset=first, classes=classes)
        seed = self._draw_seed()
        if first:
            every = np.arange(rows.shape[0])
            data = self._build(rows, targets, every, weight, seed, use_prior=False)
        else:
            data = Split(self._prepare(rows), targets)
            seed = derive_seed(seed, "order", len(self.history_))
        lr = self.settings_.lr * defaults.PARTIAL_FIT_RATE
        settings = replace(self.settings_, lr=lr, epochs=1, schedule="constant", seed=seed)
        examples = data.inputs, data.targets
        run = fit(self.network_, self.space_, examples, settings, **self._options(weight))
        self._record(run, data)
        return self

    def _weigh_classes(self, targets: dict[str, Tensor]) -> Weight:
        """Return the weight of each row's class, where classes have weights."""
        return None

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _split(self, n: int, targets: dict[str, Tensor], seed: int) -> tuple[Rows, Rows, Rows]:
        """Return the rows to train on, to stop by, and to calibrate by; the last two may be empty.

        They are disjoint: on rows that chose when to stop, the network and its confidence look
        better than they are.
        """
        train, valid, held_out = np.arange(n), np.arange(0), np.arange(0)
        share = check_finite_number(
            self.validation_fraction, "validation_fraction", above=0, at_most=0.9
        )
        labels = torch.zeros(n, dtype=torch.int64)
        if len(targets) == len(self._class_columns) == 1:
            (labels,) = targets.values()
        for name in ("calibrate", "early_stopping"):
            if not isinstance(given := getattr(self, name), bool | np.bool_):
                raise InputTypeError(name, "be True or False", repr(given))
        if self.calibrate or getattr(self, "reject", None) is not None:
            train, held_out = _hold_out(train, share, seed, labels)
        if self.early_stopping:
            train, valid = _hold_out(train, share, seed + 1, labels)
        return train, valid, held_out

    def _build(
        self,
        rows: Array,
        targets: dict[str, Tensor],
        train: Rows,
        weight: Weight,
        seed: int,
        *,
        use_prior: bool,
    ) -> Split:
        """Measure the scale of the training rows, place the classes, and build the network.

        Return all rows as the network takes them.
        """
        choose(self.standardize, dict.fromkeys(("auto", *get_args(Scaling))), what="scaling")
        how = defaults.choose_scaling(self.standardize, sparse=is_sparse(rows))
        weight = _select(weight, train)
        self.inputs_ = Standardizer.fit(_select(rows, train), weight, how)
        inputs = self.inputs_(rows)
        data, kind = Split(inputs, targets), kind_of(inputs, self.inputs_)
        learned = _select(data, train)
        self.space_ = self._build_space(learned, use_prior=use_prior)
        by_row = None if weight is None else torch.from_numpy(weight)
        self.space_.balance(learned.targets, by_row)
        self.targets_ = self.space_.tasks
        settings = TrainSettings(
            epochs=_unless_auto(self.epochs, "epochs"),
            batch_size=_unless_auto(self.batch_size, "batch_size"),
            lr=_unless_auto(self.lr, "lr"),
            weight_decay=_unless_auto(self.weight_decay, "weight_decay"),
            seed=seed,
        )
        self.settings_ = resolve_settings(settings, self.space_, len(learned), kind)
        self.network_ = self._build_network(inputs, seed)
        self.history_ = []
        self.held_out_ = self.replay_ = None
        self.calibrations_ = {}
        return data

    def _build_space(self, train: Split, *, use_prior: bool) -> Space:
        """Lay out the sphere; classes for which there is no room for a simplex are placed by how
        similar their examples are.
        """
        tasks, classes = dict(self.targets_), self._class_columns
        dim, separate = choose_layout(tasks, _unless_auto(self.dim, "dim"))
        if use_prior and len(classes) == len(tasks) == 1:
            ((name, task),) = classes.items()
            if defaults.uses_prior([task.num_classes], 0, dim, loss_name(task)):
                prior = prior_from_data(train, name, task)
                tasks[name] = replace(task, classes=_place(task, dim, prior))
        return Space(dim, tasks, separate=separate)

    def _build_network(self, inputs: Any, seed: int) -> nn.Module:
        """Build the network for such inputs, its weights fixed by the seed."""
        given: object = self.backbone
        dim, shape = self.space_.dim, tuple(inputs.shape[1:])
        kind = kind_of(inputs, self.inputs_)
        is_table = len(shape) == 1
        if not callable(given) and not isinstance(given, str):
            rule = 'be a name, such as "resnet-20", or a function (out_dim, shape) -> nn.Module'
            raise InputTypeError("backbone", rule, type(given).__name__)
        if is_table and not callable(given) and given not in ("auto", MLP.name):
            rule = f'be "auto" or "{MLP.name}" for a table'
            raise InputError("backbone", rule, f'"{given}", which takes images')
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network: object
            if callable(given):
                network = given(dim, shape)
            elif given == "auto" or is_table:
                chosen, options = defaults.choose_backbone(shape, kind)
                hidden = _unless_auto(self.hidden, "hidden")
                if is_table and hidden is not None:
                    sizes = np.atleast_1d(np.asarray(hidden, dtype=object)).tolist()
                    options["hidden"] = check_integers(sizes, "hidden", at_least=1)
                network = create_backbone(chosen, out_dim=dim, **options)
            else:
                network = build_network(NetworkSpec(backbone=given), shape, kind, dim, seed=seed)
        if not isinstance(network, nn.Module):
            raise InputTypeError("backbone", "give a torch module", type(network).__name__)
        return network.to(inputs.dtype)

    def _options(self, weight: Weight, stop_by: Split | None = None) -> dict[str, Any]:
        """Return what the training loop is told beyond the settings."""
        options: dict[str, Any] = {"progress": self.verbose and "lines"}
        if stop_by is not None:
            options |= {"valid": (stop_by.inputs, stop_by.targets), "restore_best": True}
        if weight is not None:
            options["sample_weight"] = torch.from_numpy(weight / weight.mean())
        return options

    def _record(self, run: Run, examples: Split) -> None:
        """Keep what is known after training on some examples."""
        self.history_ += run.history
        self.n_iter_ = len(self.history_)
        self.loss_ = self.history_[-1]["loss"]
        self._keep_examples(examples)

    @abstractmethod
    def _calibrate(self, data: Split) -> Self:
        """Fit confidence to rows that were not trained on."""

    def _keep_examples(self, examples: Split) -> None:
        """Keep some examples for when classes are added, where the parameters ask for it."""
        self.replay_ = None

    def _prepare(self, rows: Array) -> Tensor:
        """Return checked inputs as the network takes them."""
        return self.inputs_(rows).to(next(self.network_.parameters()).dtype)

    def _inputs(self, X: ArrayLike) -> Tensor:
        return self._prepare(self._check_inputs(X, reset=False))

    def _outputs(self, X: ArrayLike) -> Tensor:
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

    def _predictions(self, z: Tensor) -> dict[str, Array]:
        """Return predictions by column, in the dtype of the column."""
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


def read_column(y: ArrayLike) -> Array:
    """Return the one column of ``y``, shape (n,), without gaps."""
    values: Array = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    return values


def _place(task: Classes, dim: int, prior: Prior | None) -> Prototypes:
    method = "auto" if prior is None else defaults.choose_prior_method(task.num_classes, dim)
    classes = task.names or task.num_classes
    return place(classes, dim, prior=prior, method=method, effort="fast", progress=False)


def _unless_auto(value: T | str, name: str) -> T | None:
    """Return None where a parameter says "auto", and anything but another text as it is."""
    if not isinstance(value, str):
        return value
    choose(value, {"auto": None}, what=name.replace("_", " "))
    return None


def _select(data: Any, rows: Rows) -> Any:
    """Return some rows of an array, a sparse matrix or a split; all of them, and None, as they
    are.
    """
    if isinstance(data, Split):
        return data if len(rows) == len(data) else select(data, torch.from_numpy(rows))
    return data if data is None or len(rows) == data.shape[0] else data[rows]


def _hold_out(rows: Rows, share: float, seed: int, labels: Tensor) -> tuple[Rows, Rows]:
    """Return the rows to keep and those held out, each class in proportion."""
    count = max(1, round(share * len(rows)))
    if count >= len(rows):
        raise InputError(
            "validation_fraction", "leave rows to train on", f"{share:g} of {len(rows)} rows"
        )
    taken = draw_rows(labels[torch.from_numpy(rows)], count, seed=seed).numpy()
    return np.delete(rows, taken), rows[taken]
