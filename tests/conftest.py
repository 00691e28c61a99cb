"""Settings every test shares."""

import os
import signal

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: tests run side by side, and bits depend on threads

import pytest
import torch
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")
torch.set_num_threads(1)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, as in a terminal: some shells start background commands that ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
