"""The one loss against Equation 2, against a slow version, and at the edges of its numbers."""

import math

import pytest
import torch
from torch.nn import functional

import hyperproto as hp
from hyperproto.losses import (
    LOSSES,
    CosineSoftmax,
    cosine_loss,
    cosine_loss_grad,
    squared_cosine_grad,
    squared_cosine_loss,
)
from hyperproto.sphere import normalize


def batch(n, num_classes, dim, generator, dtype=torch.float64):
    z = torch.randn(n, dim, generator=generator, dtype=dtype)
    prototypes = normalize(torch.randn(num_classes, dim, generator=generator, dtype=torch.float64))
    return z.requires_grad_(), prototypes, torch.arange(n) % num_classes


def slow_loss(z, prototypes, labels):
    """Equation 1, sample by sample, as one would write it on paper."""
    total = 0.0
    for row, label in zip(z.tolist(), labels.tolist(), strict=True):
        p = prototypes[label].tolist()
        dot = sum(a * b for a, b in zip(row, p, strict=True))
        norms = math.sqrt(sum(a * a for a in row)) * math.sqrt(sum(b * b for b in p))
        total += (1 - dot / norms) ** 2
    return total


SIZES = pytest.mark.parametrize(
    ("n", "num_classes", "dim"), [(7, 4, 3), (5, 2, 10), (1, 2, 2), (64, 10, 128)]
)


@SIZES
def test_the_loss_is_equation_1(n, num_classes, dim, generator):
    z, prototypes, labels = batch(n, num_classes, dim, generator)
    loss = squared_cosine_loss(z, prototypes, labels, reduction="sum")
    assert loss.item() == pytest.approx(slow_loss(z, prototypes, labels), rel=1e-13)


@SIZES
def test_autograd_matches_equation_2(n, num_classes, dim, generator):
    z, prototypes, labels = batch(n, num_classes, dim, generator)
    squared_cosine_loss(z, prototypes, labels, reduction="sum").backward()
    p = prototypes[labels]
    norm = z.detach().norm(dim=1, keepdim=True)
    cosine = (z.detach() * p).sum(dim=1, keepdim=True) / norm
    equation_2 = 2 * (1 - cosine) * (cosine * z.detach() / norm**2 - p / norm)
    torch.testing.assert_close(z.grad, equation_2, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(
        z.grad, squared_cosine_grad(z.detach(), prototypes, labels), atol=1e-12, rtol=1e-12
    )


def test_gradient_and_second_gradient_agree_with_differences(generator):
    z, prototypes, labels = batch(5, 3, 4, generator)
    assert torch.autograd.gradcheck(lambda z: squared_cosine_loss(z, prototypes, labels), (z,))
    assert torch.autograd.gradgradcheck(lambda z: squared_cosine_loss(z, prototypes, labels), (z,))


def test_a_target_per_row_and_one_mark_for_all(generator):
    z, prototypes, _ = batch(6, 2, 4, generator)
    target = torch.linspace(-1, 1, 6, dtype=torch.float64)
    values = cosine_loss(z, prototypes[0], target)
    expected = (target - functional.cosine_similarity(z, prototypes[:1])) ** 2
    torch.testing.assert_close(values, expected)
    values.sum().backward()
    torch.testing.assert_close(z.grad, cosine_loss_grad(z.detach(), prototypes[0], target))
    assert torch.autograd.gradgradcheck(lambda z: cosine_loss(z, prototypes[0], target), (z,))


@pytest.mark.parametrize("scale", [1e-30, 1e-18, 1e-15, 1.0, 1e15, 1e18, 1e30])
def test_the_gradient_shrinks_as_outputs_grow_and_nothing_else_changes(scale, generator):
    z, prototypes, labels = batch(32, 5, 16, generator, torch.float32)
    reference = squared_cosine_grad(z.detach(), prototypes, labels)
    scaled = (z.detach() * scale).requires_grad_()
    loss = squared_cosine_loss(scaled, prototypes, labels, reduction="none")
    torch.testing.assert_close(loss, squared_cosine_loss(z, prototypes, labels, reduction="none"))
    loss.sum().backward()
    torch.testing.assert_close(scaled.grad * scale, reference, atol=3e-6, rtol=1e-5)


def test_a_zero_row_has_cosine_0_gradient_0_and_counts(generator):
    z, prototypes, labels = batch(4, 3, 5, generator, torch.float32)
    with torch.no_grad():
        z[2] = 0
    rows = squared_cosine_loss(z, prototypes, labels, reduction="none")
    assert rows[2] == 1
    mean = squared_cosine_loss(z, prototypes, labels)
    torch.testing.assert_close(mean, rows.mean())
    mean.backward()
    assert (z.grad[2] == 0).all()
    assert (z.grad[[0, 1, 3]] != 0).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_non_finite_row_makes_the_loss_non_finite(bad, generator):
    z, prototypes, labels = batch(4, 3, 5, generator, torch.float32)
    with torch.no_grad():
        z[1, 2] = bad
    rows = squared_cosine_loss(z, prototypes, labels, reduction="none")
    assert not rows[1].isfinite()
    assert rows[[0, 2, 3]].isfinite().all()
    assert not squared_cosine_loss(z, prototypes, labels).isfinite()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_outputs_are_summed_in_float32(dtype, generator):
    z, prototypes, labels = batch(64, 10, 32, generator, torch.float32)
    half = z.detach().to(dtype).requires_grad_()
    loss = squared_cosine_loss(half, prototypes, labels)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, squared_cosine_loss(half.detach().float(), prototypes, labels))
    loss.backward()
    assert half.grad.dtype == dtype


