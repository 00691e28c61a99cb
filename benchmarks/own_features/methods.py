"""The methods: ours with its defaults, and what people pick instead, with the settings of one who
knows how to.

Every method trains on a :class:`~benchmarks.own_features.rows.Fold` by ``fit(inputs, targets)`` and
answers by ``predict(inputs)``, targets and answers by name. What needs torch is imported only where
it is used, so that the memory of a peer is its own.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.own_data.loaded import Fold, Images, Values
from benchmarks.own_data.prepare import as_categories, is_long_list, table_columns

MANY_ROWS = (
    10_000  # from here on a perceptron stops early, as scikit-learn's boosting does by itself
)
# of rows and classes; with more, a linear support vector machine takes minutes on features
MANY_PAIRS = 25_000
COMPONENTS = 100
PLAIN_NUMBER_RATES = (0.01, 0.03, 0.1, 0.3)


def prepare(fold: Fold) -> Any:
    """Return the steps in front of a peer that sees numbers of about one size."""
    if fold.kind == "images":
        return make_pipeline(FunctionTransformer(features_of), StandardScaler())
    return (
        table_columns(fold.train) if fold.kind == "table" else "passthrough"
    )  # TF-IDF has rows of length 1


def features_of(images: Images) -> Any:
    return images.features


def pixels_of(images: Images) -> Any:
    return images.read(images.ids).reshape(len(images), -1) / np.float32(255)


class OnePerTarget:
    """A scikit-learn model for each target."""

    def __init__(self, fold: Fold, build: Callable[[str], Any], steps: Any = None) -> None:
        self.steps, self.build = steps or prepare(fold), build

    def fit(self, inputs: Any, targets: Values) -> None:
        self.models = {
            name: make_pipeline(self.steps, self.build(name)).fit(inputs, values)
            for name, values in targets.items()
        }

    def predict(self, inputs: Any) -> Values:
        return {name: model.predict(inputs) for name, model in self.models.items()}


def constant(fold: Fold) -> Any:
    models = {
        "class": DummyClassifier(strategy="most_frequent"),
        "number": DummyRegressor(strategy="median"),
    }
    return OnePerTarget(fold, models.__getitem__)


def linear(fold: Fold) -> Any:
    logistic = LogisticRegression(C=10 if fold.kind == "text" else 1, max_iter=1000)
    return OnePerTarget(
        fold, {"class": logistic, "number": RidgeCV(np.logspace(-2, 4, 13))}.__getitem__
    )


def support_vectors(fold: Fold) -> Any:
    """A linear machine, for classes; on features of images only where there are few rows and
    classes.
    """
    if set(fold.train_targets) != {"class"}:
        return None
    pairs = fold.train.shape[0] * len(np.unique(fold.train_targets["class"]))
    if fold.kind == "images" and pairs > MANY_PAIRS:
        return None
    return OnePerTarget(fold, {"class": LinearSVC(random_state=fold.seed)}.__getitem__)


def pixels(fold: Fold) -> Any:
    """Radial basis functions on principal components of pixels: what people take without pretrained
    weights.
    """
    if fold.kind != "images" or set(fold.train_targets) != {"class"}:
        return None
    steps = make_pipeline(
        FunctionTransformer(pixels_of),
        PCA(min(COMPONENTS, len(fold.train)), random_state=fold.seed),
    )
    return OnePerTarget(fold, {"class": SVC(C=10)}.__getitem__, steps)


def perceptron(fold: Fold) -> Any:
    early = fold.kind != "text" and fold.train.shape[0] > MANY_ROWS
    settings = {
        "max_iter": 15 if fold.kind == "text" else 200,
        "early_stopping": early,
        "random_state": fold.seed,
    }
    models = {
        "class": MLPClassifier((100,), **settings),
        "number": TransformedTargetRegressor(
            MLPRegressor(hidden_layer_sizes=(100,), **settings), transformer=StandardScaler()
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
    leave_out = (
        [] if fold.kind != "table" else [n for n, c in fold.train.items() if is_long_list(c)]
    )
    steps = FunctionTransformer(as_categories, kw_args={"leave_out": leave_out})
    return OnePerTarget(fold, models.__getitem__, steps) if fold.kind == "table" else None


def fit_plain(
    build: Callable[[], Any], space: Any, inputs: Any, known: dict[str, Any], settings: Any
) -> Any:
    """Return a network trained without a sphere: for a plain number at the best of four rates on a
    tenth of the rows.

    No one rate is good for all data: where some diverge, others have hardly begun to learn.
    """
    import torch

    import hyperproto as hp
    from hyperproto._core.errors import NonFiniteLossError

    def train(rows: Any, lr: float | None) -> Any:
        torch.manual_seed(settings.seed)
        network = build()
        part = (inputs, known)
        if rows is not None:  # which sparse ones are not cut by
            part = (inputs[rows], {name: values[rows] for name, values in known.items()})
        hp.fit(network, space, part, replace(settings, lr=lr), progress=False)
        return network

    if "number" not in known:
        return train(None, settings.lr)
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(settings.seed))
    held_out, rest = order[: len(order) // 10], order[len(order) // 10 :]
    part = {name: values[held_out] for name, values in known.items()}
    constant = (part["number"] - known["number"][rest].median()).abs().mean()
    scores = {}
    for lr in PLAIN_NUMBER_RATES:
        with contextlib.suppress(NonFiniteLossError):
            found = hp.evaluate(train(rest, lr), space, (inputs[held_out], part))
            scores[lr] = found.get("class/accuracy", 0.0) - found["number/mae"] / float(constant)
    return train(None, max(scores, key=lambda lr: scores[lr]))


class SameNetwork:
    """The network that ours takes, trained in the same way, with a logit per class and a plain
    number.
    """

    def __init__(self, fold: Fold) -> None:
        self.seed, self.kind = fold.seed, fold.kind
        self.columns = table_columns(fold.train) if fold.kind == "table" else FunctionTransformer()

    def fit(self, inputs: Any, targets: Values) -> None:
        from hyperproto.baselines import ConventionalSpace
        from hyperproto.data import Standardizer
        from hyperproto.defaults import FEWEST_BINS, ROWS_PER_BIN
        from hyperproto.models import default_backbone
        from hyperproto.spec import TrainSettings
        from hyperproto.training.fit import kind_of, resolve_settings

        encoded = self.columns.fit_transform(inputs)
        binned = (
            encoded.shape[0] >= ROWS_PER_BIN * FEWEST_BINS
        )  # as ours are; columns are on one scale already
        how = "global" if hasattr(encoded, "tocsr") else "binned" if binned else "none"
        self.scaling = Standardizer.fit(encoded, how=how)
        rows = self.scaling(encoded.astype(np.float32))
        self.tasks = Tasks(targets)
        self.space = ConventionalSpace(self.tasks.asked)
        kind = kind_of(rows, self.scaling)
        settings = resolve_settings(TrainSettings(seed=self.seed), self.space, len(rows), kind)
        self.network = fit_plain(
            lambda: default_backbone(self.space.dim, tuple(rows.shape[1:]), kind),
            *(self.space, rows, self.tasks.encode(targets), settings),
        )

    def predict(self, inputs: Any) -> Values:
        from hyperproto.training.outputs import stack_outputs

        outputs = stack_outputs(
            self.network, self.scaling(self.columns.transform(inputs).astype(np.float32))
        )
        return self.tasks.decode(self.space.predict(outputs))


class Tasks:
    """The targets as tasks of a space."""

    def __init__(self, targets: Values) -> None:
        import hyperproto as hp

        self.classes, self.asked = np.unique(targets.get("class", [0])), {}
        if "class" in targets:
            self.asked["class"] = hp.Classes(len(self.classes))
        if "number" in targets:
            self.asked["number"] = hp.Range(
                float(targets["number"].min()), float(targets["number"].max())
            )

    def encode(self, targets: Values) -> dict[str, Any]:
        import torch

        known = targets | (
            {"class": np.searchsorted(self.classes, targets["class"])} if "class" in targets else {}
        )
        return {name: torch.as_tensor(values) for name, values in known.items()}

    def decode(self, answers: dict[str, Any]) -> Values:
        found = {name: value.numpy() for name, value in answers.items()}
        return found | ({"class": self.classes[found["class"]]} if "class" in found else {})


class Ours:
    """The estimators of this library with their defaults."""

    def __init__(self, fold: Fold) -> None:
        self.seed = fold.seed

    def fit(self, inputs: Any, targets: Values) -> None:
        from hyperproto import estimators

        if len(targets) == 2:
            self.model = estimators.HypersphericalMultiTask(random_state=self.seed).fit(
                inputs, pd.DataFrame(targets)
            )
        elif "class" in targets:
            self.model = estimators.HypersphericalClassifier(random_state=self.seed).fit(
                inputs, targets["class"]
            )
        else:
            self.model = estimators.HypersphericalRegressor(random_state=self.seed).fit(
                inputs, targets["number"]
            )
        self.names = list(targets)

    def predict(self, inputs: Any) -> Values:
        answers = self.model.predict(inputs)
        if len(self.names) == 1:
            return {self.names[0]: answers}
        return {"class": answers[:, 0].astype(str), "number": answers[:, 1].astype(float)}


class Head:
    """What ``hyperproto train`` trains on the features of images, on a sphere or, for comparison,
    without one.
    """

    def __init__(self, fold: Fold, kind: str | None) -> None:
        self.seed, self.kind = fold.seed, kind

    def fit(self, inputs: Any, targets: Values) -> None:
        import torch

        import hyperproto as hp
        from hyperproto.data import ImagePreprocessing, Source, Split
        from hyperproto.defaults import HEAD_DECAY, PRETRAINED
        from hyperproto.spec import NetworkSpec, SpaceSpec, TrainSettings
        from hyperproto.tasks import Classes, Range
        from hyperproto.training.build import build_network
        from hyperproto.training.space import build_space

        self.tasks = Tasks(targets)
        known, features = self.tasks.encode(targets), torch.from_numpy(inputs.features)
        described = {
            name: Classes(tuple(map(str, self.tasks.classes)))
            if name == "class"
            else Range(task.low, task.high, outside="clip")
            for name, task in self.tasks.asked.items()
        }
        prepared = ImagePreprocessing(128)
        source = Source("features", Split(features, known), None, described, prepared)
        loss = (
            "auto" if self.kind is None else "squared_cosine"
        )  # without a sphere: squared error, as for tables
        self.space = build_space(
            SpaceSpec(kind=self.kind, loss=loss),
            source.targets,
            source.train,
            seed=self.seed,
            frozen=True,
        )
        spec = NetworkSpec(backbone=PRETRAINED, freeze=True)
        settings = TrainSettings(weight_decay=HEAD_DECAY, seed=self.seed)

        def build() -> Any:  # the rest is frozen
            return build_network(
                spec, prepared.input_shape, "images", self.space.dim, seed=self.seed
            ).output

        if self.kind == "conventional":
            self.network = fit_plain(build, self.space, features, known, settings)
        else:
            self.network = build()
            hp.fit(self.network, self.space, (features, known), settings, progress=False)

    def predict(self, inputs: Any) -> Values:
        import torch

        from hyperproto.training.outputs import stack_outputs

        outputs = stack_outputs(self.network, torch.from_numpy(inputs.features))
        return self.tasks.decode(self.space.predict(outputs))


def ours(fold: Fold) -> Any:
    return Head(fold, None) if fold.kind == "images" else Ours(fold)


def same_network(fold: Fold) -> Any:
    return Head(fold, "conventional") if fold.kind == "images" else SameNetwork(fold)


METHODS: dict[str, Callable[[Fold], Any]] = {  # None where a method does not apply
    "ours": ours,
    "linear": linear,
    "support vectors": support_vectors,
    "pixels": pixels,
    "perceptron": perceptron,
    "boosting": boosting,
    "same network": same_network,
    "constant": constant,
}
NEED_TORCH = ("ours", "same network")
