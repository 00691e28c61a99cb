"""Each finding is provoked on tiny data; a healthy run has none."""

import json
import re

import numpy as np
import pytest
import torch
from torch import nn

import hyperproto as hp
from hyperproto._core.errors import NonFiniteLossError
from hyperproto.data import Arrays, read_table, training_data
from hyperproto.evaluation import Finding, examine_run, open_run
from hyperproto.evaluation import findings as checks
from hyperproto.evaluation.doctor import split_outputs
from hyperproto.evaluation.findings import Evidence, SplitOutputs
from hyperproto.models import create_backbone
from hyperproto.training import DataSpec, RunSpec, read_run
from hyperproto.training.folder import RunFolder
from tests.cli.test_cli import run as run_verb

NAMES = ["left", "middle", "right"]


def write_table(path, *, n=90, clip=None, noise=0.0, seed=0):
    """Write two columns to learn from, and a class and a number that follow from both together; the
    class of noisy rows is drawn.
    """
    rng = np.random.default_rng(seed)
    kinds = np.arange(n) % 3
    a, b = (kinds - 1) * 3 + rng.normal(size=n) * 0.3, rng.uniform(-1, 1, size=n)
    labels = np.where(rng.uniform(size=n) < noise, rng.integers(0, 3, n), kinds)
    heights = b if clip is None else b.clip(-clip, clip)
    lines = [
        f"{x:.4f},{y:.4f},{NAMES[k]},{h:.4f}"
        for x, y, k, h in zip(a + 2 * b, a - 2 * b, labels, heights, strict=True)
    ]
    path.write_text("\n".join(["a,b,side,height", *lines]) + "\n")
    return path


def train(
    folder,
    path,
    *,
    network=None,
    space=None,
    epochs=30,
    lr=0.02,
    classes=True,
    ranges=True,
    **options,
):
    """Train a run that knows its data."""
    columns = {
        "classes": ["side"] if classes else [],
        "ranges": ["height"] if ranges else [],
        "columns": ["a", "b"],
    }
    source = read_table(path, **columns)
    torch.manual_seed(0)
    dim = 4 if space is None else space.dim
    hp.fit(
        network or create_backbone("mlp", out_dim=dim, in_features=2, hidden=[16]),
        space or hp.Space(dim, source.targets),
        training_data(source.train, source.preprocessing),
        valid=training_data(source.test, source.preprocessing),
        epochs=epochs,
        batch_size=16,
        lr=lr,
        folder=RunFolder(
            folder, RunSpec(data=DataSpec(reader="table", path=str(path), options=columns))
        ),
        preprocessing=source.preprocessing,
        progress=False,
        **options,
    )
    return folder


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    root = tmp_path_factory.mktemp("healthy")
    return train(root / "run", write_table(root / "data.csv"), epochs=12, lr=0.1)


def names(findings):
    return [finding.name for finding in findings]


def altered(healthy, losses):
    """A record of a run with these losses."""
    record = read_run(healthy)
    record.history[:] = [
        {"epoch": i, "loss": loss, "lr": 0.5, "valid": {}} for i, loss in enumerate(losses)
    ]
    return Evidence(record, hp.load(healthy).space)


def test_a_healthy_run_has_no_finding_and_everything_was_checked(healthy):
    found = examine_run(healthy)
    assert found.findings == ()
    assert len(found.checked) == 11
    assert (found.unchecked, found.problem) == ((), None)


def test_without_data_what_could_not_be_checked_is_listed_with_the_reason(healthy, tmp_path):
    config = json.loads((healthy / "config.json").read_text())
    copy = tmp_path / "run"
    copy.mkdir()
    for file in healthy.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "config.json").write_text(json.dumps({**config, "spec": None}))
    found = examine_run(copy)
    assert "collapsed outputs" in found.unchecked
    assert "does not know its data" in str(found.problem)
    assert "a loss that is not finite" in found.checked
    with pytest.raises(FileNotFoundError, match="nowhere"):
        examine_run(copy, "nowhere")


def test_a_relu_before_the_sphere_is_found(tmp_path):
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(2, 4), nn.ReLU())
    folder = train(
        tmp_path / "run", write_table(tmp_path / "data.csv"), network=network, lr=1e-6, epochs=1
    )
    findings = examine_run(
        open_run(folder, network=nn.Sequential(nn.Linear(2, 4), nn.ReLU()))
    ).findings
    relu = next(finding for finding in findings if finding.name == "a ReLU before the sphere")
    assert relu.severity == "error"
    assert relu.evidence["least"] == 0
    assert relu.evidence["share_zero"] > 0


