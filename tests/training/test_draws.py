import torch

from hyperproto.training.steps import seed_draws


def test_a_seed_gives_what_torchs_own_gives_and_notes_nothing_for_devices_that_are_not_there(
    monkeypatch,
):
    torch.manual_seed(5)
    expected = torch.rand(3)
    monkeypatch.setattr(torch, "manual_seed", None)  # the slow one is not called
    seed_draws(5, torch.device("cpu"))
    assert torch.equal(torch.rand(3), expected)


def test_on_a_device_everything_is_seeded(monkeypatch):
    seen = []
    monkeypatch.setattr(torch, "manual_seed", seen.append)
    seed_draws(7, torch.device("cuda"))
    assert seen == [7]
