"""How long cells will take here: from a measured step, not from a table of machines.

What is measured is processor time of one thread, the best of a few steps: others who use the machine meanwhile make a
cell take longer, but do not change what it costs.
"""

import time
from functools import lru_cache

import torch
from torch import Tensor, nn

from hyperproto.reproduction.cell_space import cell_network
from hyperproto.reproduction.scales import NOMINAL, NUM_CLASSES
from hyperproto.reproduction.spec import Options, Spec

__all__ = ["estimate_seconds", "seconds_an_image"]

SIZES = {"imagenet-200": 64, "cub-200-2011": 224, "omniart": 224, "rotated-mnist": 28}
CHANNELS = {"rotated-mnist": 1}
PIXELS = 2**16  # of a batch to measure with: 64 images of 32 by 32, and never fewer than FEWEST
FEWEST = 4
STEPS = 4
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
        made(images).square().mean().backward()  # sets things up
        return min(_step_seconds(made, images) for _ in range(STEPS)) / len(images)
    finally:
        torch.set_num_threads(threads)


def _step_seconds(network: nn.Module, images: Tensor) -> float:
    """Return the processor seconds of this process for a step; autograd works in a thread of its own."""
    started = time.process_time()
    network(images).square().mean().backward()
    return time.process_time() - started
