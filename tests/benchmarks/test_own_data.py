"""The comparison on tables that were drawn once: the draw, the folds, the measures, the verdicts."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
from benchmarks.own_data import add, measure, read
from benchmarks.own_data.candidates import SHARES, Candidate, candidates, draw
from benchmarks.own_data.measures import judge
from benchmarks.own_data.ranks import ranks, verdict
from benchmarks.own_data.table_methods import METHODS, losses_of
from benchmarks.own_data.tables import drawn, load_table_fold, read_candidate

WINE = Candidate("sklearn/wine", "target", (), "class")
DIABETES = Candidate("sklearn/diabetes", "target", (), "number")


def test_no_table_is_drawn_twice_and_groups_have_their_shares():
    groups = drawn()
    places = [table.place for tables in groups.values() for table in tables]
    assert len(set(places)) == len(places) == 48
    for tables in groups.values():
        for task, shares in SHARES.items():
            assert [table.task for table in tables].count(task) == sum(shares)


def test_the_draw_takes_tables_by_their_size_and_is_always_the_same():
    rows = {table.name: 150 + 400 * place % 9000 for place, table in enumerate(candidates())}
    found = draw(rows)
    assert found == draw(rows)
    sizes = [rows[table.name] for table in found["report"] if table.task == "number"]
    assert np.bincount(np.searchsorted((1000, 5000), sizes)).tolist() == list(SHARES["number"])


@pytest.mark.parametrize("method", ["ours", "linear", "support vectors", "forest", "same network"])
def test_methods_learn_wine(method):
    fold = load_table_fold(Path(), WINE, 0)
    model = METHODS[method](fold, "class")
    model.fit(fold.train, fold.train_targets)
    assert judge(fold.test_targets, model.predict(fold.test))["accuracy"] > 90


@pytest.mark.parametrize("method", ["ours", "linear", "boosting", "same network"])
def test_methods_are_better_than_one_answer_for_all(method):
    fold = load_table_fold(Path(), DIABETES, 0)
    scores = {}
    for name in (method, "constant"):
        loss = losses_of(name, "number")[0]
        model = METHODS[name](fold, loss)
        model.fit(fold.train, fold.train_targets)
        scores[name] = judge(fold.test_targets, model.predict(fold.test))["mae"]
    assert scores[method] < 0.85 * scores["constant"]


def test_folds_answer_every_row_once_and_tables_are_cut_to_so_many_rows():
    tests = [load_table_fold(Path(), WINE, number).test for number in range(3)]
    assert sum(map(len, tests)) == 178
    assert len(read_candidate(Path(), WINE, most=50).inputs) == 50


def test_measures_of_probabilities():
    shares = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    answers = {"class": np.array(["a", "b", "a"]), "probabilities": shares}
    found = judge({"class": np.array(["a", "b", "b"])}, answers | {"classes": np.array(["a", "b"])})
    assert found["accuracy"] == pytest.approx(200 / 3, rel=1e-5)
    assert found["log loss"] == pytest.approx((np.log(2) - np.log(1e-6)) / 3, rel=1e-5)
    assert found["auc"] == 50


@pytest.mark.parametrize(
    ("measure", "mine", "other", "said"),
    [
        ("accuracy", [90, 91, 92], [88, 90, 90], "ahead"),
        ("accuracy", [90, 91, 92], [91, 92, 93], "level"),
        ("accuracy", [90, 91, 92], [92, 93, 94], "behind"),
        ("accuracy", [90, 91, 92], [99, 91, 89], "level"),
        ("mae", [1.0, 1.1, 1.2], [0.9, 1.0, 1.1], "behind"),
    ],
)
def test_verdicts(measure, mine, other, said):
    assert verdict(measure, np.array(mine), [np.array(other)]) == said


def test_records_are_added_and_the_last_of_a_cell_counts(tmp_path):
    store = tmp_path / "records.jsonl"
    about = {"group": "report", "row": "t", "task": "class", "rows": 100}
    for method, accuracy in (("ours", 80.0), ("linear", 70.0), ("ours", 90.0)):
        for fold in range(3):
            add(about | {"method": method, "fold": fold, "accuracy": accuracy}, store)
    assert len(store.read_text().splitlines()) == 9
    assert [record["accuracy"] for record in read(store)] == [90.0] * 3 + [70.0] * 3
    first, second = ranks(read(store))
    assert (first["method"], first["mean rank"], first["ahead"]) == ("ours", "1.00", 1)
    assert (second["mean rank"], second["behind"]) == ("2.00", 1)
    _, lines = measure(["--report-only", "--store", str(store)])
    assert json.dumps(lines[0]) == json.dumps(first)
