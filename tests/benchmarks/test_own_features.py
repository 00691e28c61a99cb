"""The comparison on texts, images and two targets: its folds, its methods, and its verdicts."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
from sklearn import datasets

from benchmarks.own_data.loaded import Loaded
from benchmarks.own_features import read, write
from benchmarks.own_features.job import run
from benchmarks.own_features.rows import ROWS, Row, load_fold
from benchmarks.own_features.verdict import Score, judge, table
from benchmarks.own_features.verdict import score as rate


def read_wine(folder: Path) -> Loaded:
    found = datasets.load_wine(as_frame=True)
    inputs = found.data.drop(columns="alcohol")
    return Loaded(inputs, {"class": found.target.to_numpy()})


def read_alcohol(folder: Path) -> Loaded:
    found = datasets.load_wine(as_frame=True).data
    return Loaded(found.drop(columns="alcohol"), {"number": found["alcohol"].to_numpy()})


WINE = Row("wine", "choose", "table", read_wine)
ALCOHOL = Row("alcohol", "choose", "table", read_alcohol)
MPG = next(row for row in ROWS if row.name == "mpg: origin and mpg")


def score(mean: float, error: float = 0.5, fit: float = 1.0) -> Score:
    return Score(mean, error, fit, predict=0.1, memory=100, count=5)


def result(method: str, accuracy: float, fold: int = 0) -> dict[str, object]:
    costs = {"fit": 1.0, "predict": 0.1, "memory": 100}
    return {
        "row": MPG.name,
        "method": method,
        "fold": fold,
        "accuracy": accuracy,
        "accuracy error": 1.0,
        **costs,
    }


def test_folds_answer_every_example_once():
    folds = [load_fold(WINE, Path(), number) for number in range(WINE.repeats)]
    assert sum(len(fold.test) for fold in folds) == 178
    assert all(len(fold.train) + len(fold.test) == 178 for fold in folds)
    assert len({tuple(row) for fold in folds for row in fold.test.to_numpy()}) == 178


@pytest.mark.parametrize(
    "method", ["ours", "linear", "support vectors", "perceptron", "same network"]
)
def test_every_method_learns_wine(method):
    found = run(WINE, method, 0, Path())
    assert found["accuracy"] > 90
    assert found["fit"] > 0
    assert found["memory"] > 50


def test_the_baseline_is_the_majority_class_or_the_median():
    fold = load_fold(ALCOHOL, Path(), 0)
    off = np.abs(fold.test_targets["number"] - np.median(fold.train_targets["number"]))
    assert run(ALCOHOL, "constant", 0, Path())["mae"] == pytest.approx(off.mean(), rel=1e-5)
    assert 30 < run(WINE, "constant", 0, Path())["accuracy"] < 50


def test_a_method_that_does_not_apply_has_no_measure():
    assert run(ALCOHOL, "support vectors", 0, Path()) == {
        "row": "alcohol",
        "method": "support vectors",
        "fold": 0,
    }


@pytest.mark.parametrize(
    ("measure", "ours", "perceptron", "verdict"),
    [
        ("accuracy", score(90.0), score(90.4), "level"),
        ("accuracy", score(90.0), score(91.4), "short of MLP"),
        ("accuracy", score(90.0), score(91.6), "short of MLP; behind MLP"),
        ("accuracy", score(90.0, error=2.0), score(91.6), "level"),
        ("accuracy", score(90.0, fit=2.1), score(80.0), "level; slow"),
        ("mae", score(10.0, 0.1), score(9.8, 0.1), "short of MLP"),
        ("mae", score(10.0, 0.1), score(9.6, 0.1), "short of MLP; behind MLP"),
        ("mae", score(9.0, 0.1), score(9.6, 0.1), "level"),
    ],
)
def test_verdicts(measure, ours, perceptron, verdict):
    assert judge(measure, ours, {"perceptron": perceptron}) == verdict


def test_results_are_kept_and_become_a_line(tmp_path):
    kept = [
        result("linear", 95.0, 1),
        result("linear", 97.0),
        result("ours", 90.0, 1),
        result("ours", 92.0),
    ]
    write(MPG, kept, tmp_path / "kept.jsonl")
    stored = read(MPG, tmp_path / "kept.jsonl")
    assert [(r["method"], r["fold"]) for r in stored] == [
        ("ours", 0),
        ("ours", 1),
        ("linear", 0),
        ("linear", 1),
    ]
    (line,) = table(stored)
    assert line["ours"] == "91.0 ± 1.0"
    assert line["verdict"] == "short of logistic or ridge; behind logistic or ridge (unfinished)"


def test_folds_have_examples_of_their_own_and_seeds_share_theirs():
    taxis, texts = (
        next(row for row in ROWS if row.name == name)
        for name in ("taxis: payment and fare", "Banking77, words")
    )
    three = [result("ours", 90.0, fold) for fold in range(3)]
    assert rate(taxis, "accuracy", three).error == pytest.approx(3**-0.5)
    assert rate(texts, "accuracy", three).error == 1
