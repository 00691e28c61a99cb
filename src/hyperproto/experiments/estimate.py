"""How long cells will take here: from a measured step, not from a table of machines."""

import time
from functools import lru_cache

import torch

from hyperproto.experiments.cell_space import cell_network
from hyperproto.experiments.scales import NOMINAL, NUM_CLASSES
from hyperproto.experiments.spec import Options, Spec

__all__ = ["estimate_seconds", "seconds_an_image"]

SIZES = {"imagenet-200": 64, "cub-200-2011": 224, "omniart": 224, "rotated-mnist": 28}
CHANNELS = {"rotated-mnist": 1}
PIXELS = 2**16  # of a batch to measure with: 64 images of 32 by 32, and never fewer than FEWEST
FEWEST = 4
FORWARD_SHARE = 1 / 3  # of a step: a backward pass costs two forward ones
PLACEMENT = 10.0  # seconds that prototypes take, once for all cells that share them


def estimate_seconds(spec: Spec) -> float:
    """Return the seconds a cell takes on one thread, data as published or cut down as the spec says."""
    if spec.kind != "train":
        return PLACEMENT
    train, test = NOMINAL.get(spec.data, NOMINAL["cifar-100"])
    train, test = min(train, spec.train_images or train), min(test, spec.test_images or test)
    size = spec.size or SIZES.get(spec.data, 32)
    an_image = seconds_an_image(
        spec.network, spec.network_options, CHANNELS.get(spec.data, 3), size, spec.dim or NUM_CLASSES[spec.data]
    )
    return spec.epochs * (train + FORWARD_SHARE * test) * an_image


@lru_cache
def seconds_an_image(network: str, options: Options, channels: int, size: int, out_dim: int) -> float:
    """Return the seconds of a step, forward and backward, for one image on one thread, as measured."""
    made = cell_network(Spec(network=network, network_options=options, dim=out_dim), out_dim)
    # a deep network takes long enough with a few; a small one needs many, or what is measured is overhead
    is_small = sum(parameter.numel() for parameter in made.parameters()) < 1e6
    count = max(FEWEST, PIXELS // size**2 if is_small else FEWEST)
    images = torch.zeros(min(count, 128), channels, size, size)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            made(images).square().mean().backward()
            seconds.append(time.perf_counter() - started)
    finally:
        torch.set_num_threads(threads)
    return min(seconds[1:]) / len(images)  # the first sets things up
