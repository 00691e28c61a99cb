"""What people pick for a table with one target, with the settings of one who knows how to.

Each method is trained on the loss that it is scored by: a number by its squared error for the RMSE
and by its absolute error for the MAE, where the method has that. A forest, a perceptron of
scikit-learn and a ridge have the squared error alone, and their MAE is marked by that.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from benchmarks.own_data.loaded import Fold, Values
from benchmarks.own_data.prepare import as_categories, is_long_list, table_columns

Loss = Literal["class", "absolute", "squared"]
MANY_ROWS = 2000  # from which on RealMLP has 64 epochs in place of 256
TABM_STEPS = 800  # of TabM, which otherwise trains until 16 epochs bring nothing


class Model:
    """A model of scikit-learn's kind, whose inputs are prepared first."""

    def __init__(self, steps: Any, model: Any) -> None:
        self.pipeline, self.has_classes = make_pipeline(steps, model), is_classifier(model)

    def fit(self, inputs: Any, targets: Values) -> None:
        (values,) = targets.values()
        self.pipeline.fit(inputs, values)

    def predict(self, inputs: Any) -> Values:
        if not self.has_classes:
            return {"number": np.ravel(self.pipeline.predict(inputs))}
        found: Values = {"class": np.ravel(self.pipeline.predict(inputs)).astype(str)}
        if hasattr(self.pipeline, "predict_proba"):
            found["probabilities"] = self.pipeline.predict_proba(inputs)
            found["classes"] = self.pipeline.classes_
        return found


def constant(fold: Fold, loss: Loss) -> Any:
    models = {
        "class": DummyClassifier(strategy="prior"),
        "absolute": DummyRegressor(strategy="median"),
        "squared": DummyRegressor(strategy="mean"),
    }
    return Model("passthrough", models[loss])


def linear(fold: Fold, loss: Loss) -> Any:
    """Logistic regression or a ridge, on scaled columns."""
    model = (
        LogisticRegression(max_iter=1000) if loss == "class" else RidgeCV(np.logspace(-2, 4, 13))
    )
    return Model(table_columns(fold.train), model)


def support_vectors(fold: Fold, loss: Loss) -> Any:
    """Radial basis functions, for classes, without probabilities."""
    return (
        Model(table_columns(fold.train), SVC(random_state=fold.seed)) if loss == "class" else None
    )


def perceptron(fold: Fold, loss: Loss) -> Any:
    settings: Any = {"hidden_layer_sizes": (100,), "random_state": fold.seed}
    model: Any = MLPClassifier(**settings)
    if loss != "class":
        model = TransformedTargetRegressor(MLPRegressor(**settings), transformer=StandardScaler())
    return Model(table_columns(fold.train), model)


def forest(fold: Fold, loss: Loss) -> Any:
    kind = RandomForestClassifier if loss == "class" else RandomForestRegressor
    return Model(table_columns(fold.train), kind(random_state=fold.seed))


def categories_of(fold: Fold) -> Any:
    """Return what leaves categories and gaps to trees, without columns of long lists of words."""
    long = [name for name, column in fold.train.items() if is_long_list(column)]
    known = {
        name: pd.CategoricalDtype(sorted(column.dropna().unique()))
        for name, column in as_categories(fold.train, long).items()
        if column.dtype == "category"
    }

    def prepare(table: pd.DataFrame) -> pd.DataFrame:
        return as_categories(table, long).astype(known)

    return FunctionTransformer(prepare)


def boosting(fold: Fold, loss: Loss) -> Any:
    settings: Any = {"categorical_features": "from_dtype", "random_state": fold.seed}
    model: Any = HistGradientBoostingClassifier(**settings)
    if loss != "class":
        model = HistGradientBoostingRegressor(loss=f"{loss}_error", **settings)
    return Model(categories_of(fold), model)


def lightgbm(fold: Fold, loss: Loss) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    settings: Any = {"random_state": fold.seed, "n_jobs": 1, "verbose": -1}
    objective = {"absolute": "regression_l1", "squared": "regression"}
    model = LGBMClassifier(**settings)
    if loss != "class":
        model = LGBMRegressor(objective=objective[loss], **settings)
    return Model(categories_of(fold), model)


def catboost(fold: Fold, loss: Loss) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    words = [
        place
        for place, column in enumerate(as_categories(fold.train, []).dtypes)
        if column == "category"
    ]
    settings: Any = {
        "random_seed": fold.seed,
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
        "cat_features": words,
    }
    named = {"absolute": "MAE", "squared": "RMSE"}
    model = CatBoostClassifier(**settings)
    if loss != "class":
        model = CatBoostRegressor(loss_function=named[loss], **settings)
    return Model(FunctionTransformer(words_of_gaps), model)


