"""What the records say: ranks, and in how many tables a method is ahead, level and behind.

A method is *ahead* in a table where it is better than the best of the others by more than one
standard error of their difference over folds, *behind* where it is short of that one by more than
1.5 points of accuracy or AUC, or 3 % of a loss or an error, and by more than one standard error.
Everywhere else it is *level*. Methods that were measured on the first fold alone are ranked on it,
beside all others, without that error.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

POINTS, SHARE = 1.5, 0.03
MEASURES = {"accuracy": 1, "auc": 1, "log loss": -1, "mae": -1, "rmse": -1}  # 1: more is better
PEERS = {
    "linear": "logistic or ridge",
    "perceptron": "MLP",
    "boosting": "boosting",
    "forest": "forest",
    "support vectors": "SVM",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "real mlp": "RealMLP",
    "tabm": "TabM",
    "constant": "baseline",
}
TITLES = {"ours": "**ours**", **PEERS}
FAST = ("ours", "linear", "perceptron", "boosting", "forest", "support vectors")
SIZES = {"below 1,000 rows": (0, 1000), "1,000 to 5,000": (1000, 5000), "more": (5000, 10**9)}
Scores = dict[str, NDArray[np.float64]]  # of each method, by fold


def scores(records: Sequence[Mapping[str, Any]], measure: str, folds: int) -> dict[str, Scores]:
    """Return for each table what each method has on all of so many folds."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for record in records:
        if measure in record and record["fold"] < folds:
            methods = found.setdefault(record["row"], {})
            methods.setdefault(record["method"], {})[record["fold"]] = record[measure]
    return {
        row: {
            method: np.array([values[fold] for fold in range(folds)])
            for method, values in methods.items()
            if len(values) == folds
        }
        for row, methods in found.items()
    }


def verdict(measure: str, mine: NDArray[Any], others: Sequence[NDArray[Any]]) -> str:
    """Return "ahead", "level" or "behind"."""
    sign = MEASURES[measure]
    best = max(others, key=lambda values: sign * values.mean())
    short = sign * (best - mine)
    error = short.std(ddof=1) / len(short) ** 0.5 if len(short) > 1 else 0.0
    margin = POINTS if sign > 0 else SHARE * best.mean()
    if short.mean() < -error:
        return "ahead"
    return "behind" if short.mean() > max(error, margin) else "level"


def ranks(
    records: Sequence[Mapping[str, Any]], methods: Sequence[str] = FAST, folds: int = 3
) -> list[dict[str, object]]:
    """Return a line for each measure and method."""
    lines: list[dict[str, object]] = []
    for measure, sign in MEASURES.items():
        tables = {
            row: {method: of[method] for method in methods if method in of}
            for row, of in scores(records, measure, folds).items()
            if "ours" in of
        }
        present = [m for m in methods if tables and all(m in of for of in tables.values())]
        if "ours" not in present:
            continue
        places = [
            rankdata([-sign * of[method].mean() for method in present]) for of in tables.values()
        ]
        for method, rank in zip(present, np.mean(places, axis=0), strict=True):
            said = [
                verdict(measure, of[method], [of[other] for other in present if other != method])
                for of in tables.values()
            ]
            counts = {word: said.count(word) for word in ("ahead", "level", "behind")}
            about = {"folds": folds, "measure": measure, "method": method}
            lines.append({**about, "mean rank": f"{rank:.2f}", "tables": len(tables), **counts})
    return lines


def plain_ratios(records: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Return the mean absolute error as a share of that of the same network without a sphere, by
    the size of the table: the geometric mean over tables and its standard error.
    """
    lines: list[dict[str, object]] = []
    rows = {record["row"]: record["rows"] * 3 / 2 for record in records}
    found = scores(records, "mae", 3)
    for title, (least, most) in SIZES.items():
        ratios = [
            float(np.log(of["ours"] / of["same network"]).mean())
            for row, of in found.items()
            if least <= rows[row] < most and {"ours", "same network"} <= set(of)
        ]
        if len(ratios) > 1:
            error = np.std(ratios, ddof=1) / len(ratios) ** 0.5
            ratio = f"{np.exp(np.mean(ratios)):.3f} ± {error:.3f}"
            lines.append({"tables": title, "ours / same network": ratio, "count": len(ratios)})
    return lines


def fit_times(records: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float64]]:
    """Return for each method, on each table, its fit time as a share of the perceptron's; methods
    that were not measured on all tables are left out.
    """
    found = scores(records, "fit", 1)
    times = {row: of for row, of in found.items() if "ours" in of}
    return {
        method: np.array([of[method][0] / of["perceptron"][0] for of in times.values()])
        for method in TITLES
        if all({method, "perceptron"} <= set(of) for of in times.values())
    }
