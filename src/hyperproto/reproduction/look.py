"""What the rotated-MNIST figure shows of a trained run, small enough for a record."""

import base64
from typing import Any

import torch

from hyperproto.data import Arrays, ImageData, Source
from hyperproto.data.source import select
from hyperproto.reproduction.spec import Spec
from hyperproto.spaces import Space
from hyperproto.training import Run

__all__ = ["SHOWN", "look_at_sphere"]

SHOWN = 200  # points; with images of 14 by 14 a record has near 60 kB
SIDE = 14


@torch.no_grad()
def look_at_sphere(run: Run, source: Source, test: Arrays | ImageData, spec: Spec) -> dict[str, Any] | None:
    """Return where the first test images lie on S², with their digits, angles and pictures; None for other cells."""
    space = run.space
    if spec.data != "rotated-mnist" or not isinstance(space, Space) or space.dim != 3 or source.test is None:
        return None
    shown = select(source.test, torch.arange(min(SHOWN, len(source.test))))
    assert isinstance(shown.inputs, torch.Tensor)
    assert isinstance(test, ImageData)
    pictures = ImageData(shown, test.preprocessing, workers=0)
    inputs = torch.stack([pictures[index][0] for index in range(len(pictures))])
    device = next(run.network.parameters()).device
    points = space.project(run.network.eval()(inputs.to(device))).cpu()
    small = torch.nn.functional.adaptive_avg_pool2d(shown.inputs.float(), SIDE).round().byte()
    prototypes = space.prototypes
    assert isinstance(prototypes, dict)
    return {
        "points": [[round(value, 4) for value in row] for row in points.tolist()],
        "labels": shown.targets["digit"].tolist(),
        "values": [round(value, 2) for value in shown.targets["angle"].tolist()],
        "prototypes": [[round(value, 6) for value in row] for row in prototypes["digit"].vectors.tolist()],
        "names": list(source.targets["digit"].names),  # type: ignore[union-attr]  # digits are classes
        "side": SIDE,
        "images": base64.b64encode(small.numpy().tobytes()).decode(),
    }
