"""Batched crop, flip and normalization against the same for one sample after another, on
CIFAR-sized images.

Every peer gets the same draws, and must give the same pixels before it is timed. The per-sample
versions do what a torch Dataset's ``__getitem__`` would and stack the results; none of them pays
for a DataLoader. One thread.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from benchmarks.timing import seconds
from hyperproto.data import Augment, Batches, ImageData, ImagePreprocessing, Split
from hyperproto.data.augment import uniforms
from hyperproto.data.preprocessing import CIFAR_MEAN, CIFAR_STD

N, SIDE, PADDING, BATCH, ROUNDS = 50_000, 32, 4, 128, 200
SHIFT, SCALE = (np.float32(255 * np.asarray(values)) for values in (CIFAR_MEAN, CIFAR_STD))
Image3 = np.ndarray  # uint8, shape (32, 32, 3)


def by_numpy(image: Image3, top: int, left: int, mirror: bool) -> Tensor:
    padded = np.zeros((SIDE + 2 * PADDING, SIDE + 2 * PADDING, 3), dtype=np.uint8)
    padded[PADDING:-PADDING, PADDING:-PADDING] = image
    cut = padded[top : top + SIDE, left : left + SIDE]
    cut = cut[:, ::-1] if mirror else cut
    values = cut.astype(np.float32)
    values -= SHIFT
    values /= SCALE
    return torch.from_numpy(values)


def by_torch(image: Image3, top: int, left: int, mirror: bool) -> Tensor:
    padded = torch.nn.functional.pad(
        torch.from_numpy(image), (0, 0, PADDING, PADDING, PADDING, PADDING)
    )
    cut = padded[top : top + SIDE, left : left + SIDE]
    cut = cut.flip(1) if mirror else cut
    return cut.float().sub_(torch.from_numpy(SHIFT)).div_(torch.from_numpy(SCALE))


def by_pillow(image: Image3, top: int, left: int, mirror: bool) -> Tensor:
    padded = ImageOps.expand(Image.fromarray(image), PADDING)
    cut = padded.crop((left, top, left + SIDE, top + SIDE))
    cut = cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirror else cut
    values = np.asarray(cut).astype(np.float32)
    values -= SHIFT
    values /= SCALE
    return torch.from_numpy(values)


PEERS: dict[str, Callable[[Image3, int, int, bool], Tensor]] = {
    "numpy, one sample at a time": by_numpy,
    "torch, one sample at a time": by_torch,
    "Pillow, one sample at a time": by_pillow,
}


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        data, images = cifar_like()
        torch.zeros(
            2**22
        )  # once memory of this size was given back, as in training, more comes without page faults
        rows = [measure_peer(name, peer, data, images) for name, peer in PEERS.items()]
    finally:
        torch.set_num_threads(threads)
    return (
        f"Crop, flip, normalize: {BATCH} x {SIDE} x {SIDE}, pixels identical, one thread, best of {ROUNDS} rounds",
        rows,
    )


def cifar_like() -> tuple[ImageData, Image3]:
    images = torch.randint(
        0, 256, (N, 3, SIDE, SIDE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    preprocessing = ImagePreprocessing(SIDE, CIFAR_MEAN, CIFAR_STD)
    data = ImageData(
        Split(images, {"class": torch.zeros(N, dtype=torch.int64)}), preprocessing, augment=AUGMENT
    )
    return data, images.permute(0, 2, 3, 1).contiguous().numpy()


AUGMENT = Augment(padding=PADDING, flip=True)


def measure_peer(
    name: str, peer: Callable[[Image3, int, int, bool], Tensor], data: ImageData, images: Image3
) -> dict[str, object]:
    ids = torch.randperm(N, generator=torch.Generator().manual_seed(1))[:BATCH]

    def ours() -> Tensor:
        return data.batch(ids, seed=0, epoch=0)[0]

    def theirs() -> Tensor:
        draws = uniforms(0, 0, ids.numpy(), 3)
        places = (draws[:, :2] * (2 * PADDING + 1)).astype(int).tolist()
        mirrors = (draws[:, 2] < 0.5).tolist()
        samples = zip(ids.tolist(), places, mirrors, strict=True)
        made = [peer(images[row], top, left, mirror) for row, (top, left), mirror in samples]
        return torch.stack(made).permute(0, 3, 1, 2)

    assert torch.equal(ours(), theirs()), f"{name} gives other pixels"
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    mine, other = (
        min(column) for column in zip(*pairs, strict=True)
    )  # the least disturbed round of each
    return {
        "peer": name,
        "ours, ms a batch": round(mine * 1e3, 2),
        "peer, ms a batch": round(other * 1e3, 2),
        "times faster": round(other / mine, 1),
        f"ours, s for {N:,} images": round(min(seconds_of_a_pass(data) for _ in range(3)), 2),
    }


def seconds_of_a_pass(data: ImageData) -> float:
    started = time.perf_counter()
    for _ in Batches(data, BATCH, shuffle=True).epoch(0):
        pass
    return time.perf_counter() - started
