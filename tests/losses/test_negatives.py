"""Cosine softmax over some of the classes."""

import pytest
import torch

import hyperproto as hp
from hyperproto.baselines import space_from_dict
from hyperproto.losses import CosineSoftmax, SampledCosineSoftmax
from hyperproto.sphere import normalize


def points(n, dim=4, *, seed=0):
    return normalize(
        torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    )


def naive(z, prototypes, labels, weights, scale):
    """Cross-entropy with a weight for each class, spelled out; the right class has weight 1."""
    losses = []
    for row, label in zip(normalize(z), labels.tolist(), strict=True):
        exponents = (scale * prototypes @ row).exp()
        w = torch.zeros(len(prototypes), dtype=torch.float64)
        for k, weight in weights.items():
            w[k] = 1 if k == label else weight
        losses.append(-(exponents[label] / (w * exponents).sum()).log())
    return torch.stack(losses)


LABELS = torch.tensor([7, 2, 7, 5])


def test_the_batch_alone_lets_each_of_its_other_classes_stand_for_its_share_of_all():
    z, prototypes = 3 * points(4, seed=1), points(30)
    loss = SampledCosineSoftmax(scale=5.0)(z, prototypes, LABELS)
    assert torch.allclose(loss, naive(z, prototypes, LABELS, dict.fromkeys([2, 5, 7], 29 / 2), 5.0))


def test_a_batch_of_every_class_is_the_full_sum():
    z, prototypes = points(6, seed=1), points(6)
    labels = torch.tensor([5, 4, 3, 2, 1, 0])
    assert torch.allclose(
        SampledCosineSoftmax()(z, prototypes, labels), CosineSoftmax()(z, prototypes, labels)
    )


def test_a_batch_of_one_class_asks_for_nothing():
    assert SampledCosineSoftmax()(points(2, seed=1), points(6), torch.tensor([3, 3])).tolist() == [
        0,
        0,
    ]


def test_with_every_class_as_a_negative_the_sum_is_the_full_one():
    z, prototypes = points(4, seed=1), points(30)
    sampled = SampledCosineSoftmax(scale=5.0, negatives=30)(z, prototypes, LABELS)
    assert torch.allclose(sampled, CosineSoftmax(scale=5.0)(z, prototypes, LABELS))


def test_random_negatives_estimate_the_full_sum():
    z, prototypes = points(4, seed=1), points(300)
    torch.manual_seed(0)
    loss = SampledCosineSoftmax(scale=2.0, negatives=20)
    sums = torch.stack([loss(z, prototypes, LABELS).exp() for _ in range(400)])
    full = CosineSoftmax(scale=2.0)(z, prototypes, LABELS).exp()
    assert torch.allclose(sums.mean(dim=0), full, rtol=0.03)


def test_random_negatives_follow_the_seed():
    z, prototypes = points(4, seed=1), points(300)
    loss = SampledCosineSoftmax(negatives=20)

    def drawn(seed):
        torch.manual_seed(seed)
        return loss(z, prototypes, LABELS)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


@pytest.mark.parametrize("options", [{}, {"negatives": 5}])
def test_the_loss_ignores_length_and_has_a_gradient_orthogonal_to_the_output(options):
    z = (2 * points(4, seed=1)).requires_grad_()
    prototypes, loss = points(30), SampledCosineSoftmax(**options)
    torch.manual_seed(0)
    rows = loss(z, prototypes, LABELS)
    rows.sum().backward()
    torch.manual_seed(0)
    assert torch.allclose(rows, loss(100 * z, prototypes, LABELS))
    assert torch.allclose((z.grad * z).sum(dim=1), torch.zeros(4, dtype=torch.float64), atol=1e-12)
    assert z.grad.abs().sum() > 0


def test_a_space_trains_with_it_and_keeps_it_in_its_config():
    loss = SampledCosineSoftmax(8.0, 3)
    space = hp.Space(4, hp.Classes(points_as_prototypes(12), loss=loss))
    z = points(3, seed=1).float().requires_grad_()
    space.loss(z, torch.tensor([3, -1, 11])).backward()
    assert z.grad[0].abs().sum() > 0
    assert z.grad[1].abs().sum() == 0  # its label is missing
    described = space.to_dict()
    assert described["tasks"][0]["loss"] == {
        "name": "sampled_cosine_softmax",
        "scale": 8.0,
        "negatives": 3,
    }
    again = space_from_dict(described, {"target": space.prototypes})
    assert again.tasks["target"].loss == loss


def points_as_prototypes(num_classes):
    return hp.Prototypes.from_tensor(points(num_classes), method="random")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"negatives": -1}, "`negatives` must be at least 0; got -1"),
        ({"scale": 0.0}, "`scale` must be finite and greater than 0"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        SampledCosineSoftmax(**options)


def test_under_vmap_a_sentence_says_what_to_do_instead():
    loss, z, prototypes = SampledCosineSoftmax(negatives=2), points(4, seed=1), points(30)
    with pytest.raises(
        ValueError, match=r"must be called outside torch.vmap. Give it the whole batch"
    ):
        torch.func.vmap(lambda row, label: loss(row[None], prototypes, label[None]))(z, LABELS)
    whole = torch.func.grad(lambda z: SampledCosineSoftmax()(z, prototypes, LABELS).sum())(z)
    assert whole.shape == z.shape
