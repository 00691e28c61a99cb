"""The methods: ours with its defaults, and what people pick instead, with the settings of one who knows how to.

Every method trains on a :class:`~benchmarks.own_data.rows.Fold` by ``fit(inputs, targets)`` and answers by
``predict(inputs)``, targets and answers by name. What needs torch is imported only where it is used, so that the
memory of a peer is its own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.own_data.rows import Fold, Values

MANY_ROWS = 10_000  # from here on a perceptron stops early, as scikit-learn's boosting does by itself
COMPONENTS = 100
MOST_CATEGORIES = 200  # of a column that boosting gets


def split_dates(table: pd.DataFrame) -> pd.DataFrame:
    """Replace each column of times by its hour and its day of the week."""
    found = {}
    for name, column in table.items():
        times = pd.to_datetime(column)
        found |= {f"{name} hour": times.dt.hour, f"{name} day": times.dt.dayofweek}
    return pd.DataFrame(found, index=table.index)


def is_date(column: Any) -> bool:
    return bool(column.dtype.kind not in "biuf" and column.dropna().astype(str).str.match(r"\d{4}-\d\d-\d\d").all())


def table_columns(table: pd.DataFrame) -> ColumnTransformer:
    """Return what makes numbers of a table: medians for missing ones, a column per frequent category, scaled."""
    dates = [name for name, column in table.items() if is_date(column)]
    categories = [
        name for name in make_column_selector(dtype_include=["object", "string", "bool"])(table) if name not in dates
    ]
    numbers = [name for name in table if name not in (*dates, *categories)]
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("categories", make_pipeline(FunctionTransformer(as_words), encoder), categories),
            ("dates", make_pipeline(FunctionTransformer(split_dates), StandardScaler()), dates),
        ]
    )


def as_words(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(object).where(table.notna(), "missing").astype(str)


def prepare(fold: Fold) -> Any:
    """Return the steps in front of a peer that sees numbers of about one size."""
    if fold.kind == "table":
        return table_columns(fold.train)
    if fold.kind == "images":
        flat = FunctionTransformer(lambda images: images.reshape(len(images), -1) / np.float32(255))
        return make_pipeline(flat, PCA(min(COMPONENTS, len(fold.train)), random_state=fold.seed))
    return "passthrough"  # TF-IDF has rows of length 1


class OnePerTarget:
    """A scikit-learn model for each target."""

    def __init__(self, fold: Fold, build: Callable[[str], Any], steps: Any = None) -> None:
        self.steps, self.build = steps or prepare(fold), build

    def fit(self, inputs: Any, targets: Values) -> None:
        self.models = {
            name: make_pipeline(self.steps, self.build(name)).fit(inputs, values) for name, values in targets.items()
        }

    def predict(self, inputs: Any) -> Values:
        return {name: model.predict(inputs) for name, model in self.models.items()}


def constant(fold: Fold) -> Any:
    models = {"class": DummyClassifier(strategy="most_frequent"), "number": DummyRegressor(strategy="median")}
    return OnePerTarget(fold, models.__getitem__)


def linear(fold: Fold) -> Any:
    logistic = LogisticRegression(C=10 if fold.kind == "text" else 1, max_iter=1000)
    if fold.kind == "images":
        logistic = make_pipeline(StandardScaler(), logistic)
    return OnePerTarget(fold, {"class": logistic, "number": RidgeCV(np.logspace(-2, 4, 13))}.__getitem__)


def support_vectors(fold: Fold) -> Any:
    """A linear support vector machine; with radial basis functions on the principal components of images."""
    model = SVC(C=10) if fold.kind == "images" else LinearSVC(random_state=fold.seed)
    return OnePerTarget(fold, {"class": model}.__getitem__) if set(fold.train_targets) == {"class"} else None


def perceptron(fold: Fold) -> Any:
    early = fold.kind != "text" and fold.train.shape[0] > MANY_ROWS
    settings = {"max_iter": 15 if fold.kind == "text" else 200, "early_stopping": early, "random_state": fold.seed}
    scale = [StandardScaler()] if fold.kind == "images" else []
    models = {
        "class": make_pipeline(*scale, MLPClassifier((100,), **settings)),
        "number": TransformedTargetRegressor(
            make_pipeline(*scale, MLPRegressor(hidden_layer_sizes=(100,), **settings)), transformer=StandardScaler()
        ),
    }
    return OnePerTarget(fold, models.__getitem__)


def boosting(fold: Fold) -> Any:
    """Trees of histograms, for dense tables; they take categories and gaps as they are."""
    settings = {"categorical_features": "from_dtype", "random_state": fold.seed}
    models = {
        "class": HistGradientBoostingClassifier(**settings),
        "number": HistGradientBoostingRegressor(**settings),
    }
    leave_out = [] if fold.kind != "table" else [n for n, c in fold.train.items() if is_long_list(c)]
    steps = FunctionTransformer(as_categories, kw_args={"leave_out": leave_out})
    return OnePerTarget(fold, models.__getitem__, steps) if fold.kind == "table" else None


def is_long_list(column: Any) -> bool:
    """Whether these are words of which most occur rarely, such as names; boosting takes 255 categories at most."""
    return bool(column.dtype.kind not in "biuf" and not is_date(column) and column.nunique() > MOST_CATEGORIES)


def as_categories(table: pd.DataFrame, leave_out: list[str]) -> pd.DataFrame:
    """Return a table whose times are split, and whose words are categories."""
    table = table.drop(columns=leave_out)
    dates = [name for name, column in table.items() if is_date(column)]
    words = [name for name in table if table[name].dtype.kind not in "biuf" and name not in dates]
    rest = table.drop(columns=dates).astype(dict.fromkeys(words, "category"))
    return pd.concat([rest, split_dates(table[dates])], axis=1)


class SameNetwork:
    """The network that ours takes, trained in the same way, with a logit per class and a plain number."""

    def __init__(self, fold: Fold) -> None:
        self.seed, self.columns = fold.seed, network_columns(fold)

    def fit(self, inputs: Any, targets: Values) -> None:
        import torch

        import hyperproto as hp
        from hyperproto.baselines import ConventionalSpace
        from hyperproto.data import Standardizer
        from hyperproto.models import default_backbone
        from hyperproto.training.fit import kind_of

        torch.manual_seed(self.seed)
        encoded = self.columns.fit_transform(inputs)
        self.scaling = Standardizer.fit(encoded, how="global" if hasattr(encoded, "tocsr") else "none")
        rows = self.scaling(encoded.astype(np.float32))
        self.classes, ids = np.unique(targets.get("class", [0]), return_inverse=True)
        tasks, known = {}, {}
        if "class" in targets:
            tasks["class"], known["class"] = hp.Classes(len(self.classes)), torch.as_tensor(ids)
        if "number" in targets:
            numbers = targets["number"]
            tasks["number"] = hp.Range(float(numbers.min()), float(numbers.max()))
            known["number"] = torch.as_tensor(numbers)
        self.space = ConventionalSpace(tasks)
        self.network = default_backbone(self.space.dim, tuple(rows.shape[1:]), kind_of(rows))
        hp.fit(self.network, self.space, (rows, known), seed=self.seed, progress=False)

    def predict(self, inputs: Any) -> Values:
        from hyperproto.training.outputs import stack_outputs

        outputs = stack_outputs(self.network, self.scaling(self.columns.transform(inputs).astype(np.float32)))
        answers = {name: value.numpy() for name, value in self.space.predict(outputs).items()}
        return answers | ({"class": self.classes[answers["class"]]} if "class" in answers else {})


class Ours:
    """The estimators of this library with their defaults."""

    def __init__(self, fold: Fold) -> None:
        self.seed, self.columns = fold.seed, our_columns(fold)

    def fit(self, inputs: Any, targets: Values) -> None:
        from hyperproto import estimators

        rows, both = self.columns.fit_transform(inputs), pd.DataFrame(targets)
        if len(targets) == 2:
            self.model = estimators.HypersphericalMultiTask(random_state=self.seed).fit(rows, both)
        elif "class" in targets:
            self.model = estimators.HypersphericalClassifier(random_state=self.seed).fit(rows, targets["class"])
        else:
            self.model = estimators.HypersphericalRegressor(random_state=self.seed).fit(rows, targets["number"])
        self.names = list(targets)

    def predict(self, inputs: Any) -> Values:
        answers = self.model.predict(self.columns.transform(inputs))
        if len(self.names) == 1:
            return {self.names[0]: answers}
        return {"class": answers[:, 0].astype(str), "number": answers[:, 1].astype(float)}


def our_columns(fold: Fold) -> Any:
    """Return what happens to inputs in front of ours: tables and texts are taken as they are."""
    return as_images() if fold.kind == "images" else FunctionTransformer()


def network_columns(fold: Fold) -> Any:
    """Return what happens to inputs in front of the same network without a sphere; texts stay sparse."""
    if fold.kind == "text":
        return FunctionTransformer()
    return table_columns(fold.train) if fold.kind == "table" else as_images()


def as_images() -> Any:
    return FunctionTransformer(lambda images: (images / np.float32(255) - np.float32(0.45)) / np.float32(0.25))


METHODS: dict[str, Callable[[Fold], Any]] = {  # None where a method does not apply
    "ours": Ours,
    "linear": linear,
    "support vectors": support_vectors,
    "perceptron": perceptron,
    "boosting": boosting,
    "same network": SameNetwork,
    "constant": constant,
}
NEED_TORCH = ("ours", "same network")
