"""Five-fold cross-validation of the estimators against scikit-learn's, all with their defaults, times as ratios.

Processor time of ``fit`` on one thread, so that what else the machine does counts little. The table says itself where
ours falls short of the perceptron's mean by more than a standard error, or takes longer.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor

from hyperproto.estimators import HypersphericalClassifier, HypersphericalRegressor

CLASSES, FEATURES, EACH = 1000, 64, 5


def many_classes() -> tuple[np.ndarray, np.ndarray]:
    """A thousand centers and five rows around each."""
    draw = np.random.default_rng(0)
    labels = np.arange(CLASSES * EACH) % CLASSES
    return draw.normal(size=(CLASSES, FEATURES))[labels] + 0.6 * draw.normal(size=(len(labels), FEATURES)), labels


SETS: dict[str, Callable[[], Any]] = {
    "digits": partial(load_digits, return_X_y=True),
    "wine": partial(load_wine, return_X_y=True),
    "breast cancer": partial(load_breast_cancer, return_X_y=True),
    "diabetes": partial(load_diabetes, return_X_y=True),
    "1,000 classes": many_classes,
}
CLASSIFIERS = {
    "MLPClassifier": MLPClassifier,
    "HypersphericalClassifier": HypersphericalClassifier,
    "LogisticRegression": LogisticRegression,
    "HistGradientBoostingClassifier": HistGradientBoostingClassifier,
}
REGRESSORS = {
    "MLPRegressor": MLPRegressor,
    "HypersphericalRegressor": HypersphericalRegressor,
    "Ridge": Ridge,
    "HistGradientBoostingRegressor": HistGradientBoostingRegressor,
}
LEFT_OUT = {("1,000 classes", "HistGradientBoostingClassifier"): "left out: it grows 1,000 trees an iteration"}


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers say that they did not converge in their default iterations
            rows = [row for name in SETS for row in measure_set(name)]
    finally:
        torch.set_num_threads(threads)
    return "Five-fold cross-validation, everything at its defaults, one thread", rows


def measure_set(name: str) -> list[dict[str, object]]:
    X, y = SETS[name]()
    models = REGRESSORS if name == "diabetes" else CLASSIFIERS
    split = KFold if name == "diabetes" else StratifiedKFold
    folds = list(split(5, shuffle=True, random_state=1).split(X, y))  # 0 was looked at to choose defaults
    models = {model: build for model, build in models.items() if (name, model) not in LEFT_OUT}
    found: dict[str, list[tuple[float, float]]] = {model: [] for model in models}
    for build in models.values():  # what is loaded at the first fit is not counted
        _build(build).fit(X[:20], np.arange(20) % 2)
    for train, test in folds:  # one after the other, so that a busy machine is busy for all
        for model, build in models.items():
            found[model].append(fold(_build(build), (X, y), train, test))
    peer = next(iter(models))
    rows = [describe(name, model, peer, found) for model in models]
    print(*(f"{row['data']}: {row['model']} {row['mean']}, {row['fit, s']} s" for row in rows), sep="\n", flush=True)
    empty = dict.fromkeys(rows[0], "")
    return rows + [empty | {"data": name, "model": m, "remark": why} for (d, m), why in LEFT_OUT.items() if d == name]


def _build(build: Callable[..., Any]) -> Any:
    return build(random_state=0)


def fold(model: Any, data: Any, train: Any, test: Any) -> tuple[float, float]:
    X, y = data
    started = time.process_time()
    model.fit(X[train], y[train])
    seconds = time.process_time() - started
    return model.score(X[test], y[test]), seconds


def describe(name: str, model: str, peer: str, found: dict[str, list[tuple[float, float]]]) -> dict[str, object]:
    scores, seconds = np.array(found[model]).T
    theirs, their_seconds = np.array(found[peer]).T
    error, their_error = (s.std(ddof=1) / np.sqrt(len(s)) for s in (scores, theirs))
    ratio = float(np.median(seconds / their_seconds))
    remark = ""
    if model.startswith("Hyperspherical"):
        short = scores.mean() < theirs.mean() - max(error, their_error)
        shortfalls = ["below the perceptron"] if short else []
        shortfalls += ["slower than the perceptron"] if ratio > 1 else []
        remark = "; ".join(shortfalls) or "at least the perceptron's mean, in no more time"
    return {
        "data": name,
        "model": model,
        "measure": "R²" if name == "diabetes" else "accuracy",
        "mean": round(float(scores.mean()), 4),
        "standard error": round(float(error), 4),
        "fit, s": round(float(np.median(seconds)), 3),
        "fit / perceptron's": round(ratio, 2),
        "remark": remark,
    }
