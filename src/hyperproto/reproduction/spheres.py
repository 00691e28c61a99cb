"""The rotated-MNIST figure from its record: where the test images lie on the sphere."""

import base64
from typing import Any

import numpy as np

from hyperproto.report.sphere_picture import SphereView

__all__ = ["sphere_view_of"]


def sphere_view_of(look: dict[str, Any]) -> SphereView:
    """Return what :mod:`hyperproto.reproduction.look` stored, as the pictures of the sphere take it."""
    side = int(look["side"])
    images = np.frombuffer(base64.b64decode(look["images"]), dtype=np.uint8).reshape(-1, side, side)
    return SphereView(
        points=np.asarray(look["points"], dtype=np.float64),
        labels=np.asarray(look["labels"], dtype=np.int64),
        values=np.asarray(look["values"], dtype=np.float64),
        prototypes=np.asarray(look["prototypes"], dtype=np.float64),
        names=tuple(look["names"]),
        value_name="angle in degrees",
        images=images,
    )
