import copy
import json
import math

import pytest
import torch
from safetensors.torch import load_file
from torch.utils.data import Dataset, TensorDataset

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.data import Arrays, Batches
from hyperproto.training import loop
from hyperproto.training.steps import LossSum
from tests.training.conftest import make_blobs, make_network


def weights(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()])


def test_a_joint_task_is_learned(blobs, blob_space):
    run = hp.fit(
        make_network(), blob_space, blobs, valid=make_blobs(seed=1), epochs=30, batch_size=20
    )
    assert run.metrics["kind/accuracy"] > 0.95
    assert run.metrics["size/mae"] < 0.2
    losses = [record["loss"] for record in run.history]
    assert losses[-1] < losses[0] / 4
    assert [record["epoch"] for record in run.history] == list(range(30))
    assert run.folder is None


def test_the_whole_update_is_plain_gradient_descent(blobs, blob_space):
    """One epoch of one batch equals a bare step written out by hand."""
    network, twin = make_network(), make_network()
    settings = {"epochs": 1, "lr": 0.01, "weight_decay": 1e-4, "schedule": "constant"}
    settings["reduction"] = "sum"
    hp.fit(network, blob_space, blobs, batch_size=len(blobs), **settings)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    blob_space.loss(twin(blobs.inputs), blobs.targets, reduction="sum").backward()
    optimizer.step()
    torch.testing.assert_close(weights(network), weights(twin))


def test_a_seed_fixes_training_bit_for_bit_and_leaves_the_global_one_alone(blobs, blob_space):
    results = []
    for _ in range(2):
        network = torch.nn.Sequential(make_network(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))
        torch.manual_seed(7)
        for parameter in network[2].parameters():
            torch.nn.init.normal_(parameter)
        before = torch.get_rng_state()
        hp.fit(network, blob_space, blobs, epochs=3, batch_size=16, seed=5)
        assert torch.equal(torch.get_rng_state(), before)
        results.append(weights(network))
    assert torch.equal(*results)


def test_bare_targets_pairs_and_torch_datasets_are_the_same_training(blobs):
    space = hp.Space(3, hp.Classes(3))
    labels = blobs.targets["kind"]

    class Rows(Dataset):
        def __len__(self):
            return len(labels)

        def __getitem__(self, index):
            return blobs.inputs[index], labels[index]

    forms = [
        (blobs.inputs, labels),
        (blobs.inputs.numpy(), labels.numpy()),
        Arrays(blobs.inputs, labels),
        Rows(),
    ]
    results = []
    for data in forms:
        network = make_network()
        run = hp.fit(network, space, data, valid=data, epochs=2, batch_size=50)
        results.append(weights(network))
        assert set(run.metrics) == {"accuracy"}
    for other in results[1:]:
        assert torch.equal(other, results[0])


def test_parameters_and_hooks_of_a_space_are_used(blobs):
    class Scaled(hp.OutputSpace):
        dim = 3

        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(3))
            self.epochs, self.seen = [], 0

        def losses(self, z, targets, *, reduction="mean"):
            return torch.nn.functional.cross_entropy(z * self.scale, targets, reduction=reduction)

        def predict(self, z):
            return (z * self.scale).argmax(dim=1)

        def begin_epoch(self, epoch):
            self.epochs.append(epoch)

        def observe(self, z, targets):
            assert not z.requires_grad
            self.seen += len(z)

    space = Scaled()
    hp.fit(make_network(), space, (blobs.inputs, blobs.targets["kind"]), epochs=2, reduction="mean")
    assert space.epochs == [0, 1]
    assert space.seen == 2 * len(blobs)
    assert not torch.equal(space.scale.detach(), torch.ones(3))


def test_evaluation_counts_every_example_once_and_skips_missing_labels(blob_space):
    data = make_blobs(50)
    data.targets["kind"][:10] = -1
    data.targets["size"][5:] = math.nan
    network = make_network()
    found = hp.evaluate(network, blob_space, data, batch_size=7)
    predictions = blob_space.predict(network(data.inputs))
    right = (predictions["kind"] == data.targets["kind"])[10:].double().mean()
    error = (predictions["size"] - data.targets["size"])[:5].abs().mean()
    assert found["kind/accuracy"] == pytest.approx(right.item())
    assert found["size/mae"] == pytest.approx(error.item())
    assert network.training


