"""Label smoothing, probabilities as targets, and outputs with more axes than one."""

import pytest
import torch
from torch.nn import functional

import hyperproto as hp
from hyperproto.baselines import ConventionalSpace
from hyperproto.tasks import task_from_dict
from reproduction.deep_ncm import DeepNCM

K, N = 5, 7
LOSSES = ["squared_cosine", "power_cosine", "cosine_softmax", "free_norm_softmax"]


@pytest.fixture
def batch(generator):
    z = torch.randn(N, 4, generator=generator, dtype=torch.float64)
    return z, torch.randint(K, (N,), generator=generator)


def test_smoothing_is_that_of_torch(batch, generator):
    _, labels = batch
    logits = torch.randn(N, K, generator=generator)
    space = ConventionalSpace(hp.Classes(K, label_smoothing=0.2))
    expected = functional.cross_entropy(logits, labels, label_smoothing=0.2, reduction="none")
    torch.testing.assert_close(space.loss(logits, labels, reduction="none"), expected)
    cosine = hp.Space(4, hp.Classes(K, loss=hp.losses.CosineSoftmax(scale=3), label_smoothing=0.2))
    expected = functional.cross_entropy(3 * cosine.scores(batch[0]), labels, label_smoothing=0.2)
    torch.testing.assert_close(cosine.loss(*batch), expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_give_the_expected_loss(loss, batch, generator):
    z, _ = batch
    space = hp.Space(4, hp.Classes(K, loss=loss))
    shares = torch.rand(N, K, generator=generator, dtype=torch.float64).softmax(dim=1)
    alone = torch.stack(
        [space.loss(z, torch.full((N,), k), reduction="none") for k in range(K)], dim=1
    )
    torch.testing.assert_close(space.loss(z, shares, reduction="none"), (alone * shares).sum(dim=1))
    hard = functional.one_hot(batch[1], K).double()
    torch.testing.assert_close(space.loss(z, hard), space.loss(*batch))
    smoothed = hp.Space(4, hp.Classes(space.prototypes, loss=loss, label_smoothing=0.1))
    torch.testing.assert_close(smoothed.loss(*batch), space.loss(z, hard * 0.9 + 0.1 / K))


def test_a_row_of_nan_is_missing_and_probabilities_are_weighed(batch):
    z, labels = batch
    hard = functional.one_hot(labels, K).double()
    hard[2] = torch.nan
    space = hp.Space(4, hp.Classes(K, class_weight=[1, 2, 3, 4, 5]))
    torch.testing.assert_close(
        space.loss(z, hard), space.loss(z, labels.index_fill(0, torch.tensor([2]), -1))
    )
    balanced = [hp.Space(4, hp.Classes(K, class_weight="balanced")) for _ in range(2)]
    balanced[0].balance(hard)
    balanced[1].balance(labels.index_fill(0, torch.tensor([2]), -1))
    assert balanced[0].tasks["target"].class_weight == balanced[1].tasks["target"].class_weight


def test_smoothing_is_written_down_and_left_out_where_there_is_none():
    task = hp.Classes(K, label_smoothing=0.1)
    assert task_from_dict(task.to_dict()).label_smoothing == 0.1
    assert "label_smoothing" not in hp.Classes(K).to_dict()  # runs of before it can be resumed


def test_what_cannot_be_expected_is_refused(batch):
    z, _ = batch
    shares = torch.full((N, K), 1 / K)
    with pytest.raises(ValueError, match=r"`label_smoothing` must lie in \[0, 1\); got 1"):
        hp.Classes(K, label_smoothing=1)
    with pytest.raises(ValueError, match="must be 0 with a loss over some of the classes"):
        hp.Classes(K, loss="sampled_cosine_softmax", label_smoothing=0.1)
    with pytest.raises(ValueError, match=r"must be class ids; got probabilities.*CosineSoftmax"):
        hp.Space(4, hp.Classes(K, loss="sampled_cosine_softmax")).loss(z, shares)
    with pytest.raises(ValueError, match="DeepNCM must be class ids"):
        DeepNCM(4, hp.Classes(K)).observe(z, shares)
    space = hp.Space(4, hp.Classes(K))
    with pytest.raises(
        ValueError, match=r"must have shape \(7, 5\), a probability for each class, or \(7,\)"
    ):
        space.loss(z, shares[:, 1:])
    with pytest.raises(ValueError, match="be fixed; got a tensor that requires a gradient"):
        space.loss(z, shares.clone().requires_grad_())
    shares[3] *= 2
    with pytest.raises(
        ValueError, match=r"probabilities that sum to 1, .* got a sum of 2 in row 3 \(1 of 7 rows\)"
    ):
        space.check(shares)


def test_training_on_probabilities_learns_them_and_is_measured_by_the_most_likely(generator):
    x = torch.randn(60, 3, generator=generator)
    labels = x.argmax(dim=1)
    soft = functional.one_hot(labels, 3) * 0.7 + 0.1
    torch.manual_seed(0)
    network, space = torch.nn.Linear(3, 2), hp.Space(2, hp.Classes(3))
    run = hp.fit(
        network, space, (x, soft), valid=(x, soft), epochs=20, batch_size=5, progress=False
    )
    assert run.metrics["accuracy"] == (space.predict(network(x)) == labels).double().mean()
    assert run.metrics["accuracy"] > 0.8


@pytest.mark.parametrize(
    "space",
    [
        hp.Space(4, kind=hp.Classes(K), size=hp.Range(0, 1)),
        ConventionalSpace(kind=hp.Classes(3), size=hp.Range(0, 1)),
    ],
)
def test_outputs_of_more_axes_are_rows_in_another_shape(space, generator):
    z = torch.randn(2, 3, 4, generator=generator)
    targets = {
        "kind": torch.randint(3, (2, 3), generator=generator),
        "size": torch.rand(2, 3, generator=generator),
    }
    flat = {name: target.flatten() for name, target in targets.items()}
    weight = torch.rand(2, 3, generator=generator)
    for options in ({}, {"reduction": "sum"}):
        torch.testing.assert_close(
            space(z, targets, **options), space(z.flatten(0, 1), flat, **options)
        )
    rows = space(z, targets, reduction="none", sample_weight=weight)
    expected = space(z.flatten(0, 1), flat, reduction="none", sample_weight=weight.flatten())
    torch.testing.assert_close(rows, expected.reshape(2, 3))
    for name in targets:
        assert torch.equal(
            space.predict(z)[name], space.predict(z.flatten(0, 1))[name].reshape(2, 3)
        )
    assert space.scores(z)["kind"].shape == (2, 3, space.tasks["kind"].num_classes)
    assert space.scores(z)["size"].shape == (2, 3)
    with pytest.raises(ValueError, match=r"`kind` must have shape \(2, 3\), as `z`; got \(3, 2\)"):
        space(z, targets | {"kind": targets["kind"].mT})