def test_collapsed_outputs_and_classes_never_predicted_are_found(tmp_path):
    network = create_backbone("mlp", out_dim=4, in_features=2, hidden=[4])
    with torch.no_grad():
        list(network.modules())[-1].bias.copy_(torch.tensor([100.0, 10, 10, 10]))
    folder = train(
        tmp_path / "run", write_table(tmp_path / "data.csv"), network=network, lr=1e-7, epochs=1
    )
    findings = examine_run(folder).findings
    collapse = next(finding for finding in findings if finding.name == "collapsed outputs")
    assert collapse.evidence["mean_length"] > 0.99
    assert collapse.evidence["one_class"] == 1
    silent = next(finding for finding in findings if finding.name == "classes never predicted")
    assert silent.evidence == {"classes": 2.0, "seen": 3.0}
    assert findings[0].severity == "error"  # the worst first


def test_outputs_that_have_no_reason_to_differ_are_not_collapsed(healthy):
    z = torch.ones(10, 4, dtype=torch.float64)
    same = {"side": torch.zeros(10, dtype=torch.int64), "height": torch.full((10,), 0.5)}
    seen = Evidence(
        read_run(healthy), hp.load(healthy).space, (SplitOutputs("train", z, same, same),)
    )
    assert list(checks.collapsed_outputs(seen)) == []


def test_outputs_of_norm_zero_are_found_and_have_no_prediction(healthy):
    record, space = read_run(healthy), hp.Space(2, hp.Classes(3))
    data = Arrays(torch.tensor([[1.0, 0], [-1, -1], [0, 1]]), torch.tensor([0, 1, 2]))
    part = split_outputs("train", nn.ReLU(), space, data)
    assert part.predicted["target"][1] == -1
    (finding,) = checks.zero_norms(Evidence(record, space, (part,)))
    assert finding.evidence == {"zero": 1.0, "not_finite": 0.0, "outputs": 3.0}


def test_of_much_data_some_is_checked_from_end_to_end():
    data = Arrays(torch.arange(1.0, 102.0).unsqueeze(1).repeat(1, 2), torch.arange(101) % 3)
    part = split_outputs("train", nn.Identity(), hp.Space(2, hp.Classes(3)), data, most=5)
    assert part.z[:, 0].tolist() == [1, 26, 51, 76, 101]


def test_outputs_that_are_not_finite_are_counted(healthy):
    z = torch.ones(10, 4, dtype=torch.float64)
    z[3, 1] = torch.nan
    seen = Evidence(read_run(healthy), hp.load(healthy).space, (SplitOutputs("train", z, {}, {}),))
    (finding,) = checks.zero_norms(seen)
    assert finding.evidence == {"zero": 0.0, "not_finite": 1.0, "outputs": 10.0}


@pytest.mark.parametrize(
    ("classes", "dim", "severity"), [(10, 2, "error"), (30, 3, "warning"), (10, 3, "note")]
)
def test_a_dimension_too_small_for_the_classes_is_found(healthy, classes, dim, severity):
    prototypes = hp.place(classes, dim, method="random")  # the bound is the same as for any other
    seen = Evidence(read_run(healthy), hp.Space(dim, hp.Classes(prototypes)))
    findings = list(checks.dimension_too_small(seen))
    assert [finding.severity for finding in findings] == [severity]
    enough = int(findings[0].evidence["enough"])
    assert hp.separation_bound(classes, enough) <= 0.1 < hp.separation_bound(classes, enough - 1)


def test_prototypes_closer_together_than_they_need_be_are_found(healthy):
    vectors = torch.tensor(
        [[1.0, 0, 0, 0], [0.99, 0.141067, 0, 0], [0, 0, 1, 0]], dtype=torch.float64
    )
    prototypes = hp.Prototypes.from_tensor(hp.sphere.normalize(vectors), method="by hand")
    seen = Evidence(read_run(healthy), hp.Space(4, hp.Classes(prototypes)))
    assert names(checks.dimension_too_small(seen)) == ["prototypes badly separated"]


def test_targets_piling_up_at_a_bound_are_found(tmp_path):
    folder = train(
        tmp_path / "run", write_table(tmp_path / "data.csv", clip=0.5), classes=False, epochs=1
    )
    finding = next(
        finding for finding in examine_run(folder).findings if finding.name == "targets at a bound"
    )
    assert 0.1 < finding.evidence["at_low"] < 0.5
    assert 0.1 < finding.evidence["at_high"] < 0.5
    assert "margin" in finding.advice


