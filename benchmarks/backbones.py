"""A training step of each backbone, per input, against one of resnet-8 at 32 px; and both memory
formats. One thread.

A step is forward, Eq. 1, backward and the optimizer. Small batches keep the large networks to
seconds. The clock counts the processor time of this process, so that others on the machine disturb
it little, and the best round counts.
"""

import time
from collections.abc import Callable

import torch

import hyperproto as hp
from hyperproto.models import create_backbone

OUT_DIM, ROUNDS = 100, 4
UNIT = ("resnet-8", {}, (3, 32, 32), 128)
CASES = (
    UNIT,
    ("resnet-14", {}, (3, 32, 32), 128),
    ("resnet-20", {}, (3, 32, 32), 128),
    ("resnet-20", {}, (3, 64, 64), 32),
    ("resnet-32", {}, (3, 32, 32), 128),
    ("resnet-32", {}, (3, 64, 64), 32),
    ("resnet-3463-small", {}, (3, 224, 224), 8),
    ("resnet-3463", {}, (3, 224, 224), 4),
    ("densenet-small", {}, (3, 32, 32), 64),
    ("densenet-121", {}, (3, 32, 32), 8),
    ("rotated-mnist", {}, (1, 28, 28), 128),
    ("digit-net", {}, (1, 8, 8), 128),
    ("mlp", {"in_features": 64, "hidden": (256, 256), "norm": "batch"}, (64,), 128),
)


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [measure_network(*case) for case in CASES]
    finally:
        torch.set_num_threads(threads)
    return (
        "Training step per input, channels last, against resnet-8 at 32 px; one thread, processor time, best of four",
        rows,
    )


def measure_network(
    name: str, settings: dict[str, int], shape: tuple[int, ...], batch: int
) -> dict[str, object]:
    ours, count = training_step(name, settings, shape, batch, torch.channels_last)
    plain, _ = training_step(name, settings, shape, batch, torch.contiguous_format)
    unit, _ = training_step(*UNIT, torch.channels_last)
    rounds = [
        (busy(ours) / batch, busy(plain) / batch, busy(unit) / UNIT[3]) for _ in range(ROUNDS)
    ]
    last, contiguous, resnet = (min(column) for column in zip(*rounds, strict=True))
    return {
        "network": name,
        "input": " x ".join(map(str, shape)),
        "parameters": count,
        "batch": batch,
        "ms an input": round(1e3 * last, 3),
        "times resnet-8": round(last / resnet, 2),
        "contiguous / channels last": round(contiguous / last, 2) if len(shape) == 3 else "",
    }


def busy(function: Callable[[], None]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def training_step(
    name: str,
    settings: dict[str, int],
    shape: tuple[int, ...],
    batch: int,
    memory: torch.memory_format,
) -> tuple[Callable[[], None], int]:
    """Return a step that has been taken once, and how many parameters it trains."""
    torch.manual_seed(0)
    network = create_backbone(name, out_dim=OUT_DIM, **settings)
    inputs = torch.rand(batch, *shape)
    if len(shape) == 3:
        network, inputs = network.to(memory_format=memory), inputs.contiguous(memory_format=memory)
    space = hp.Space(OUT_DIM, hp.Classes(OUT_DIM, "paper"))
    labels = torch.arange(batch) % OUT_DIM
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)

    def step() -> None:
        space.loss(network(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    return step, sum(weight.numel() for weight in network.parameters())