def test_autocast_changes_nothing(generator):
    z, prototypes, labels = batch(16, 10, 32, generator, torch.float32)
    for function in (squared_cosine_loss, lambda z, p, y: CosineSoftmax()(z, p, y).mean()):
        plain = function(z, prototypes, labels)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(function(z, prototypes, labels), plain)


def test_a_network_in_mixed_precision_gets_a_gradient(generator):
    _, prototypes, labels = batch(16, 10, 32, generator)
    layer = torch.nn.Linear(8, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = layer(torch.randn(16, 8, generator=generator))
        loss = squared_cosine_loss(z, prototypes, labels)
    assert z.dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    loss.backward()
    assert layer.weight.grad.isfinite().all()


@pytest.mark.filterwarnings("ignore")  # what the compiler warns of is not ours
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_loss_is_whole_and_right(backend, generator):
    z, prototypes, labels = batch(16, 5, 8, generator, torch.float32)
    with torch.no_grad():
        z[3] = 0
    compiled = torch.compile(squared_cosine_loss, fullgraph=True, backend=backend)
    loss = compiled(z, prototypes, labels)
    loss.backward()
    torch.testing.assert_close(loss, squared_cosine_loss(z.detach(), prototypes, labels))
    torch.testing.assert_close(z.grad, squared_cosine_grad(z.detach(), prototypes, labels) / 16)


def test_views_and_an_empty_batch_work(generator):
    wide, prototypes, labels = batch(6, 3, 8, generator)
    p = normalize(prototypes[:, 2:5])
    torch.testing.assert_close(
        squared_cosine_loss(wide[:, 2:5], p, labels),
        squared_cosine_loss(wide[:, 2:5].contiguous(), p, labels),
    )
    assert squared_cosine_loss(wide[:0], prototypes, labels[:0], reduction="none").shape == (0,)


def test_cosine_softmax_is_cross_entropy_over_scaled_cosines(generator):
    z, prototypes, labels = batch(6, 3, 4, generator)
    cosines = torch.stack([functional.cosine_similarity(z, p[None]) for p in prototypes], dim=1)
    expected = functional.cross_entropy(7 * cosines, labels, reduction="none")
    torch.testing.assert_close(CosineSoftmax(scale=7)(z, prototypes, labels), expected)
    with pytest.raises(ValueError, match="`scale` must be finite and greater than 0; got 0"):
        CosineSoftmax(scale=0)


def test_wrong_shapes_and_types_get_a_sentence(generator):
    z, prototypes, labels = batch(6, 3, 4, generator)
    with pytest.raises(
        ValueError, match=r"`z` must have shape \(n, 4\) to match the space; got \(6, 5\)"
    ):
        squared_cosine_loss(torch.ones(6, 5), prototypes, labels)
    with pytest.raises(
        ValueError, match=r"`labels` must have shape \(6,\), one per row of `z`; got \(5,\)"
    ):
        squared_cosine_loss(z, prototypes, labels[:5])
    with pytest.raises(
        TypeError, match="`labels` must be class ids of an integer dtype; got torch.float32"
    ):
        squared_cosine_loss(z, prototypes, labels.float())
    with pytest.raises(TypeError, match="`z` must be floating point; got torch.int64"):
        squared_cosine_loss(torch.ones(6, 4, dtype=torch.int64), prototypes, labels)
    with pytest.raises(
        ValueError, match='Unknown reduction "avg". Choose from: "mean", "sum", "none"'
    ):
        squared_cosine_loss(z, prototypes, labels, reduction="avg")
    with pytest.raises(ValueError, match="`prototypes` must be fixed"):
        squared_cosine_loss(z, prototypes.requires_grad_(), labels)
    with pytest.raises(
        ValueError,
        match=r"`points` must have the shape of `z`, \(n, dim\), or \(dim,\); got \(3,\)",
    ):
        cosine_loss(z, torch.ones(3), 1.0)
    with pytest.raises(
        ValueError, match=r"`target` must be a number or have shape \(6,\); got \(6, 1\)"
    ):
        cosine_loss(z, torch.ones(4), torch.ones(6, 1))
    with pytest.raises(
        ValueError, match=r"`prototypes` must have shape \(num_classes, dim\); got \(4,\)"
    ):
        squared_cosine_loss(z, torch.ones(4), labels)


@pytest.mark.filterwarnings(
    "ignore:.*torch.jit.script:DeprecationWarning"
)  # which torch.func itself calls
@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "sampled_cosine_softmax"])
def test_losses_can_be_transformed_by_torch_func(loss):
    generator = torch.Generator().manual_seed(0)
    z, labels = (
        torch.randn(4, 3, generator=generator, dtype=torch.float64),
        torch.tensor([0, 3, 2, 4]),
    )
    space = hp.Space(3, hp.Classes(5, loss=loss))

    def total(z):
        return space.loss(z, labels, reduction="sum")

    leaf = z.clone().requires_grad_()
    (expected,) = torch.autograd.grad(total(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(total)(z), expected)
    rows = torch.func.vmap(lambda row, label: space.loss(row[None], label[None]))(z, labels)
    torch.testing.assert_close(rows, space.loss(z, labels, reduction="none"))
    torch.testing.assert_close(
        torch.func.hessian(total)(z), torch.autograd.functional.hessian(total, z)
    )


def test_ranges_can_be_transformed_by_torch_func():
    space = hp.Space(3, hp.Range(0, 1))
    z, target = (
        torch.randn(4, 3, generator=torch.Generator().manual_seed(0)),
        torch.tensor([0.0, 0.3, 0.5, 1.0]),
    )
    leaf = z.clone().requires_grad_()
    (expected,) = torch.autograd.grad(space.loss(leaf, target), leaf)
    torch.testing.assert_close(torch.func.grad(lambda z: space.loss(z, target))(z), expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_huge_output_is_not_zero_where_denormal_numbers_are(loss):
    torch.manual_seed(0)
    space = hp.Space(3, hp.Classes(5, loss=loss))
    z = space.prototypes.vectors[:2].float()
    z, labels = z * 3e38 / z.abs().amax(dim=1, keepdim=True), torch.tensor([0, 1])
    if not torch.set_flush_denormal(True):
        pytest.skip("the processor cannot flush denormal numbers")
    try:
        torch.manual_seed(0)
        flushed = space.loss(z, labels, reduction="none")
    finally:
        torch.set_flush_denormal(False)
    torch.manual_seed(0)
    torch.testing.assert_close(flushed, space.loss(z, labels, reduction="none"))