def test_schedules_move_the_rate(blobs, blob_space):
    rates = {}
    for schedule in ("one-cycle", "paper", "constant"):
        run = hp.fit(make_network(), blob_space, blobs, epochs=10, lr=0.01, schedule=schedule)
        rates[schedule] = [record["lr"] for record in run.history]
    assert rates["constant"] == [0.01] * 10
    assert rates["paper"] == pytest.approx([0.01] * 4 + [0.001] * 4 + [0.0001] * 2)
    assert max(rates["one-cycle"]) == pytest.approx(0.01, rel=0.1)
    assert rates["one-cycle"][-1] < 0.001


def test_a_non_finite_loss_stops_the_run_and_says_where(blobs, blob_space):
    class Explodes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls = make_network(), 0

        def forward(self, x):
            self.calls += 1
            return self.inner(x) * (
                math.nan if self.calls == 10 else 1
            )  # the first call is a check

    network = Explodes()
    before = weights(network)
    with pytest.raises(
        FloatingPointError, match="The loss became nan in epoch 2, step 3; training stopped"
    ):
        hp.fit(network, blob_space, blobs, epochs=3, batch_size=20)
    assert weights(network).isfinite().all()  # the bad step was not taken
    assert not torch.equal(weights(network), before)


def test_the_batch_of_a_non_finite_loss_is_named_and_saved(blobs, tmp_path):
    data = make_blobs()
    data.inputs[33, 0] = 1e38  # finite, and too much for the network
    space = hp.baselines.ConventionalSpace(kind=hp.Classes(3), size=hp.Range(-1, 1))
    network = torch.nn.Sequential(make_network(4), torch.nn.Linear(4, 4))
    with torch.no_grad():
        network[1].weight.fill_(1e20)
    settings = {"epochs": 1, "batch_size": 40, "lr": 1e-30}
    with pytest.raises(
        FloatingPointError,
        match=r"Its 40 examples are rows (\d+, ){8}\.\.\. of the data\. Lower lr",
    ):
        hp.fit(network, space, data, **settings)
    with pytest.raises(
        FloatingPointError, match='saved in ".*run/failed_batch.safetensors". Lower lr'
    ):
        hp.fit(network, space, data, folder=tmp_path / "run", **settings)
    saved = load_file(tmp_path / "run" / "failed_batch.safetensors")
    assert 33 in saved["ids"]
    assert torch.equal(saved["inputs"], data.inputs[saved["ids"]])
    assert torch.equal(saved["targets.kind"], data.targets["kind"][saved["ids"]])


