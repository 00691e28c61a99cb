"""Deep NCM against a version that keeps every output in a list, over processes and after a break."""

import copy
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import hyperproto as hp
from hyperproto import Classes, Range
from hyperproto._core.errors import InputError
from reproduction.deep_ncm import DeepNCM
from tests.reference.deep_ncm import SlowDeepNCM
from tests.reproduction import two_means
from tests.training.conftest import make_blobs, make_network

FORMS = ("condensation", "decay", "online")


def batches(count=7, n=9, dim=3, classes=4, *, seed=0):
    """Yield outputs that drift away from zero, with some labels missing and classes absent from
    some batches.
    """
    generator = torch.Generator().manual_seed(seed)
    for index in range(count):
        labels = torch.randint(-1, classes - index % 2, (n,), generator=generator)
        z = torch.randn(n, dim, generator=generator, dtype=torch.float64) + 0.2 * index
        yield z, labels


@pytest.mark.parametrize("mean", FORMS)
def test_means_loss_and_predictions_equal_the_slow_version(mean):
    options = {"decay": 0.7, "condense_every": 3}
    space, slow = DeepNCM(3, Classes(4), mean=mean, **options), SlowDeepNCM(4, 3, mean, **options)
    for z, labels in batches():
        rows = z.tolist()
        assert float(space.loss(z, labels)) == pytest.approx(
            slow.loss(rows, labels.tolist()), rel=1e-10
        )
        space.observe(z, labels)
        slow.observe(rows, labels.tolist())
        torch.testing.assert_close(space.means, torch.tensor(slow.means(), dtype=torch.float64))
        assert space.predict(z).tolist() == slow.predict(rows)


def test_the_three_forms_differ():
    found = []
    for mean in FORMS:
        space = DeepNCM(3, Classes(4), mean=mean, condense_every=3)
        for z, labels in batches():
            space.observe(z, labels)
        found.append(space.means)
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert not torch.allclose(found[one], found[other], atol=1e-3)


def test_condensing_never_is_the_online_mean():
    online, condensed = (
        DeepNCM(3, Classes(4), mean="online"),
        DeepNCM(3, Classes(4), condense_every=100),
    )
    for z, labels in batches():
        online.observe(z, labels)
        condensed.observe(z, labels)
    assert torch.equal(online.means, condensed.means)


def test_gradients_flow_into_the_outputs_and_not_into_the_means():
    space = DeepNCM(3, Classes(4), mean="online")
    for z, labels in batches():
        space.observe(z, labels)
    z = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    labels = torch.arange(5) % 4
    assert torch.autograd.gradcheck(lambda z: space.loss(z, labels), z)
    loss = space.loss(z, labels)
    space.observe(z, labels)
    loss.backward()  # observing before does not disturb it
    assert not space.means.requires_grad
    assert not list(space.parameters())


def test_scores_are_negative_squared_distances():
    space = DeepNCM(3, Classes(4), mean="decay")
    for z, labels in batches():
        space.observe(z, labels)
    z = torch.randn(6, 3, dtype=torch.float64)
    torch.testing.assert_close(space.scores(z), -(torch.cdist(z, space.means) ** 2))
    assert float(space.scores(space.means.float()).max()) <= 0


def test_half_precision_outputs_and_a_half_space_keep_exact_means():
    space = DeepNCM(2, Classes(2), mean="online").half()
    z = torch.tensor([[0.1, 1.0], [0.1, 1.0], [4.0, 2.0]], dtype=torch.float16)
    for _ in range(3000):
        space.observe(z, torch.tensor([0, 0, 1]))
    torch.testing.assert_close(space.means, z[[0, 2]].double(), atol=1e-12, rtol=0)
    assert space.loss(z, torch.tensor([0, 0, 1])).dtype == torch.float32


def test_labels_of_any_integer_dtype_and_empty_batches_pass():
    space = DeepNCM(2, Classes(3))
    space.observe(torch.ones(2, 2), torch.tensor([2, 0], dtype=torch.uint8))
    space.observe(torch.ones(0, 2), torch.ones(0, dtype=torch.int64))
    assert space.means.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_class_and_task_weights_count():
    z, labels = torch.randn(6, 2, dtype=torch.float64), torch.tensor([0, 1, 1, 0, 1, 1])
    plain = DeepNCM(2, Classes(2))
    weighted = DeepNCM(2, Classes(2, weight=0.5, class_weight=[1.0, 3.0]))
    for space in (plain, weighted):
        space.observe(z, labels)
    rows = plain.losses(z, labels, reduction="none")
    weights = torch.tensor([1.0, 3.0], dtype=torch.float64)[labels]
    torch.testing.assert_close(
        weighted.loss(z, labels), 0.5 * (rows * weights).sum() / weights.sum()
    )


