import pytest
import torch

from hyperproto import Classes, Range, Space
from hyperproto.data import Arrays


def make_blobs(n: int = 120, *, seed: int = 0) -> Arrays:
    """Return three groups of points in four dimensions, and a number that grows
    along the fourth.
    """
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    inputs = torch.randn(n, 4, generator=generator) * 0.3
    inputs[torch.arange(n), labels] += 2
    return Arrays(inputs, {"kind": labels, "size": inputs[:, 3].clamp(-1, 1)})


def make_network(out_dim: int = 3, *, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, out_dim)
    )


@pytest.fixture
def blobs() -> Arrays:
    return make_blobs()


@pytest.fixture
def blob_space() -> Space:
    return Space(3, kind=Classes(["a", "b", "c"]), size=Range(-1, 1))