def test_a_gap_between_train_and_test_is_found(tmp_path):
    network = create_backbone("mlp", out_dim=4, in_features=2, hidden=[128])
    path = write_table(tmp_path / "data.csv", noise=1.0, n=40)
    folder = train(tmp_path / "run", path, network=network, ranges=False, epochs=60, lr=0.3)
    finding = next(
        finding for finding in examine_run(folder).findings if finding.name == "train/test gap"
    )
    assert finding.evidence["train"] > finding.evidence["test"] + 0.15


@pytest.mark.parametrize("predicted", [0.0, 0.2])
def test_a_gap_in_the_error_of_a_number_is_measured_by_its_range(healthy, predicted):
    space, values = hp.Space(3, height=hp.Range(-1, 1)), {"height": torch.zeros(9)}
    z = torch.ones(9, 3)
    parts = (
        SplitOutputs("train", z, values, values),
        SplitOutputs("test", z, {"height": torch.full((9,), predicted)}, values),
    )
    assert len(list(checks.train_test_gap(Evidence(read_run(healthy), space, parts)))) == (
        predicted > 0
    )


@pytest.mark.parametrize(
    ("losses", "check", "name"),
    [
        ([1.0, 1.5, 2.0, 2.5, 2.5, 2.6], checks.loss_course, "rising loss"),
        ([1.0, 0.999, 0.998, 0.999, 1.0], checks.loss_course, "flat loss"),
        ([1.0, 0.9, 0.8, 0.7, 0.6], checks.loss_course, "loss still falling"),
        ([1.0, float("nan"), 1.0], checks.loss_not_finite, "loss not finite"),
    ],
)
def test_a_learning_rate_far_off_shows_in_the_losses(healthy, losses, check, name):
    (finding,) = check(altered(healthy, losses))
    assert finding.name == name
    assert finding.evidence["lr"] == 0.5
    assert finding.advice


@pytest.mark.parametrize("losses", [[1.0, 0.5, 0.3, 0.25, 0.24, 0.24], [1.0, 2.0], []])
def test_a_loss_that_falls_and_levels_off_or_has_no_course_yet_is_not_a_finding(healthy, losses):
    seen = altered(healthy, losses)
    for check in (checks.loss_course, checks.loss_not_finite):
        assert list(check(seen)) == []


def test_a_run_that_broke_off_at_a_loss_that_is_not_finite_can_be_examined(tmp_path):
    path = write_table(tmp_path / "data.csv")
    with pytest.raises(NonFiniteLossError, match="Lower lr"):
        train(tmp_path / "run", path, network=nn.Sequential(nn.Linear(2, 4), Breaks()), epochs=1)
    found = examine_run(tmp_path / "run")
    assert names(found.findings) == ["loss not finite"]
    assert "must hold weights" in str(found.problem) or "not one of ours" in str(found.problem)


class Breaks(nn.Module):
    def forward(self, x):
        return x * float("inf") if torch.is_grad_enabled() else x


def test_the_command_says_what_is_wrong_and_what_was_checked(capsys, healthy, tmp_path):
    code, out, err = run_verb(capsys, "doctor", str(healthy))
    assert (code, err) == (0, "")
    assert out.startswith("Nothing found.\nChecked for a loss that is not finite")
    baseline = r"\(baseline [\d.]+"
    assert re.search(
        rf"\nOn t\w+ data: side/accuracy [\d.]+ % {baseline} %\)  height/mae [\d.]+ {baseline}", out
    )
    folder = train(
        tmp_path / "run", write_table(tmp_path / "data.csv", clip=0.5), classes=False, epochs=1
    )
    code, out, _ = run_verb(capsys, "doctor", str(folder))
    assert "warning: targets at a bound\n  height:" in out
    code, out, _ = run_verb(capsys, "doctor", str(folder), "--json")
    printed = json.loads(out)
    assert Finding(**printed["findings"][0]).severity == "warning"
    assert printed["measures"].keys() == printed["baseline"].keys() == {"height/mae"}


def test_the_command_without_data_says_so(capsys, tmp_path):
    inputs, labels = (
        torch.randn(12, 2, generator=torch.Generator().manual_seed(0)),
        torch.arange(12) % 3,
    )
    network = create_backbone("mlp", out_dim=4, in_features=2, hidden=[4])
    hp.fit(
        network,
        hp.Space(4, hp.Classes(3)),
        (inputs, labels),
        epochs=1,
        folder=tmp_path / "run",
        progress=False,
    )
    code, out, _ = run_verb(capsys, "doctor", str(tmp_path / "run"))
    assert code == 0
    assert "Not checked, without outputs: zero norms" in out
    assert "does not know its data. Say where it is: --data PATH." in out
