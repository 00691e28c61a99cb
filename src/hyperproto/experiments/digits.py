"""The network and the names for scikit-learn's digits."""

import torch

from hyperproto.models import DigitNet
from hyperproto.spaces import OutputSpace

__all__ = ["TEN_DIGITS", "digit_network"]

TEN_DIGITS = [str(digit) for digit in range(10)]


def digit_network(space: OutputSpace, *, size: int, seed: int, width: int = 32) -> DigitNet:
    """Build the network for a space, its weights fixed by the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return DigitNet(space.dim, size=size, width=width)
