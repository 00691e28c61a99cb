"""The fused loss, forward and backward, against torch's cosine_similarity with autograd. One
thread.

In seconds of one processor, which do not count what else the machine does; a round is several steps
of each in turn.
"""

import time
from collections.abc import Callable

import torch
from torch.nn import functional

from benchmarks.timing import compare
from hyperproto import Classes, Space, place
from hyperproto.losses import squared_cosine_loss

SIZES = ((128, 25), (128, 100), (1024, 128), (4096, 128))
NUM_CLASSES = 100


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [row for n, dim in SIZES for row in measure_size(n, dim)]
    finally:
        torch.set_num_threads(threads)
    return "Squared cosine loss, forward and backward, one thread", [*rows, measure_many_classes()]


def measure_many_classes() -> dict[str, object]:
    """Time a step at a million classes against one at a hundred, with fresh labels every time."""
    generator = torch.Generator().manual_seed(0)
    n, dim = 128, 128
    z = torch.randn(n, dim, generator=generator, requires_grad=True)
    tables = [
        functional.normalize(torch.randn(k, dim, generator=generator)) for k in (1_000_000, 100)
    ]

    def step(prototypes: torch.Tensor) -> None:
        z.grad = None
        labels = torch.randint(len(prototypes), (n,), generator=generator)
        squared_cosine_loss(z, prototypes, labels).backward()

    many, few, ratio = compare(
        lambda: step(tables[0]), lambda: step(tables[1]), rounds=300, clock=time.process_time
    )
    return {
        "batch": n,
        "dim": dim,
        "ours": "K = 1,000,000",
        "ours, µs": round(many * 1e6),
        "peer, µs": round(few * 1e6),
        "peer": "the same at K = 100",
        "times faster": round(ratio, 2),
    }


def repeat(step: Callable[[], None], times: int) -> Callable[[], None]:
    def several() -> None:
        for _ in range(times):
            step()

    return several


def measure_size(n: int, dim: int) -> list[dict[str, object]]:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, dim, generator=generator, requires_grad=True)
    labels = torch.randint(NUM_CLASSES, (n,), generator=generator)
    placed = place(NUM_CLASSES, dim, method="random")
    prototypes = placed.vectors.float()
    space = Space(dim, Classes(placed, "paper"))

    def peer() -> None:
        z.grad = None
        ((1 - functional.cosine_similarity(z, prototypes[labels])) ** 2).mean().backward()

    def function() -> None:
        z.grad = None
        squared_cosine_loss(z, prototypes, labels).backward()

    def method() -> None:
        z.grad = None
        space.loss(z, labels).backward()

    rows = []
    for name, ours in (("squared_cosine_loss", function), ("Space.loss", method)):
        steps = 1 if n > 128 else 10
        mine, theirs, ratio = compare(
            repeat(ours, steps), repeat(peer, steps), rounds=150, clock=time.process_time
        )
        rows.append(
            {
                "batch": n,
                "dim": dim,
                "ours": name,
                "ours, µs": round(mine / steps * 1e6),
                "peer, µs": round(theirs / steps * 1e6),
                "peer": "cosine_similarity",
                "times faster": round(ratio, 2),
            }
        )
    return rows
