"""A step of Equation 6, loss and gradient, against the dense form in torch with autograd, and a K x
K product.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

from benchmarks.timing import compare
from hyperproto._core.processes import one_thread
from hyperproto.codes.measure import random_points
from hyperproto.codes.ranking import Ranking


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_thread():
            rows = [measure_dense(100, 10), measure_dense(200, 25), measure_product(1000, 64)]
    finally:
        torch.set_num_threads(threads)
    return "Equation 6 over all triplets, loss and gradient, float64, one thread", rows


def measure_dense(count: int, dim: int) -> dict[str, object]:
    ours, points, similarity = problem(count, dim)
    loss, gradient = ours(points)
    dense = dense_step(points, similarity)
    expected, expected_gradient = dense()
    error = np.abs(gradient - expected_gradient).max() / np.abs(expected_gradient).max()
    assert abs(loss / expected - 1) < 1e-6
    assert error < 1e-6
    return row(count, dim, lambda: ours(points), dense, "dense K x K x K, autograd", f"{error:.1e}")


def measure_product(count: int, dim: int) -> dict[str, object]:
    ours, points, similarity = problem(count, dim)
    return row(
        count,
        dim,
        lambda: ours(points),
        lambda: similarity @ similarity,
        "product of K x K matrices",
        "",
    )


def problem(count: int, dim: int) -> tuple[Ranking, np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(0).standard_normal((count, count))
    similarity = np.round(drawn + drawn.T, 1)  # with ties
    return Ranking(similarity), random_points(count, dim, 1), similarity


def dense_step(
    points: np.ndarray, similarity: np.ndarray
) -> Callable[[], tuple[float, np.ndarray]]:
    p, s = torch.from_numpy(points), torch.from_numpy(similarity)
    truth = (s[:, :, None] >= s[:, None, :]).double()
    same = torch.eye(len(p), dtype=torch.bool)
    triplet = ~(same[:, :, None] | same[:, None, :] | same[None])
    mask = triplet.double() / triplet.sum()

    def step() -> tuple[float, np.ndarray]:
        leaf = p.clone().requires_grad_()
        cosines = leaf @ leaf.T
        o = cosines[:, :, None] - cosines[:, None, :]
        loss = ((functional.softplus(o) - truth * o) * mask).sum()
        loss.backward()
        assert leaf.grad is not None
        return loss.item(), leaf.grad.numpy()

    return step


def row(
    count: int,
    dim: int,
    ours: Callable[[], object],
    peer: Callable[[], object],
    name: str,
    error: str,
) -> dict[str, object]:
    mine, theirs, ratio = compare(ours, peer, rounds=15)
    return {
        "K": count,
        "D": dim,
        "ours, ms": round(mine * 1e3, 2),
        "peer": name,
        "peer, ms": round(theirs * 1e3, 2),
        "times faster": round(ratio, 2),
        "largest error of the gradient": error,
    }
