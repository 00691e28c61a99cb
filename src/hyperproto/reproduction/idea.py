"""Figures 1 and 2: prototypes on the sphere, and how one output moves there."""

from typing import Any, cast

import torch
from torch import Tensor

from hyperproto.losses import cosine_loss
from hyperproto.prototypes import Prototypes
from hyperproto.reproduction.spec import Spec
from hyperproto.sphere import normalize

__all__ = ["trace_output"]

DIGITS = 5  # of coordinates in a record


def trace_output(spec: Spec, prototypes: Prototypes) -> tuple[dict[str, float], dict[str, Any]]:
    """Descend Equation 1 towards the first prototype, or Equation 7 towards the circle of the middle value.

    Returns
    -------
    measures, look
        Cosines before and after; the path of the output, shape (steps + 1, dim), and the marks on the sphere.
    """
    is_range = spec.tasks == ("range",)
    marks = _poles(cast(int, spec.dim)) if is_range else prototypes.vectors.double()
    target = 0.0 if is_range else 1.0  # r = 0 is the middle of the range
    generator = torch.Generator().manual_seed(spec.seed)
    z = torch.randn(1, cast(int, spec.dim), generator=generator, dtype=torch.float64, requires_grad=True)
    path = [normalize(z.detach())[0]]
    for _ in range(spec.epochs):
        (gradient,) = torch.autograd.grad(cosine_loss(z, marks[0], target).sum(), z)
        z = (z - spec.lr * gradient).detach().requires_grad_(True)
        path.append(normalize(z.detach())[0])
    measures = {"cosine/first": float(path[0] @ marks[0]), "cosine/last": float(path[-1] @ marks[0])}
    return measures, {"path": _rounded(torch.stack(path)), "marks": _rounded(marks), "target": target}


def _poles(dim: int) -> Tensor:
    """Return the upper and the lower pole, shape (2, dim)."""
    upper = torch.zeros(dim, dtype=torch.float64)
    upper[0] = 1
    return torch.stack([upper, -upper])


def _rounded(values: Tensor) -> list[list[float]]:
    return [[round(value, DIGITS) for value in row] for row in values.tolist()]
