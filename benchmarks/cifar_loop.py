"""An epoch of the small ResNet on CIFAR-sized images: ours, the bare step, and a plain loop with a
DataLoader.

The bare loop has nothing but forward, backward and step on batches that are ready, in the same
memory layout; what ``fit`` adds to it is the loop's own cost, augmentation included. The plain loop
is what one writes without a library: a Dataset that augments one sample at a time with torch, a
DataLoader, the default layout. Peak memory is that of training on 50,000 such images, in a process
of its own. All the machine's threads; best of the rounds, in turn.
"""

import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import hyperproto as hp
from benchmarks.augmentation import by_torch
from hyperproto.data import Augment, Batches, ImageData, ImagePreprocessing, Split
from hyperproto.data.preprocessing import CIFAR_MEAN, CIFAR_STD
from hyperproto.models import create_backbone

IMAGES, BATCH, ROUNDS, NUM_CLASSES = 40 * 128, 128, 2, 100
SETTINGS = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4}


def measure() -> tuple[str, list[dict[str, object]]]:
    data, space = images(IMAGES), hp.Space(100, {"class": hp.Classes(NUM_CLASSES, "paper")})
    plain = PerSample(data)
    loops: dict[str, Callable[[], float]] = {
        "hp.fit": lambda: fitted(data, space),
        "bare forward, backward, step": lambda: bare(data, space),
        "plain loop, DataLoader": lambda: loaded(plain, space, workers=0),
        "plain loop, DataLoader with 2 workers": lambda: loaded(plain, space, workers=2),
    }
    for loop in loops.values():
        loop()
    rounds = [{name: loop() for name, loop in loops.items()} for _ in range(ROUNDS)]
    best = {name: min(times[name] for times in rounds) for name in loops}
    rows: list[dict[str, object]] = [
        {
            "loop": name,
            "ms a step": round(1e3 * taken, 1),
            "times hp.fit": round(taken / best["hp.fit"], 3),
        }
        for name, taken in best.items()
    ]
    rows.append(
        {
            "loop": "peak memory of hp.fit, 50,000 images, MB",
            "ms a step": "",
            "times hp.fit": peak_memory(),
        }
    )
    return "ResNet depth 8 (16/32/64) on 32 x 32 images, batch 128, crop and flip", rows


def images(count: int) -> ImageData:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=generator)
    labels = torch.randint(NUM_CLASSES, (count,), generator=generator)
    preprocessing = ImagePreprocessing(32, CIFAR_MEAN, CIFAR_STD)
    return ImageData(
        Split(pixels, {"class": labels}), preprocessing, augment=Augment(padding=4, flip=True)
    )


def network() -> nn.Module:
    torch.manual_seed(0)
    return create_backbone("resnet-8", out_dim=100)


def fitted(data: ImageData, space: hp.Space) -> float:
    built = network()
    started = time.perf_counter()
    hp.fit(
        built,
        space,
        data,
        epochs=1,
        batch_size=BATCH,
        schedule="constant",
        progress=False,
        **SETTINGS,
    )
    return (time.perf_counter() - started) / (len(data) // BATCH)


def bare(data: ImageData, space: hp.Space) -> float:
    ready = [data.batch(ids, seed=0, epoch=0) for ids in Batches(data, BATCH, shuffle=True).ids(0)]
    built = network().to(memory_format=torch.channels_last)
    return steps(built, space, ready)


def loaded(plain: "PerSample", space: hp.Space, *, workers: int) -> float:
    torch.manual_seed(0)
    loader = DataLoader(plain, batch_size=BATCH, shuffle=True, num_workers=workers)
    return steps(network(), space, loader)


def steps(built: nn.Module, space: hp.Space, batches: object) -> float:
    optimizer = torch.optim.SGD(built.parameters(), **SETTINGS)
    built.train()
    started, count = time.perf_counter(), 0
    for inputs, targets in batches:  # type: ignore[attr-defined]
        space.loss(built(inputs), targets, reduction="sum").backward()
        optimizer.step()
        optimizer.zero_grad()
        count += 1
    return (time.perf_counter() - started) / count


class PerSample(Dataset[tuple[Tensor, dict[str, Tensor]]]):
    """The same images, augmented one at a time as they are asked for."""

    def __init__(self, data: ImageData) -> None:
        self.images = data.pixels(torch.arange(len(data)))
        self.labels = data.targets["class"]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, dict[str, Tensor]]:
        top, left = torch.randint(0, 9, (2,)).tolist()
        turned = by_torch(self.images[index], top, left, bool(torch.rand(()) < 0.5))
        return turned.permute(2, 0, 1).contiguous(), {"class": self.labels[index]}


def peak_memory() -> int:
    """Return the peak resident memory in MB of a process that trains on 50,000 images for fifteen
    seconds.
    """
    program = (
        "import resource, signal, hyperproto as hp\n"
        "from contextlib import suppress\n"
        "from benchmarks.cifar_loop import images, fitted\n"
        "data, space = images(50_000), hp.Space(100, {'class': hp.Classes(100, 'paper')})\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "signal.alarm(15)\n"
        "with suppress(KeyboardInterrupt):\n"
        "    fitted(data, space)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])
