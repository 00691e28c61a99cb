"""Run under torchrun by test_processes.py: trains, and lets the first process write down what it got."""

import os
import sys

import torch

import hyperproto as hp
import hyperproto.spaces as spaces
from tests.training.conftest import make_blobs, make_network


def refuse(*args: object, **kwargs: object) -> None:
    raise AssertionError("placed in the second process")


def main(path: str, reduction: str) -> None:
    data = make_blobs(99)  # a last batch of 3
    data.targets["kind"][::4] = -1
    data.targets["size"][1::3] = float("nan")
    if os.environ.get("RANK") == "1":
        spaces.space.place = refuse  # the first places, the others receive
    space = hp.Space(3, kind=hp.Classes(["a", "b", "c"]), size=hp.Range(-1, 1))
    assert space.prototypes["kind"].certificate.proved
    network = make_network()
    lr = 0.02 if reduction == "mean" else 0.002
    run = hp.fit(network, space, data, valid=data, epochs=3, batch_size=16, lr=lr, reduction=reduction)
    few = hp.evaluate(network, space, (data.inputs[:1], {k: v[:1] for k, v in data.targets.items()}))
    assert set(few) == {"kind/accuracy", "size/mae"}  # also where a process had no example
    if not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0:
        weights = torch.cat([p.detach().flatten() for p in network.parameters()])
        torch.save({"weights": weights, "history": run.history}, path)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
