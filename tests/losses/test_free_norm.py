"""Cross-entropy over products: its formula, its limits, and what the length is for."""

import pytest
import torch
from torch.nn import functional

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.defaults import choose_loss
from hyperproto.sphere import normalize


def batch(generator, n=7, num_classes=5, dim=4):
    z = torch.randn(n, dim, generator=generator, dtype=torch.float64)
    prototypes = normalize(torch.randn(num_classes, dim, generator=generator, dtype=torch.float64))
    return z, prototypes, torch.arange(n) % num_classes


def test_it_is_cosine_softmax_with_the_length_as_scale(generator):
    z, prototypes, labels = batch(generator)
    rows = hp.losses.FreeNormSoftmax(gain=1.5)(z, prototypes, labels)
    for row, one, label in zip(rows, z, labels, strict=True):
        alone = hp.losses.CosineSoftmax(scale=1.5 * float(one.norm()))(
            one[None], prototypes, label[None]
        )
        torch.testing.assert_close(row[None], alone)


def test_on_a_one_hot_sphere_it_is_softmax(generator):
    z, _, labels = batch(generator, dim=5)
    torch.testing.assert_close(
        hp.losses.FreeNormSoftmax()(z, torch.eye(5, dtype=torch.float64), labels),
        functional.cross_entropy(z, labels, reduction="none"),
    )


def test_doubt_is_a_short_output_and_certainty_a_long_one(generator):
    _, prototypes, _ = batch(generator)
    z = torch.tensor([[0.0], [1.0], [8.0]], dtype=torch.float64) * prototypes[:1]
    right, wrong = (hp.losses.FreeNormSoftmax()(z, prototypes, torch.full((3,), k)) for k in (0, 1))
    assert right[0].exp() == pytest.approx(5)
    assert right[0] > right[1] > right[2]
    assert wrong[0] < wrong[1] < wrong[2]


def test_gradients_agree_with_differences(generator):
    z, prototypes, labels = batch(generator)
    assert torch.autograd.gradcheck(
        lambda z: hp.losses.FreeNormSoftmax(2.0)(z, prototypes, labels), (z.requires_grad_(),)
    )


def test_the_class_is_still_the_nearest_by_angle(generator):
    space = hp.Space(3, hp.Classes(6, loss=hp.losses.FreeNormSoftmax()))
    z = torch.randn(20, 3, generator=generator)
    assert torch.equal(space.predict(z), space.predict(100 * z))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype, generator):
    z, prototypes, labels = batch(generator)
    half = z.to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rows = hp.losses.FreeNormSoftmax()(half, prototypes.float(), labels)
    torch.testing.assert_close(
        rows, hp.losses.FreeNormSoftmax()(half.float(), prototypes.float(), labels)
    )
    rows.sum().backward()
    assert half.grad.dtype == dtype


@pytest.mark.parametrize(
    ("num_classes", "dim", "loss"),
    [
        (2, 2, hp.losses.FreeNormSoftmax()),
        (3, 2, hp.losses.FreeNormSoftmax()),
        (10_000, 5, hp.losses.FreeNormSoftmax()),
        (10_001, 5, hp.losses.PowerCosine()),
        (10_001, 10_000, hp.losses.SquaredCosine()),
        (10_001, 9_999, hp.losses.PowerCosine()),
    ],
)
def test_one_rule_chooses_where_nobody_does(num_classes, dim, loss):
    name, options = choose_loss(num_classes, dim)
    assert hp.losses.get_loss(name, **options) == loss


def test_classes_take_a_loss_by_name_or_let_the_library_choose():
    assert hp.Classes(5, loss="paper").loss == hp.losses.SquaredCosine()
    assert hp.Classes(5, loss="power_cosine").loss == hp.losses.PowerCosine()
    assert hp.Space(3, hp.Classes(5)).tasks["target"].loss == hp.losses.FreeNormSoftmax()
    with pytest.raises(InputError, match="power_cosine"):
        hp.Classes(5, loss="power")


def test_a_gain_must_be_positive():
    with pytest.raises(InputError, match="`gain`"):
        hp.losses.FreeNormSoftmax(gain=0)
