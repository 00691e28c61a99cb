"""How soon we are where the paper's method is after 10,000 steps: the search alone, and known
codes.

All are timed in one run, on one thread. The paper's method is timed twice: as published, in torch
with autograd and an optimizer rebuilt at every step (1,000 steps, times ten), and as
`place(method="paper")` does it, in numpy. The search is one start of ours from random points.
"""

import time

import numpy as np
import torch

from hyperproto._core.processes import one_thread
from hyperproto.codes.best import known_code
from hyperproto.codes.measure import max_cosine, random_points
from hyperproto.codes.paper import paper_descent
from hyperproto.codes.smooth_max import SmoothMax, descend

CASES = ((100, 10), (100, 25), (200, 50), (1000, 64))
EXPONENTS = (16, 64, 256, 1024)


def measure() -> tuple[str, list[dict[str, object]]]:
    torch.set_num_threads(1)
    seconds_as_published(
        10, 3, 20
    )  # the first optimizer loads modules, which must not be counted ten times over
    with one_thread():
        rows = [measure_case(*case) for case in CASES]
    return "At the separation of 10,000 steps of Eq. 5, one thread", rows


def measure_case(num_points: int, dim: int) -> dict[str, object]:
    published = 10 * seconds_as_published(num_points, dim, 1000)
    started = time.perf_counter()
    paper = max_cosine(paper_descent(num_points, dim, seed=0, steps=10_000))
    paper_seconds = time.perf_counter() - started
    times = [time_to_reach(num_points, dim, paper, seed) for seed in range(3)]
    search_seconds = float(np.median(times))
    started = time.perf_counter()
    known = known_code(num_points, dim)
    known_seconds = time.perf_counter() - started
    return {
        "K": num_points,
        "D": dim,
        "Eq. 5": round(paper, 4),
        "as published, s": round(published, 1),
        "in numpy, s": round(paper_seconds, 2),
        "search reaches it, s": round(search_seconds, 3),
        "times sooner": f"{published / search_seconds:.0f} / {paper_seconds / search_seconds:.0f}",
        "known code": "none" if known is None else round(known.certificate.max_cosine, 4),
        "made in, s": round(known_seconds, 3),
        "times sooner (code)": ""
        if known is None or known.certificate.max_cosine > paper
        else f"{published / known_seconds:.0f} / {paper_seconds / known_seconds:.0f}",
    }


def seconds_as_published(num_points: int, dim: int, steps: int) -> float:
    """Time Equation 5 as the authors' script runs it."""
    prototypes = torch.nn.Parameter(torch.nn.functional.normalize(torch.randn(num_points, dim)))
    started = time.perf_counter()
    for _ in range(steps):
        optimizer = torch.optim.SGD([prototypes], lr=0.1, momentum=0.9)
        products = prototypes @ prototypes.T - 2 * torch.eye(num_points)
        products.max(dim=1)[0].mean().backward()
        optimizer.step()
        prototypes = torch.nn.Parameter(torch.nn.functional.normalize(prototypes.detach()))
    return time.perf_counter() - started


def time_to_reach(num_points: int, dim: int, cosine: float, seed: int) -> float:
    """Return the seconds one start takes until its maximum cosine is at most ``cosine``."""
    started = time.perf_counter()
    smooth, points = SmoothMax(num_points, dim), random_points(num_points, dim, seed)
    for exponent in EXPONENTS:
        for _ in range(20):
            points = descend(smooth, points, [exponent], iterations=15)
            if max_cosine(points) <= cosine:
                return time.perf_counter() - started
    return float("inf")