@pytest.mark.parametrize("mean", FORMS)
def test_its_state_is_saved_and_goes_on_to_the_same_bits(mean):
    space = DeepNCM(3, Classes(["a", "b", "c", "d"]), mean=mean, decay=0.7, condense_every=3)
    held = list(batches())
    for z, labels in held[:4]:
        space.observe(z, labels)
    again = DeepNCM(3, Classes(["a", "b", "c", "d"]), mean=mean, decay=0.7, condense_every=3)
    again.load_state_dict(copy.deepcopy(space.state_dict()))
    assert again.options == {"mean": mean, "decay": 0.7, "condense_every": 3}
    for z, labels in held[4:]:
        for one in (space, again):
            one.observe(z, labels)
    assert torch.equal(space.means, again.means)
    assert set(space.state_dict()) == {"heads.0.means", "heads.0.seen", "heads.0.batches"}
    assert again.decode(again.predict(held[0][0])) == space.decode(space.predict(held[0][0]))


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "sentence"),
    [
        ((3, Range(0, 1)), {}, ValueError, "one class task and no other; got Range"),
        (
            (3, {"a": Classes(2), "b": Classes(2)}),
            {},
            ValueError,
            "one class task and no other; got Classes",
        ),
        (
            (3, {"a": Classes(2), "b": Range(0, 1)}),
            {},
            ValueError,
            "one class task and no other; got Classes.*Range",
        ),
        ((0, Classes(2)), {}, ValueError, "`dim` must be at least 1; got 0"),
        (
            (3, Classes(2)),
            {"mean": "decayed"},
            ValueError,
            'form of class means "decayed".*Did you mean "decay"',
        ),
        (
            (3, Classes(2)),
            {"decay": 1.5},
            ValueError,
            "`decay` must be finite and at least 0 and at most 1",
        ),
        (
            (3, Classes(2)),
            {"condense_every": 0},
            ValueError,
            "`condense_every` must be at least 1; got 0",
        ),
        ((3, 5), {}, TypeError, r"A task must be a task such as hp.Classes"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        DeepNCM(*arguments, **options)


def test_outputs_that_are_not_finite_get_a_sentence_in_prediction():
    with pytest.raises(ValueError, match="`z` must be finite; got NaN or infinity in 1 of 1 rows"):
        DeepNCM(2, Classes(2)).predict(torch.full((1, 2), torch.nan))


def test_it_says_what_it_is():
    assert "2 classes: a, b; online of class means" in repr(
        DeepNCM(2, Classes(["a", "b"]), mean="online")
    )


ROOT = Path(__file__).parents[2]


def test_two_processes_keep_the_means_that_one_keeps(tmp_path):
    two_means.main(str(tmp_path / "one"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "tests.reproduction.two_means",
        str(tmp_path / "two"),
        str(port),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    one, first, second = (
        torch.load(tmp_path / name, weights_only=True) for name in ("one.0", "two.0", "two.1")
    )
    for name, alone in one.items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], alone, atol=1e-5, rtol=1e-5)
    assert one["online.heads.0.seen"].sum() == 2 * 38  # two epochs, 13 of 51 labels missing
    assert one["online.heads.0.means"].any()


def fit(folder, mean, *, stop_after=-1, **settings):
    """Train, and ask to stop after so many steps."""
    space = DeepNCM(3, {"kind": hp.Classes(["a", "b", "c"])}, mean=mean, condense_every=3)
    observe, seen = space.observe, []

    def counted(z, targets):
        observe(z, targets)
        seen.append(len(z))
        if len(seen) == stop_after:
            signal.raise_signal(signal.SIGINT)

    space.observe = counted
    blobs = make_blobs()
    data = blobs.inputs, {"kind": blobs.targets["kind"]}
    return hp.fit(
        make_network(),
        space,
        data,
        valid=data,
        epochs=3,
        batch_size=30,
        reduction="sum",
        lr=0.01,
        folder=folder,
        **settings,
    )


@pytest.mark.parametrize("mean", two_means.FORMS)
@pytest.mark.parametrize(
    "stop_after", [4, 6]
)  # at the end of the first epoch, and within the second
def test_a_run_that_was_stopped_ends_in_the_same_bits(tmp_path, mean, stop_after):
    whole = fit(tmp_path / "whole", mean)
    with pytest.raises(KeyboardInterrupt, match="Continue with resume=True"):
        fit(tmp_path / "run", mean, stop_after=stop_after)
    again = fit(tmp_path / "run", mean, resume=True)
    for part in ("network", "space"):
        expected, found = getattr(whole, part).state_dict(), getattr(again, part).state_dict()
        assert expected
        for name in expected:
            assert torch.equal(expected[name], found[name]), name
    for name in (
        "last.safetensors",
        "best.safetensors",
        "checkpoint.safetensors",
        "epochs.jsonl",
        "config.json",
    ):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_it_learns_and_comes_back(tmp_path):
    run = fit(tmp_path / "run", "decay")
    assert run.metrics["kind/accuracy"] > 0.9
    with pytest.raises(InputError) as caught:
        hp.load(tmp_path / "run", network=make_network(seed=3))
    assert caught.value.argument == "space"
    fresh = DeepNCM(3, {"kind": hp.Classes(["a", "b", "c"])}, mean="decay", condense_every=3)
    _, space = hp.load(tmp_path / "run", network=make_network(seed=3), space=fresh)
    assert torch.equal(space.means, run.space.means)
    assert space.options == run.space.options