def words_of_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose missing words are a word, as CatBoost wants it."""
    found = as_categories(table, [])
    for name, column in found.items():
        if column.dtype == "category":
            found[name] = column.astype(object).where(column.notna(), "missing").astype(str)
    return found


def filled(fold: Fold) -> Any:
    """Return what fills gaps by medians and tells words from numbers, as pytabkit wants it."""
    medians = as_categories(fold.train, []).median(numeric_only=True)

    def prepare(table: pd.DataFrame) -> pd.DataFrame:
        found = words_of_gaps(table).fillna(medians)
        words = [name for name, column in found.items() if column.dtype.kind not in "biuf"]
        return found.astype(dict.fromkeys(words, "category")).astype(
            dict.fromkeys([name for name in found if name not in words], np.float32)
        )

    return FunctionTransformer(prepare)


def pytabkit(fold: Fold, loss: Loss, name: str, **settings: Any) -> Any:
    from pytabkit.models.sklearn import sklearn_interfaces

    kind = "Classifier" if loss == "class" else "Regressor"
    metric: dict[Loss, dict[str, str]] = {
        "class": {"val_metric_name": "cross_entropy"},
        "absolute": {"val_metric_name": "mae", "train_metric_name": "mae"},
        "squared": {},
    }
    settings = settings | metric[loss]
    model = getattr(sklearn_interfaces, f"{name}_{kind}")(
        device="cpu", n_threads=1, random_state=fold.seed, **settings
    )
    return Model(filled(fold), model)


def real_mlp(fold: Fold, loss: Loss) -> Any:
    """RealMLP with its tuned defaults; stopped by the log loss, as its authors advise for it, and
    without label smoothing. On many rows it has a quarter of its epochs.
    """
    settings: dict[str, Any] = {"use_ls": False} if loss == "class" else {}
    if len(fold.train) > MANY_ROWS:
        settings["n_epochs"] = 64
    return pytabkit(fold, loss, "RealMLP_TD", **settings)


def tabm(fold: Fold, loss: Loss) -> Any:
    """TabM with its defaults, for so many steps at most."""
    batches = math.ceil(0.8 * len(fold.train) / 256)
    return pytabkit(fold, loss, "TabM_D", n_epochs=math.ceil(TABM_STEPS / batches))


class Ours:
    """The estimators of this library with their defaults."""

    def __init__(self, fold: Fold, loss: Loss) -> None:
        from hyperproto import estimators

        self.model: Any = estimators.HypersphericalClassifier(random_state=fold.seed)
        if loss != "class":
            self.model = estimators.HypersphericalRegressor(random_state=fold.seed, loss=loss)

    def fit(self, inputs: Any, targets: Values) -> None:
        (values,) = targets.values()
        self.model.fit(inputs, values)

    def predict(self, inputs: Any) -> Values:
        if not hasattr(self.model, "classes_"):
            return {"number": self.model.predict(inputs)}
        shares = self.model.predict_proba(inputs)
        classes = self.model.classes_
        return {"class": self.model.predict(inputs), "probabilities": shares, "classes": classes}


class SameNetwork(Ours):
    """The network, inputs, steps and learning rate of ours with plain outputs: a logit per class,
    or the number in units of its interquartile range.
    """

    def __init__(self, fold: Fold, loss: Loss) -> None:
        super().__init__(fold, loss)
        self.loss = loss

    def fit(self, inputs: Any, targets: Values) -> None:
        from hyperproto.baselines import ConventionalSpace
        from hyperproto.defaults import BINNED_RATE, ROW_RATE
        from hyperproto.estimators import base
        from hyperproto.training.fit import resolve_settings

        def conventional(train: Any, *, use_prior: bool) -> Any:
            tasks = self.model.targets_
            if self.loss != "class":
                chosen = {
                    name: task.resolved(number_loss=self.loss) for name, task in tasks.items()
                }
                tasks = chosen
            return ConventionalSpace(tasks)

        def same_rate(settings: Any, space: Any, count: int, kind: Any) -> Any:
            lr = BINNED_RATE if kind == "binned rows" else ROW_RATE
            if self.loss == "squared":
                lr = None  # at that rate the squared error of a plain number may diverge
            return resolve_settings(replace(settings, lr=lr), space, count, kind)

        self.model._build_space = conventional
        with patch.object(base, "resolve_settings", same_rate):
            super().fit(inputs, targets)


METHODS: dict[str, Callable[[Fold, Loss], Any]] = {  # None where a method does not apply
    "ours": Ours,
    "linear": linear,
    "perceptron": perceptron,
    "boosting": boosting,
    "forest": forest,
    "support vectors": support_vectors,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "real mlp": real_mlp,
    "tabm": tabm,
    "same network": SameNetwork,
    "constant": constant,
}
ONLY_SQUARED = ("linear", "perceptron", "forest")
SLOW = ("catboost", "real mlp", "tabm")  # measured on the first fold alone
"""On one core these take ten to a hundred times as long as the others."""


def losses_of(method: str, task: str) -> Sequence[Loss]:
    """Return the losses that a method is trained on in turn."""
    if task == "class":
        return ("class",)
    return ("squared",) if method in ONLY_SQUARED else ("absolute", "squared")
