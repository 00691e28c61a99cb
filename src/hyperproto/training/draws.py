"""The seed of an epoch's draws."""

import torch

__all__ = ["seed_draws"]


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed what a network on ``device`` draws from: dropout, augmentation.

    On a CPU only its own generator: ``torch.manual_seed`` also notes a call, with the whole stack as text, for every
    kind of device that is not there, which takes longer than a small step and is never forgotten.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
