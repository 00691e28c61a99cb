"""A training step of Deep NCM against one of the sphere: the same network, D = 100, one thread,
processor time.

The paper says that the sphere is cheaper: each example is compared with its own prototype, not with
every class mean, and prototypes stay where they are.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import hyperproto as hp
from benchmarks.timing import compare
from hyperproto.models import create_backbone
from reproduction.deep_ncm import DeepNCM

DIM, BATCH = 100, 128
CLASSES = (100, 1000)
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]] = {
    "none, the space alone": (nn.Identity, (DIM,), 200),
    "one layer": (lambda: nn.Linear(64, DIM), (64,), 200),
    "digit-net, 8 px": (lambda: create_backbone("digit-net", out_dim=DIM), (1, 8, 8), 60),
    "resnet-8, 32 px": (lambda: create_backbone("resnet-8", out_dim=DIM), (3, 32, 32), 12),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [measure_step(name, count) for name in NETWORKS for count in CLASSES]
    finally:
        torch.set_num_threads(threads)
    return (
        f"A training step of Deep NCM against one of Space, D = {DIM}, batch {BATCH}, one thread",
        rows,
    )


def measure_step(name: str, num_classes: int) -> dict[str, object]:
    build, shape, rounds = NETWORKS[name]
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(BATCH, *shape, generator=generator).requires_grad_(name.startswith("none"))
    labels = torch.randint(num_classes, (BATCH,), generator=generator)
    sphere = hp.Space(DIM, hp.Classes(hp.place(num_classes, DIM, method="random"), "paper"))
    means = DeepNCM(DIM, hp.Classes(num_classes))
    ours, theirs, ratio = compare(
        step_of(build(), sphere, inputs, labels),
        step_of(build(), means, inputs, labels),
        rounds=rounds,
        clock=time.process_time,
    )
    return {
        "network": name,
        "K": num_classes,
        "Space, ms": round(ours * 1e3, 3),
        "Deep NCM, ms": round(theirs * 1e3, 3),
        "Deep NCM / Space": round(ratio, 2),
    }


def step_of(
    network: nn.Module, space: hp.OutputSpace, inputs: Tensor, labels: Tensor
) -> Callable[[], None]:
    """Return a step as the training loop takes it: forward, backward, down the gradient, and a look
    at the batch.
    """
    weights = list(network.parameters())
    optimizer = (
        torch.optim.SGD(weights, lr=1e-6, momentum=0.9, weight_decay=1e-4) if weights else None
    )

    def step() -> None:
        inputs.grad = None
        z = network(inputs)
        space.loss(z, labels, reduction="sum").backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        space.observe(z.detach(), labels)

    return step
