"""Run under torchrun by test_processes.py: trains, and lets the first process write down what it
got.
"""

import atexit
import os
import sys
from pathlib import Path

import torch

import hyperproto as hp
from hyperproto.training import keeper, steps
from tests.training.conftest import make_blobs, make_network


class CutError(Exception):
    pass


def check_resuming(folder: Path, space: hp.Space, data: object) -> None:
    """Batch statistics and random numbers differ between processes; resuming gives each its own
    back.
    """
    keeper.AGREE_EVERY = 3

    def train(name: str, cut: int = -1, **more: object) -> None:
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            make_network(8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 3)
        )
        seen = []

        def observe(z: object, targets: object) -> None:
            seen.append(z)
            if len(seen) == cut:
                raise CutError

        space.observe = observe
        settings = {"epochs": 3, "batch_size": 16, "lr": 0.002, "checkpoint_seconds": 0, **more}
        hp.fit(network, space, data, valid=data, folder=folder / name, **settings)

    train("unbroken")
    for cut, more in ((11, {}), (4, {"resume": True})):
        try:
            train("broken", cut, **more)
        except CutError:
            continue
        raise AssertionError("not cut")
    train("broken", resume=True)
    torch.distributed.barrier()
    for name in ("last.safetensors", "epochs.jsonl", "checkpoint.safetensors", "metrics.json"):
        assert (folder / "broken" / name).read_bytes() == (
            folder / "unbroken" / name
        ).read_bytes(), name


def main(path: str, reduction: str) -> None:
    data = make_blobs(99)  # a last batch of 3
    data.targets["kind"][::4] = -1
    data.targets["size"][1::3] = float("nan")
    if os.environ.get("RANK") == "1":
        hp.Space(4, hp.Classes(7))  # in one of the processes alone
    space = hp.Space(3, kind=hp.Classes(["a", "b", "c"]), size=hp.Range(-1, 1))
    assert space.prototypes["kind"].certificate.proved
    network = make_network()
    lr = 0.02 if reduction == "mean" else 0.002
    settings = {"epochs": 3, "batch_size": 16, "lr": lr, "reduction": reduction}
    parts = (
        2 if torch.distributed.is_torchelastic_launched() else 1
    )  # each process in parts, against one whole batch
    run = hp.fit(network, space, data, valid=data, accumulate=parts, **settings)
    # they did work together
    assert steps.Machine.here().processes == int(os.environ.get("WORLD_SIZE", "1"))
    few = hp.evaluate(
        network, space, (data.inputs[:1], {k: v[:1] for k, v in data.targets.items()})
    )
    assert set(few) == {"kind/accuracy", "size/mae"}  # also where a process had no example
    if not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0:
        weights = torch.cat([p.detach().flatten() for p in network.parameters()])
        torch.save({"weights": weights, "history": run.history}, path)
    if torch.distributed.is_initialized():
        check_resuming(
            Path(path).parent / f"resumed-{reduction}", space, make_blobs(99)
        )  # the last batch would leave one process a single row


def check_left() -> None:
    """A thread of the group that outlives it may want the interpreter when it has ended: the
    process would abort.
    """
    tasks = Path("/proc/self/task")  # Linux
    names = (
        [(task / "comm").read_text().strip() for task in tasks.iterdir()] if tasks.exists() else []
    )
    if "pt_gloo_runloop" in names:
        os._exit(3)  # what an exit handler raises does not end the process


if __name__ == "__main__":
    atexit.register(check_left)  # the first to be registered is the last to be called
    main(*sys.argv[1:])
