"""Settings every test shares."""

import pytest
import torch
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
