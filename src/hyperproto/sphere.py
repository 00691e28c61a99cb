"""Shelf 1: the sphere S^(D-1). Directions, cosines and random points, as pure functions on tensors.

Lengths never matter here. A row is divided by its largest entry before its norm is taken, so every
row whose largest entry is a normal number of its dtype has a direction, from 1e-38 to 3e38 in
float32. Smaller rows count as zero: they keep no direction, and their cosine to anything is 0.
"""

import torch
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputTypeError

__all__ = ["cosine", "normalize", "sample_uniform", "working_dtype"]


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype sums are taken in: float32 for half precision, otherwise ``dtype`` itself.

    >>> working_dtype(torch.bfloat16), working_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return (
        dtype if dtype == torch.float32 else torch.promote_types(dtype, torch.float32)
    )  # which takes longer


def normalize(x: Tensor) -> Tensor:
    """Return the rows of ``x`` at unit length; a zero row stays zero, a non-finite row becomes NaN.

    Parameters
    ----------
    x : Tensor, shape (..., dim)
        Any length; half precision is normalized in float32 and rounded once.

    Examples
    --------
    >>> normalize(torch.tensor([[3.0, 4.0], [3e30, 4e30], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    if not x.is_floating_point():
        raise InputTypeError("x", "be floating point", x.dtype, "Call .float() on it.")
    wide = x.to(working_dtype(x.dtype))
    largest = wide.detach().abs().amax(dim=-1, keepdim=True)
    zero = largest < torch.finfo(wide.dtype).tiny
    scaled = wide / largest.masked_fill(zero, 1)
    norm = torch.linalg.vector_norm(scaled.masked_fill(zero, 1), dim=-1, keepdim=True)
    return (scaled / norm).masked_fill(zero, 0).to(x.dtype)


def cosine(x: Tensor, y: Tensor) -> Tensor:
    """Return the cosine of the angle between rows, ``x·y / (|x| |y|)``, within [-1, 1].

    Parameters
    ----------
    x, y : Tensor, shape (..., dim)
        Broadcast against each other. A zero row has cosine 0.

    Returns
    -------
    Tensor, shape (...)
    """
    dtype = torch.promote_types(x.dtype, y.dtype)
    wide = working_dtype(dtype)
    product = normalize(x.to(wide)) * normalize(y.to(wide))
    return product.sum(dim=-1).clamp(-1, 1).to(dtype)


def sample_uniform(
    n: int,
    dim: int,
    *,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Return ``n`` points uniform on S^(dim-1): normalized Gaussians
    [Muller1959]. Shape (n, dim).
    """
    check_integer(dim, "dim", at_least=1)
    return normalize(torch.randn(n, dim, generator=generator, dtype=dtype, device=device))
