"""A run of a composite space is stored, loaded and resumed as any other."""

import torch

import hyperproto as hp
from hyperproto.models import create_backbone


def test_a_composite_space_learns_both_targets_and_comes_back_whole(tmp_path):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(60) % 3
    values = torch.rand(60, generator=generator)
    inputs = torch.cat([torch.eye(3)[labels], values[:, None]], dim=1)
    torch.manual_seed(0)
    space = hp.CompositeSpace(3, kind=hp.Classes(3), amount=hp.Range(0, 1, margin=0.1))
    network = create_backbone("mlp", in_features=4, out_dim=3, hidden=(32,))
    targets = {"kind": labels, "amount": values}
    settings = {"epochs": 40, "batch_size": 20, "lr": 0.3, "reduction": "mean", "progress": False}
    run = hp.fit(
        network,
        space,
        (inputs, targets),
        valid=(inputs, targets),
        folder=tmp_path / "run",
        **settings,
    )
    assert run.metrics["kind/accuracy"] > 0.95
    assert run.metrics["amount/mae"] < 0.1
    loaded, again = hp.load(tmp_path / "run")
    assert type(again) is hp.CompositeSpace
    assert torch.equal(again.prototypes["kind"].vectors, space.prototypes["kind"].vectors)
    found = again.predict(loaded.eval()(inputs))
    assert (found["kind"] == labels).float().mean() == run.metrics["kind/accuracy"]
