"""A number as the tangent of a latitude."""

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import check_finite_rows
from hyperproto.sphere import working_dtype
from hyperproto.tasks.head import Head
from hyperproto.tasks.number import Number


class NumberHead(Head):
    """The first of its axes by the length of all others and a constant one."""

    task: Number
    anchored = True

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return the absolute or squared error of each row, in units of the task."""
        wide = working_dtype(z.dtype)
        exact = target.to(torch.promote_types(target.dtype, wide))
        error = self.tangents(z) - self.task.to_units(exact).to(wide)
        return error.abs() if self.task.loss == "absolute" else error.square()

    def tangents(self, z: Tensor) -> Tensor:
        """Return the tangent of each latitude, shape (n,)."""
        part = self.part(z).to(working_dtype(z.dtype))
        others = functional.pad(part[:, 1:], (0, 1), value=1.0)
        return part[:, 0] / torch.linalg.vector_norm(others, dim=1)

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to the pole that the first axis points at, shape (n,)."""
        tangent = self.tangents(z)
        return tangent / (1 + tangent.square()).sqrt()

    def predict(self, z: Tensor) -> Tensor:
        """Return the number; an output of zeros says the center."""
        check_finite_rows(z, "z", advice="Look for NaN in the inputs.")
        return self.task.from_units(self.tangents(z))