def test_a_loss_that_is_looked_at_late_names_the_batch_it_came_from(
    blobs, blob_space, tmp_path, monkeypatch
):
    """As on accelerators, where looking waits for the device."""
    monkeypatch.setattr(loop, "LossSum", lambda epoch, *, every: LossSum(epoch, every=50))

    class Third(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls = make_network(), 0

        def forward(self, x):
            self.calls += 1
            return self.inner(x) * (math.nan if self.calls == 4 else 1)  # the first call is a check

    with pytest.raises(FloatingPointError, match="epoch 1, step 3; training stopped"):
        hp.fit(Third(), blob_space, blobs, epochs=1, batch_size=30, folder=tmp_path / "run")
    saved = load_file(tmp_path / "run" / "failed_batch.safetensors")
    assert torch.equal(saved["ids"], Batches(blobs, 30, shuffle=True, seed=0).ids(0)[2])
    assert torch.equal(saved["inputs"], blobs.inputs[saved["ids"]])


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_batch_in_parts_takes_the_step_of_the_whole(blob_space, reduction):
    data = make_blobs(103)  # a last batch that parts do not divide
    data.targets["kind"][::4] = -1
    data.targets["size"][1::3] = math.nan
    runs, networks = [], []
    for accumulate in (1, 4):
        networks.append(make_network().double())
        double = (data.inputs.double(), data.targets)
        lr = 0.05 if reduction == "mean" else 0.003
        settings = {
            "epochs": 4,
            "batch_size": 40,
            "lr": lr,
            "reduction": reduction,
            "accumulate": accumulate,
        }
        runs.append(hp.fit(networks[-1], blob_space, double, valid=double, **settings))
    torch.testing.assert_close(weights(networks[0]), weights(networks[1]), atol=1e-9, rtol=1e-9)
    assert runs[1].history[-1]["loss"] == pytest.approx(runs[0].history[-1]["loss"])


def test_a_space_observes_a_batch_in_parts_as_one(blobs, blob_space):
    seen = []
    blob_space.observe = lambda z, targets: seen.append((len(z), len(targets["kind"])))
    hp.fit(make_network(), blob_space, blobs, epochs=1, batch_size=50, accumulate=3)
    assert seen == [(50, 50), (50, 50), (20, 20)]


def test_a_start_that_failed_leaves_its_folder_free(blobs, blob_space, tmp_path):
    broken = make_network()
    with torch.no_grad():
        broken[0].weight.fill_(math.nan)
    with pytest.raises(ValueError, match="The network's output must be finite"):
        hp.fit(broken, blob_space, blobs, epochs=1, folder=tmp_path / "run")
    hp.fit(make_network(), blob_space, blobs, epochs=1, folder=tmp_path / "run")


def test_network_and_space_in_the_wrong_order_get_a_sentence(blobs, blob_space):
    with pytest.raises(
        TypeError, match="`fit` takes a network, then a space; got Space and Sequential"
    ):
        hp.fit(blob_space, make_network(), blobs, epochs=1)


@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        ({"epochs": 0}, ValueError, "`epochs` must be at least 1; got 0"),
        ({"batch_size": 2.5}, TypeError, "`batch_size` must be a whole number; got 2.5"),
        ({"lr": -1.0}, ValueError, "`lr` must be finite and greater than 0; got -1.0"),
        (
            {"schedule": "onecycle"},
            ValueError,
            'Unknown schedule "onecycle".*Did you mean "one-cycle"?',
        ),
        ({"reduction": "none"}, ValueError, 'Unknown reduction "none"'),
        ({"accumulate": 0}, ValueError, "`accumulate` must be at least 1; got 0"),
        ({"patience": 0}, ValueError, "`patience` must be at least 1; got 0"),
        (
            {"patience": 3},
            ValueError,
            "`patience` must be left out where there is no validation data",
        ),
        (
            {"monitor": "accuracy"},
            ValueError,
            "`monitor` must be left out where there is no validation data",
        ),
        (
            {"checkpoint_seconds": -1},
            ValueError,
            "`checkpoint_seconds` must be finite and at least 0; got -1",
        ),
        ({"mixed_precision": "half"}, ValueError, 'Unknown mixed precision "half"'),
    ],
)
def test_bad_settings_get_a_sentence(blobs, blob_space, change, kind, sentence):
    with pytest.raises(kind, match=sentence):
        hp.fit(make_network(), blob_space, blobs, **{"epochs": 1, **change})


def test_bad_data_gets_a_sentence_before_the_first_step(blobs, blob_space, tmp_path):
    def attempt(data, **more):
        hp.fit(make_network(), blob_space, data, epochs=1, folder=tmp_path / "run", **more)

    bad = make_blobs()
    bad.inputs[7, 1] = math.nan
    with pytest.raises(
        ValueError,
        match=r"inputs must be finite; got NaN or infinity in 1 of 120 rows \(first: row 7\)",
    ):
        attempt(bad)
    with pytest.raises(ValueError, match="The inputs must be finite"):
        attempt(blobs, valid=bad)
    bad = make_blobs()
    bad.targets["kind"][3] = 3
    with pytest.raises(ValueError, match=r"`kind` must be class ids in \[0, 3\).*got 3 in row 3"):
        attempt(bad)
    bad = make_blobs()
    bad.targets["size"][3] = 1.5
    with pytest.raises(ValueError, match=r"`size` must lie in \[-1, 1\]; got 1.5 in row 3"):
        attempt(bad)
    with pytest.raises(ValueError, match=r"same number of rows; got 120 and 119"):
        attempt((blobs.inputs, {"kind": blobs.targets["kind"][1:], "size": blobs.targets["size"]}))
    with pytest.raises(ValueError, match="at least one example"):
        attempt(
            (
                blobs.inputs[:0],
                {"kind": blobs.targets["kind"][:0], "size": blobs.targets["size"][:0]},
            )
        )
    with pytest.raises(TypeError, match="`train` must be a pair"):
        attempt(42)
    assert not (tmp_path / "run").exists()


