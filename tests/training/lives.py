"""Run by test_survival.py in a process of its own: trains without a break, and again in lives that
end anywhere.

Each life is a forked child, so torch is imported once. A life counts the moments where a death
could hurt (a step, a file half written, written but not renamed, renamed) and kills itself at one
drawn at random.
"""

import json
import os
import random
import signal
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset

import hyperproto as hp
from hyperproto.training import checkpoint, steps

KINDS = ("plain", "wobbly data", "learning space", "accumulation")
LIVES = 4  # after so many deaths a run may live to its end


class Wobbly(Dataset):
    """Draws from torch's global random numbers for every example, as a user's augmentation may."""

    def __init__(self, inputs, targets):
        self.inputs, self.targets = inputs, targets

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index] + 0.1 * torch.randn(1, 6, 6), self.targets[index]


class Learning(hp.OutputSpace):
    """Has a parameter, and a buffer that the hooks change: class means of the epoch so far."""

    dim = 4

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("means", torch.zeros(4, 4))

    def losses(self, z, targets, *, reduction="mean"):
        logits = (z * self.scale) @ (torch.eye(4) + 0.1 * self.means).T
        return nn.functional.cross_entropy(logits, targets, reduction=reduction)

    def predict(self, z):
        return (z * self.scale).argmax(dim=1)

    def begin_epoch(self, epoch):
        self.means.mul_(0.5)

    def observe(self, z, targets):
        self.means.index_add_(0, targets, 0.01 * z)


def train(folder: Path | None, kind: str, **settings: object) -> None:
    generator = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(120, 1, 6, 6, generator=generator), torch.arange(120) % 4
    inputs[:, 0, 0] += labels[:, None]
    torch.manual_seed(2)
    network = nn.Sequential(
        nn.Conv2d(1, 6, 3),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(96, 4),
    )
    network.to(memory_format=torch.channels_last)
    space = Learning() if kind == "learning space" else hp.Space(4, hp.Classes(4))
    data = Wobbly(inputs, labels) if kind == "wobbly data" else (inputs, labels)
    valid = inputs[:30], labels[:30]
    more = {"accumulate": 2} if kind == "accumulation" else {}
    hp.fit(
        network,
        space,
        data,
        valid=valid,
        epochs=3,
        batch_size=19,
        lr=0.003,
        folder=folder,
        **settings,
        **more,
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def doom(countdown: int) -> None:
    """Let this process die at the moment of that number."""
    left = [countdown]

    def strikes() -> bool:
        left[0] -= 1
        return left[0] == 0

    def around(holder: object, name: str) -> None:
        original = getattr(holder, name)

        def wrapped(*args: object, **kwargs: object) -> object:
            if strikes():
                die()
            result = original(*args, **kwargs)
            if strikes():
                die()
            return result

        setattr(holder, name, wrapped)

    def torn(holder: object, name: str, path_at: int) -> None:
        original = getattr(holder, name)

        def wrapped(*args: object, **kwargs: object) -> object:
            before = os.path.getsize(args[path_at]) if os.path.exists(args[path_at]) else 0
            result = original(*args, **kwargs)
            if strikes():
                os.truncate(args[path_at], (before + os.path.getsize(args[path_at])) // 2)
                die()
            return result

        setattr(holder, name, wrapped)

    around(steps.Gradients, "__call__")
    around(os, "replace")
    torn(checkpoint, "save_file", 1)


def live(folder: Path, kind: str, countdown: int | None, **settings: object) -> bool:
    """Train in a child; return whether it lived to the end."""
    child = os.fork()
    if child == 0:
        try:
            if countdown is not None:
                doom(countdown)
            train(folder, kind, **settings)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, status
    return True


def deaths_of(folder: Path, kind: str, draw: random.Random) -> int:
    """Train in as many lives as it takes; return how many ended early."""
    deaths = 0
    while not live(
        folder,
        kind,
        draw.randrange(1, 60) if deaths < LIVES else None,
        resume=True,
        checkpoint_seconds=draw.choice([0, 0.01, 1000]),
    ):
        deaths += 1
    return deaths


def main(place: str, seeds: str) -> None:
    torch.set_num_threads(1)
    os.fsync = lambda handle: None  # slow, and of no consequence where the machine itself lives on
    draw, deaths = random.Random(0), {}
    train(None, "plain")  # children start warm
    for kind in KINDS:
        folder = Path(place) / kind
        assert live(folder / "unbroken", kind, None)
        deaths[kind] = [
            deaths_of(folder / f"broken{seed}", kind, draw) for seed in range(int(seeds))
        ]
    print(json.dumps(deaths))


if __name__ == "__main__":
    main(*sys.argv[1:])
