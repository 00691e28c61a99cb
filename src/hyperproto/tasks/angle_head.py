"""A number that wraps around, as a point on a circle."""

from math import tau

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import check_directions
from hyperproto.sphere import normalize, working_dtype
from hyperproto.tasks.angle import Angle
from hyperproto.tasks.head import Head

# of products in the loss, as in losses.FreeNormSoftmax; chosen on rotated digits and on the wind
GAIN = 3.0


class AngleHead(Head):
    """The direction of an output on the first two of its axes."""

    task: Angle

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 1 for the prototype of each target, or the likelihood of von Mises."""
        wide = working_dtype(z.dtype)
        prototypes = self.prototypes(target.to(torch.promote_types(target.dtype, wide))).to(wide)
        if self.task.loss == "paper":
            return ((self.points(z) - prototypes).square().sum(dim=1) / 2).square()
        circle = GAIN * self.part(z).to(wide)[:, :2]
        length = torch.linalg.vector_norm(circle, dim=1)
        normalizer = torch.special.i0e(length).log() + length  # log I0, for any length
        return normalizer - (circle * prototypes[:, :2]).sum(dim=1)

    def points(self, z: Tensor) -> Tensor:
        """Return the outputs on its axes as points on the sphere, shape (n, axes)."""
        return normalize(self.part(z).to(working_dtype(z.dtype)))

    def prototypes(self, values: Tensor) -> Tensor:
        """Return the point on the circle that stands for each number, shape (n, axes)."""
        angles = tau * self.task.to_units(values)
        outside = self.axes.stop - self.axes.start - 2
        return functional.pad(torch.stack([angles.cos(), angles.sin()], dim=1), (0, outside))

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to the prototype of 0, shape (n,)."""
        return self.points(z)[:, 0].clamp(-1, 1)

    def predict(self, z: Tensor) -> Tensor:
        """Return the number whose prototype is nearest."""
        check_directions(self.part(z))
        points = self.points(z)
        if torch.compiler.is_compiling():  # onnxruntime has no arc tangent of doubles
            points = points.float()
        return self.task.from_units(torch.atan2(points[:, 1], points[:, 0]) / tau)
