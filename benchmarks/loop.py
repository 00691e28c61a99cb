"""What the training loop adds to a bare forward, backward, step: on the demo's network, and on one
layer.

A step of the demo's network takes so long that its scatter hides the loop; a step of one layer
shows it.
"""

import time
from collections.abc import Callable

import torch
from torch import nn

import hyperproto as hp
from hyperproto.data import Arrays, Batches, load_rotated_digits
from hyperproto.models import DigitNet

EPOCHS, ROUNDS, BATCH = 3, 5, 128
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "one layer": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)),
    "the demo's": lambda: DigitNet(3),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    train, _ = load_rotated_digits(size=8, copies=20)
    space = hp.Space(3, digit=hp.Classes(5, "paper"), angle=hp.Range(0, 180))
    torch.set_num_threads(1)
    rows = [measure_network(name, build, space, train) for name, build in NETWORKS.items()]
    return (
        "hp.fit (checks, shuffling and batching included) against a bare loop, one thread, best of five",
        rows,
    )


def measure_network(
    name: str, build: Callable[[], nn.Module], space: hp.Space, train: Arrays
) -> dict[str, object]:
    batches = Batches(train, BATCH, shuffle=True).ids(0)

    def bare() -> float:
        """Time a loop of nothing but the step, on batches that are there already."""
        network = build()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.003, momentum=0.9, weight_decay=1e-4)
        ready = [train[ids] for ids in batches]
        started = time.perf_counter()
        for _ in range(EPOCHS):
            for inputs, targets in ready:
                space.loss(network(inputs), targets, reduction="sum").backward()
                optimizer.step()
                optimizer.zero_grad()
        return (time.perf_counter() - started) / (EPOCHS * len(ready))

    def ours() -> float:
        network = build()
        started = time.perf_counter()
        hp.fit(network, space, train, epochs=EPOCHS, batch_size=BATCH, lr=0.003)
        return (time.perf_counter() - started) / (EPOCHS * len(batches))

    bare(), ours()
    pairs = [(ours(), bare()) for _ in range(ROUNDS)]
    mine, theirs = (
        min(column) for column in zip(*pairs, strict=True)
    )  # the least disturbed round of each
    return {
        "network": name,
        "fit, ms a step": round(mine * 1e3, 3),
        "bare, ms a step": round(theirs * 1e3, 3),
        "added, ms": round((mine - theirs) * 1e3, 3),
        "ratio": round(mine / theirs, 3),
    }
