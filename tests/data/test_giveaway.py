"""Columns of a table that give the target away."""

import numpy as np

from hyperproto.data import read_table
from hyperproto.data.giveaway import find_giveaways
from hyperproto.evaluation import examine_run
from hyperproto.spec import DataSpec, RunSpec, TrainSettings
from hyperproto.training import train
from tests.data.layouts import write_csv

ROWS = 600


def write(folder, answers, **columns):
    """Write a table with these columns next to an honest one."""
    noise = np.random.default_rng(1).normal(size=len(answers)).tolist()
    names = ["noise", *columns, "answer"]
    rows = zip(noise, *columns.values(), answers, strict=True)
    return write_csv(folder / "table.csv", names, [list(map(str, row)) for row in rows])


def found_in(path, **targets):
    return [giveaway.column for giveaway in find_giveaways(read_table(path, **targets))]


def test_a_column_that_says_the_class_in_other_words_is_found(tmp_path):
    draw = np.random.default_rng(0)
    survived = draw.integers(0, 2, ROWS)
    wrong = np.where(np.arange(ROWS) % 50 == 0, 1 - survived, survived)
    path = write(
        tmp_path,
        survived,
        alive=np.where(survived, "yes", "no"),
        mostly=np.where(wrong, "yes", "no"),  # 98 %
        body=np.where(survived, "", "7"),  # what is not there says as much
        code=np.where(survived, 5.0, 1.0) + draw.uniform(size=ROWS),
    )
    assert found_in(path, classes=["answer"]) == ["alive", "body", "code"]


def test_classes_that_a_constant_nearly_gets_right_are_not_given_away(tmp_path):
    rare = (np.arange(ROWS) % 25 == 0).astype(int)
    assert found_in(write(tmp_path, rare, same=np.where(rare, "x", "y")), classes=["answer"]) == []


def test_a_column_that_determines_a_number_is_found_whatever_its_tails(tmp_path):
    draw = np.random.default_rng(0)
    price = np.exp(3 * draw.normal(size=ROWS))
    path = write(
        tmp_path,
        price,
        cents=100 * price,
        rough=price * np.exp(draw.normal(size=ROWS)),
        inverse=-np.log(price),
    )
    assert found_in(path, ranges=["answer"]) == ["cents", "inverse"]


def test_training_and_the_doctor_say_so(tmp_path):
    survived = np.random.default_rng(0).integers(0, 2, ROWS)
    path = write(tmp_path, survived, alive=np.where(survived, "yes", "no"))
    data = DataSpec(reader="table", path=str(path), options={"classes": ["answer"]})
    said: list[str] = []
    train(RunSpec(data=data, train=TrainSettings(epochs=2)), tmp_path / "run", say=said.append)
    assert any('"alive" alone predicts 100.0 %' in sentence for sentence in said)
    findings = {finding.name: finding for finding in examine_run(tmp_path / "run").findings}
    assert findings["a column gives the target away"].evidence["share"] == 1.0


def test_so_few_rows_that_nothing_can_be_learned_are_named(tmp_path):
    path = write_csv(tmp_path / "few.csv", ["a", "b"], [["1", "x"], ["2", "y"], ["3", "x"]])
    data = DataSpec(reader="table", path=str(path), options={"classes": ["b"], "held_out": 0})
    said: list[str] = []
    train(RunSpec(data=data, train=TrainSettings(epochs=1)), say=said.append)
    assert any("too few" in sentence for sentence in said)
