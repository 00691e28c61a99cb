"""What always predicting the same reaches is computed in one place, and printed next to every
measure.
"""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, mean_absolute_error

import hyperproto as hp
from hyperproto.cli.train import _report
from hyperproto.data import describe_data
from hyperproto.evaluation import evaluate_run
from hyperproto.evaluation.findings import Evidence, SplitOutputs, no_better_than_baseline
from hyperproto.spec import RunSpec, SpaceSpec
from hyperproto.training import read_run, train
from hyperproto.training.outputs import baseline_metrics, not_better
from hyperproto.training.run import Run
from tests.cli.test_cli import run as run_verb
from tests.evaluation.conftest import table_run  # noqa: F401  # a fixture

SPACE = hp.Space(4, kind=hp.Classes(3), size=hp.Range(0, 10))


def test_they_are_those_of_scikit_learns_dummies_and_missing_targets_do_not_count():
    rng = np.random.default_rng(0)
    kinds, sizes = rng.integers(0, 3, 31), rng.uniform(0, 10, 31)
    blank = np.zeros((31, 1))
    majority = DummyClassifier(strategy="most_frequent").fit(blank, kinds).predict(blank)
    median = DummyRegressor(strategy="median").fit(blank, sizes).predict(blank)
    kind, size = (
        torch.from_numpy(np.append(values, gap)) for values, gap in ((kinds, -1), (sizes, np.nan))
    )
    found = baseline_metrics(SPACE, {"kind": kind, "size": size})
    assert found["kind/accuracy"] == pytest.approx(accuracy_score(kinds, majority))
    assert found["size/mae"] == pytest.approx(mean_absolute_error(sizes, median))
    none = baseline_metrics(
        SPACE, {"kind": torch.full((3,), -1), "size": torch.full((3,), torch.nan)}
    )
    assert all(np.isnan(value) for value in none.values())
    assert not_better({"kind/accuracy": 0.0, "size/mae": 9.0}, none) == []


def test_equal_is_not_better_and_a_baseline_that_is_perfect_says_nothing():
    assert not_better({"accuracy": 0.5}, {"accuracy": 0.5}) == ["accuracy"]
    assert not_better({"mae": 2.0}, {"mae": 2.0}) == ["mae"]
    assert not_better({"accuracy": 0.6, "mae": 1.9}, {"accuracy": 0.5, "mae": 2.0}) == []
    assert not_better({"accuracy": 0.9, "mae": 1.0}, {"accuracy": 1.0, "mae": 0.0}) == []


def test_evaluate_prints_them_next_to_every_measure(capsys, table_run, tmp_path):  # noqa: F811
    path = tmp_path / "wrong.csv"
    rows = [line.split(",") for line in table_run.data.read_text().splitlines()[1:]]
    sides = {"left": "right", "right": "left"}
    path.write_text(
        "a,b,side,height\n" + "".join(f"{a},{b},{sides[s]},{h}\n" for a, b, s, h in rows)
    )
    found = evaluate_run(table_run.folder, path)
    share = np.mean([row[2] == "left" for row in rows])
    assert found.baseline["side/accuracy"] == pytest.approx(max(share, 1 - share))
    _, out, _ = run_verb(capsys, "evaluate", str(table_run.folder), "--data", str(path))
    assert f"(baseline {100 * found.baseline['side/accuracy']:.2f} %: no better)" in out
    assert f"(baseline {found.baseline['height/mae']:.4g}" in out


@pytest.mark.parametrize("right", [True, False])
def test_doctor_finds_what_is_no_better(table_run, right):  # noqa: F811
    kinds, sizes = torch.arange(9) % 3, torch.linspace(0, 10, 9)
    predicted = {"kind": kinds if right else kinds * 0, "size": sizes if right else sizes * 0 + 5}
    split = SplitOutputs("test", torch.ones(9, 4), predicted, {"kind": kinds, "size": sizes})
    findings = list(no_better_than_baseline(Evidence(read_run(table_run.folder), SPACE, (split,))))
    assert len(findings) == (0 if right else 2)
    for finding in findings:
        assert finding.severity == "error"
        assert finding.evidence["measure"] == pytest.approx(finding.evidence["baseline"])


def test_the_end_of_training_prints_them(capsys, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{x:.3f},{'ab'[int(rng.integers(2))]}" for x in rng.normal(size=60)
    ]  # labels that nothing explains
    (tmp_path / "noise.csv").write_text("\n".join(["x,kind", *lines]) + "\n")
    arguments = (
        "--data",
        str(tmp_path / "noise.csv"),
        "--classes",
        "kind",
        "--folder",
        str(tmp_path / "run"),
    )
    code, out, _ = run_verb(capsys, "train", *arguments, "--epochs", "1", "--lr", "1e-9")
    assert code == 0
    assert "Measured: kind/accuracy" in out
    assert " % (baseline " in out
    run = hp.training.train(read_run(tmp_path / "run").spec)
    assert set(run.baseline) == {"kind/accuracy"}
    assert ("No better than the baseline: kind/accuracy." in out) == bool(
        not_better(run.metrics, run.baseline)
    )


def test_the_end_says_which_epoch_was_best_by_how_much_and_how_to_use_it(capsys, tmp_path):
    history = [
        {"epoch": epoch, "loss": 1.0, "valid": {"kind/accuracy": accuracy, "size/mae": error}}
        for epoch, (accuracy, error) in enumerate([(0.5, 3.0), (0.9, 2.5), (0.8, 2.75)])
    ]
    trained = Run(torch.nn.Identity(), hp.Space(2, hp.Classes(2)), history=history)
    _report(trained, tmp_path)
    out = capsys.readouterr().out
    assert "Best was epoch 2 of 3: kind/accuracy 90.0 %  size/mae 2.5" in out
    assert "(kind/accuracy +10.0 points, size/mae -0.25)" in out
    assert f"hyperproto evaluate {tmp_path} --which best" in out
    trained.history.pop()
    _report(trained, tmp_path)
    assert "Best was" not in capsys.readouterr().out


def test_the_conventional_baseline_learns_at_its_own_defaults(tmp_path):
    """A class and a number of wine; a rate at which squared errors grow would end no better than
    the baseline.
    """
    wine = load_wine(as_frame=True)
    frame = wine.frame.assign(kind=wine.target_names[wine.target]).drop(columns="target")
    frame.to_csv(tmp_path / "wine.csv", index=False)
    data = describe_data(tmp_path / "wine.csv", classes=["kind"], ranges=["proline"])
    found = train(RunSpec(data=data, space=SpaceSpec(kind="conventional")), progress=False)
    losses = [record["loss"] for record in found.history]
    assert losses[-1] < losses[0] / 4
    assert max(losses) == losses[0]
    assert found.metrics["kind/accuracy"] > 0.9
    assert found.metrics["proline/mae"] < 0.75 * found.baseline["proline/mae"]
