"""A number as the cosine to a pole."""

import torch
from torch import Tensor

from hyperproto._core.checks import check_directions
from hyperproto.losses import cosine_loss
from hyperproto.sphere import normalize, working_dtype
from hyperproto.tasks.head import Head
from hyperproto.tasks.range import Range


class PoleHead(Head):
    """The cosine between a pole, the first of its axes, and the output on all of them."""

    task: Range
    upper_pole: Tensor

    def __init__(self, task: Range, axes: slice, dim: int) -> None:
        super().__init__(task, axes)
        pole = torch.zeros(dim, dtype=torch.float64)
        pole[axes.start] = 1
        self.register_buffer("upper_pole", pole)

    def row_losses(self, z: Tensor, target: Tensor) -> Tensor:
        """Return Equation 7, or the absolute difference, row by row."""
        wide = working_dtype(z.dtype)
        exact = target.to(torch.promote_types(target.dtype, wide))
        target_cosine = self.task.to_cosine(exact).to(wide)
        if self.task.loss == "absolute":
            return (self.scores(z) - target_cosine).abs()
        return cosine_loss(self.part(z), self.upper_pole[self.axes], target_cosine)

    def scores(self, z: Tensor) -> Tensor:
        """Return the cosine to the upper pole, shape (n,)."""
        return normalize(self.part(z).to(working_dtype(z.dtype)))[:, 0].clamp(-1, 1)

    def predict(self, z: Tensor) -> Tensor:
        """Return the number the cosine stands for."""
        check_directions(self.part(z))
        return self.task.from_cosine(self.scores(z))
