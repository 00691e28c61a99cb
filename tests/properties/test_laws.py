"""Laws of the sphere and of the loss, for numbers nobody chose."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from hyperproto import Classes, Prototypes, Range, Space, place
from hyperproto.losses import squared_cosine_grad, squared_cosine_loss
from hyperproto.sphere import normalize

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(2, 40)


def draw(seed, n, dim, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, dim, generator=generator, dtype=torch.float64).to(dtype)
    prototypes = normalize(torch.randn(6, dim, generator=generator, dtype=torch.float64))
    labels = torch.randint(6, (n,), generator=generator)
    return z, prototypes, labels, generator


def random_rotation(dim, generator):
    q, r = torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=torch.float64))
    return q * r.diagonal().sign()


@given(seeds, dims, st.floats(-18, 18))
def test_rescaling_outputs_changes_nothing_in_float32(seed, dim, exponent):
    z, prototypes, labels, _ = draw(seed, 5, dim, torch.float32)
    scaled = squared_cosine_loss(z * 10.0**exponent, prototypes, labels, reduction="none")
    torch.testing.assert_close(
        scaled, squared_cosine_loss(z, prototypes, labels, reduction="none"), atol=2e-6, rtol=0
    )


@given(seeds, dims)
def test_rotating_everything_changes_nothing(seed, dim):
    z, prototypes, labels, generator = draw(seed, 5, dim)
    turn = random_rotation(dim, generator)
    torch.testing.assert_close(
        squared_cosine_loss(z @ turn, prototypes @ turn, labels),
        squared_cosine_loss(z, prototypes, labels),
    )


@given(seeds, dims, st.floats(-6, 6))
def test_the_gradient_is_orthogonal_to_the_output(seed, dim, exponent):
    z, prototypes, labels, _ = draw(seed, 5, dim)
    z = (z * 10.0**exponent).requires_grad_()
    squared_cosine_loss(z, prototypes, labels, reduction="sum").backward()
    along = (z.grad * z.detach()).sum(
        dim=1
    )  # the gradient shrinks as 1/|z|, so this is free of scale
    torch.testing.assert_close(along, torch.zeros_like(along), atol=1e-13, rtol=0)
    length = z.detach().norm(dim=1, keepdim=True)
    closed = squared_cosine_grad(z.detach(), prototypes, labels)
    torch.testing.assert_close(z.grad * length, closed * length, atol=1e-12, rtol=0)


@given(seeds, dims)
def test_permuting_classes_permutes_predictions(seed, dim):
    _, prototypes, _, generator = draw(seed, 5, dim)
    order = torch.randperm(6, generator=generator)
    z = torch.randn(9, dim, generator=generator, dtype=torch.float64)
    one = Space(dim, Classes(Prototypes.from_tensor(prototypes, method="test")))
    two = Space(dim, Classes(Prototypes.from_tensor(prototypes[order], method="test")))
    assert torch.equal(order[two.predict(z)], one.predict(z))


finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(finite, finite, st.floats(0, 1), st.sampled_from([torch.float32, torch.float64]))
def test_value_to_cosine_to_value_is_the_identity_within_two_ulp(a, b, share, dtype):
    low, high = sorted(torch.tensor([a, b], dtype=dtype).tolist())
    assume(high - low > 1e-3 * max(abs(low), abs(high)) > 0)
    task = Range(low, high)
    y = torch.tensor([low + share * (high - low)], dtype=dtype).clamp(low, high)
    back = task.from_cosine(task.to_cosine(y))
    assert back.dtype == dtype
    as_numpy = np.float32 if dtype == torch.float32 else np.float64
    ulp = float(np.spacing(as_numpy(max(abs(low), abs(high)))))  # the cosine cannot resolve less
    assert abs(back.item() - y.item()) <= 2 * ulp
    assert low <= back.item() <= high


@given(st.integers(2, 12), st.integers(2, 8), st.integers(0, 1000))
def test_save_and_load_are_exact(tmp_path_factory, classes, dim, seed):
    placed = place(classes, dim, method="random", seed=seed)
    path = tmp_path_factory.mktemp("p") / "p.safetensors"
    placed.save(path)
    loaded = Prototypes.load(path)
    assert torch.equal(placed.vectors, loaded.vectors)
    assert placed.certificate == loaded.certificate


@given(seeds, st.integers(0, 5))
def test_a_missing_label_changes_nothing_but_its_own_term(seed, missing):
    generator = torch.Generator().manual_seed(seed)
    space = Space(3, kind=Classes(5), number=Range(0, 1))
    z = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    targets = {
        "kind": torch.randint(5, (6,), generator=generator),
        "number": torch.rand(6, generator=generator, dtype=torch.float64),
    }
    full = space.losses(z, targets, reduction="none")
    for name, nothing in (("kind", -1), ("number", math.nan)):
        holed = {key: value.clone() for key, value in targets.items()}
        holed[name][missing] = nothing
        rows = space.losses(z, holed, reduction="none")
        expected = {key: value.clone() for key, value in full.items()}
        expected[name][missing] = 0
        for key in full:
            assert torch.equal(rows[key], expected[key])


@given(st.integers(2, 30), st.integers(2, 12))
def test_nothing_placed_lies_below_the_bound(classes, dim):
    certificate = place(classes, dim, method="random").certificate
    assert certificate.max_cosine >= certificate.bound - 1e-12
    assert certificate.gap == pytest.approx(certificate.max_cosine - certificate.bound)