def test_a_network_of_the_wrong_width_gets_a_sentence(blobs, blob_space, tmp_path):
    with pytest.raises(
        ValueError, match=r"`z` must have shape \(n, 3\) to match the space; got \(1, 5\)"
    ):
        hp.fit(make_network(5), blob_space, blobs, epochs=1, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()  # so that the next try finds its place free


def test_inputs_of_another_precision_get_a_sentence(blobs, blob_space):
    with pytest.raises(
        TypeError,
        match="The inputs must have the dtype of the network's weights, torch.float32; got torch.float64",
    ):
        hp.fit(make_network(), blob_space, (blobs.inputs.double(), blobs.targets), epochs=1)


def test_names_as_targets_get_a_sentence(blobs):
    with pytest.raises(TypeError, match="`targets` must be numbers.* become ids by space.encode"):
        hp.fit(
            make_network(),
            hp.Space(3, hp.Classes(["a", "b"])),
            (blobs.inputs, ["a"] * 120),
            epochs=1,
        )


def test_targets_of_a_torch_dataset_are_checked_in_the_first_epoch(blobs):
    data = torch.utils.data.TensorDataset(blobs.inputs, torch.full((120,), -7))
    with pytest.raises(ValueError, match=r"class ids in \[0, 3\)"):
        hp.fit(make_network(), hp.Space(3, hp.Classes(3)), data, epochs=1)


def test_numbers_of_numpy_and_measures_without_labels_are_written_down(blobs, tmp_path):
    import numpy as np

    space = hp.Space(3, kind=hp.Classes(3), size=hp.Range(np.float64(-1), np.int64(1)))
    unlabeled = make_blobs()
    unlabeled.targets["size"][:] = math.nan
    run = hp.fit(
        make_network(),
        space,
        blobs,
        valid=unlabeled,
        epochs=np.int64(1),
        lr=np.float32(0.01),
        folder=tmp_path / "r",
    )
    assert math.isnan(run.metrics["size/mae"])
    assert json.loads((tmp_path / "r" / "metrics.json").read_text())["size/mae"] is None


def test_a_precision_of_its_own_leaves_the_callers_alone(blobs, blob_space):
    hp.fit(make_network(), blob_space, blobs, epochs=1, mixed_precision="bf16")
    assert not torch.is_autocast_enabled("cpu")


def test_a_failed_evaluation_leaves_the_network_in_its_mode(blobs, blob_space):
    network = make_network()
    with torch.no_grad():
        network[2].weight.zero_()
        network[2].bias.zero_()
    with pytest.raises(ValueError, match="must have a direction; got norm 0 in 120 of 120 rows"):
        hp.evaluate(network, blob_space, blobs)
    assert network.training


def test_bf16_training_learns(blobs, blob_space):
    network = make_network()
    run = hp.fit(
        network, blob_space, blobs, valid=blobs, epochs=20, batch_size=20, mixed_precision="bf16"
    )
    assert run.metrics["kind/accuracy"] > 0.9
    assert next(network.parameters()).dtype == torch.float32


def test_progress_is_quiet_unless_somebody_looks(blobs, blob_space, capfd):
    hp.fit(make_network(), blob_space, blobs, epochs=2)
    assert capfd.readouterr() == ("", "")
    hp.fit(make_network(), blob_space, blobs, epochs=2, progress=True)
    assert "epoch" in capfd.readouterr().err


def test_records_are_plain_json(blobs, blob_space):
    run = hp.fit(make_network(), blob_space, blobs, valid=blobs, epochs=1)
    assert json.loads(json.dumps(run.history)) == run.history


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"batch_size": 1}, "batch_size=1, 1 process, accumulate=1, 20 examples"),
        ({"batch_size": 8, "accumulate": 8}, "Use a larger batch, or compute it in fewer parts"),
    ],
)
def test_normalizing_over_a_single_row_is_a_sentence_before_anything_is_written(
    blob_space, tmp_path, settings, sentence
):
    network = torch.nn.Sequential(
        make_network(8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, blob_space.dim)
    )
    before = copy.deepcopy(network.state_dict())
    with pytest.raises(ValueError, match=sentence):
        hp.fit(network, blob_space, make_blobs(20), epochs=1, folder=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()
    assert all(torch.equal(before[name], now) for name, now in network.state_dict().items())
    run = hp.fit(
        make_network(), blob_space, make_blobs(20), epochs=1, **settings
    )  # one row is enough without
    assert len(run.history) == 1


def test_a_wrong_label_in_a_torch_dataset_is_named_by_its_example(blobs):
    labels = blobs.targets["kind"].clone()
    labels[7] = 99

    class Rows(Dataset):
        def __len__(self):
            return len(labels)

        def __getitem__(self, index):
            return blobs.inputs[index], labels[index]

    with pytest.raises(ValueError, match="Example 7 of the data: .* got 99 in row 0"):
        hp.fit(make_network(), hp.Space(3, hp.Classes(3)), Rows(), epochs=1, batch_size=16)


def test_lines_are_printed_for_each_epoch_where_asked(blobs, blob_space, capsys):
    hp.fit(make_network(), blob_space, blobs, valid=blobs, epochs=2, progress="lines")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/2 begins", "epoch 1/2", "epoch 2/2"]
    assert all("accuracy" in line for line in lines[1:])
    hp.fit(make_network(), blob_space, blobs, epochs=1)
    assert capsys.readouterr().out == ""


def test_fit_counts_the_classes_of_balanced_tasks(tmp_path):
    inputs, labels = (
        torch.randn(40, 4, generator=torch.Generator().manual_seed(0)),
        torch.tensor([0] * 30 + [1, 2] * 5),
    )
    space = hp.Space(3, hp.Classes(3, class_weight="balanced"))
    hp.fit(
        make_network(), space, (inputs, labels), epochs=1, folder=tmp_path / "run", progress=False
    )
    stored = hp.load(tmp_path / "run", network=make_network()).space
    assert (
        stored.tasks["target"].class_weight
        == space.tasks["target"].class_weight
        == (40 / 90, 40 / 15, 40 / 15)
    )
    fresh = hp.Space(3, hp.Classes(3, class_weight="balanced"))
    with pytest.raises(InputError) as caught:
        hp.fit(make_network(), fresh, TensorDataset(inputs, labels), epochs=1, progress=False)
    assert caught.value.argument == "Tasks"
    assert caught.value.rule == "leave nothing open for data that are not in memory"


@pytest.mark.parametrize("more", [{}, {"accumulate": 3}])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_weight_is_as_many_copies_of_an_example(reduction, more):
    """In one batch of all, up to what the mean is over."""
    x, y = torch.randn(12, 4), torch.arange(12) % 3
    y[5] = -1
    count = torch.arange(12) % 2 + 1
    space = hp.Space(3, hp.Classes(3, class_weight=(1.0, 2.0, 0.5)))

    def learn(data, lr=0.01, **options):
        network = make_network()
        settings = {"reduction": reduction, "lr": lr, "weight_decay": 0.0, "epochs": 2, **more}
        hp.fit(network, space, data, batch_size=len(data[0]), **settings, **options)
        return torch.cat([p.detach().flatten() for p in network.parameters()])

    copied = x.repeat_interleave(count, 0), y.repeat_interleave(count)
    share = 1.0
    if reduction == "mean":
        weights = torch.tensor([1.0, 2.0, 0.5, 0.0])
        share = float(weights[copied[1]].sum() / weights[y].sum())
    weighed = learn((x, y), sample_weight=count)
    torch.testing.assert_close(weighed, learn(copied, lr=0.01 * share), atol=1e-6, rtol=1e-5)
    assert not torch.allclose(weighed, learn((x, y)), atol=1e-6)
    assert torch.equal(learn((x, y), sample_weight=[1] * 12), learn((x, y))) or more


@pytest.mark.parametrize("weight", [[1.0] * 11, [-1.0] * 12, [0.0] * 12, [float("nan")] * 12])
def test_weights_that_cannot_be_are_refused(weight):
    data = torch.randn(12, 4), torch.arange(12) % 3
    with pytest.raises(InputError) as caught:
        hp.fit(make_network(), hp.Space(3, hp.Classes(3)), data, sample_weight=weight)
    assert caught.value.argument == "sample_weight"


def test_a_trained_network_predicts_rows_alone_as_it_predicts_them_together():
    layers = torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3)
    network = torch.nn.Sequential(*layers)
    inputs = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    run = hp.fit(network, hp.Space(3, hp.Classes(4)), (inputs, torch.arange(40) % 4), epochs=1)
    together = run.network(inputs)
    torch.testing.assert_close(run.network(inputs[:1]), together[:1])
