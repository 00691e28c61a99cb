"""Gluing: lift the groups of a code apart with a second code in further dimensions.

Let a code fall into M groups with cosines at most s0 inside a group and s1 across, and let y_1, ..., y_M be
unit vectors with cosines at most b. The points (sqrt(α) x, sqrt(1-α) y_g), for x in group g, have cosines at
most α s0 + (1-α) inside a group and α s1 + (1-α) b across. Both are the same, and least, at

    α = (1 - b) / (1 - b + s1 - s0):   s = 1 - α (1 - s0) < s1.

For y the simplex (b = -1/(M-1), M - 1 dimensions) or the cross-polytope (b = 0, M/2 dimensions) serves. It is
Construction X of coding theory (Sloane, Reddy, Chen 1972) on the sphere.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from hyperproto.codes.algebra.entry import RowsByIndex
from hyperproto.codes.algebra.fields import Integers
from hyperproto.codes.closed_forms import closed_form
from hyperproto.codes.code import Array

__all__ = ["GluedCode"]


@dataclass(frozen=True)
class GluedCode:
    """``num_groups`` groups of ``group`` consecutive points each, glued to ``outer_dim`` dimensions more."""

    inner: RowsByIndex
    inner_dim: int
    group: int
    inside: float
    across: float
    num_groups: int
    outer_dim: int

    @property
    def num_points(self) -> int:
        """Number of points."""
        return self.group * self.num_groups

    @property
    def dim(self) -> int:
        """Dimension of the glued points."""
        return self.inner_dim + self.outer_dim

    @property
    def weight(self) -> float:
        """α, the squared length of the inner part."""
        outer = -1 / (self.num_groups - 1) if self.outer_dim >= self.num_groups - 1 else 0.0
        return (1 - outer) / (1 - outer + self.across - self.inside)

    @property
    def max_cosine(self) -> float:
        """1 - α (1 - s0)."""
        return 1 - self.weight * (1 - self.inside)

    def rows(self, index: Integers, dtype: DTypeLike = np.float64) -> Array:
        """Return chosen points as unit rows."""
        form = closed_form(self.num_groups, self.outer_dim)
        assert form is not None  # by construction M <= 2 outer_dim
        inner, outer = self.inner(index, dtype), form[0].astype(dtype)[index // self.group]
        inner *= np.asarray(math.sqrt(self.weight), dtype)
        outer *= np.asarray(math.sqrt(1 - self.weight), dtype)
        return np.concatenate([inner, outer], axis=1)
