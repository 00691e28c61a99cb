"""The demo, in small: it trains, compares, draws, and can be looked at."""

import pytest
import torch

from hyperproto.cli import demo
from hyperproto.cli.main import main


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "COPIES", 4)
    monkeypatch.setattr(demo, "LR", 0.1)


def test_the_demo_prints_a_table_and_leaves_pictures_and_pages(small, tmp_path, capsys):
    main(["demo", "-o", str(tmp_path / "demo"), "--epochs", "1"])
    out = capsys.readouterr().out
    for name in demo.SPACES:
        assert name.split(",")[0] in out
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "sphere-1.html",
        "sphere-1.png",
        "sphere-2.html",
        "sphere-2.png",
    ]


def test_pictures_show_the_images_the_network_saw(small):
    views = []
    for name in demo.SPACES:
        outputs = []
        run, held = demo.train_digits(
            demo.make_space(name), epochs=2, lr=0.1, seed=3, outputs=outputs
        )
        assert len(outputs) == 2
        views.append(demo._view(run, held, outputs, 3))
    assert views[2] is None
    pictures = torch.from_numpy(views[0].images) / 255
    assert len(pictures) == len(held)
    shrunk = pictures.unfold(1, 3, 3).unfold(2, 3, 3).mean(dim=(3, 4))
    matched = [
        float((a * b).sum() / (a.norm() * b.norm()))
        for a, b in zip(shrunk, held.inputs[:, 0], strict=True)
    ]
    assert min(matched) > 0.8
