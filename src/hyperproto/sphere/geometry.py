"""Directions, cosines, angles and tangents.

Lengths never matter here. A row is divided by its largest entry before its norm is taken, so every row whose
largest entry is a normal number of its dtype has a direction, from 1e-38 to 3e38 in float32. Smaller rows count
as zero: they keep no direction, and their cosine to anything is 0.
"""

import torch
from torch import Tensor

from hyperproto._core.errors import InputTypeError

__all__ = ["angle", "cosine", "exp", "log", "normalize", "pairwise_cosine", "tangent", "working_dtype"]


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype sums are taken in: float32 for half precision, otherwise ``dtype`` itself.

    >>> working_dtype(torch.bfloat16), working_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return torch.promote_types(dtype, torch.float32)


def normalize(x: Tensor) -> Tensor:
    """Return the rows of ``x`` at unit length; a zero row stays zero, a non-finite row becomes NaN.

    Parameters
    ----------
    x : Tensor, shape (..., dim)
        Any length; half precision is normalised in float32 and rounded once.

    Examples
    --------
    >>> normalize(torch.tensor([[3.0, 4.0], [3e30, 4e30], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    if not x.is_floating_point():
        raise InputTypeError(f"`x` must be floating point; got {x.dtype}. Call .float() on it.")
    wide = x.to(working_dtype(x.dtype))
    largest = wide.detach().abs().amax(dim=-1, keepdim=True)
    zero = largest < torch.finfo(wide.dtype).tiny
    scaled = wide / largest.masked_fill(zero, 1)
    norm = torch.linalg.vector_norm(scaled.masked_fill(zero, 1), dim=-1, keepdim=True)
    unit: Tensor = (scaled / norm).masked_fill(zero, 0).to(x.dtype)
    return unit


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


def pairwise_cosine(x: Tensor, y: Tensor) -> Tensor:
    """Return all cosines between the rows of ``x``, shape (n, dim), and ``y``, shape (m, dim): shape (n, m)."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    wide = working_dtype(dtype)
    with torch.autocast(x.device.type, enabled=False):
        product = normalize(x.to(wide)) @ normalize(y.to(wide)).mT
    return product.clamp(-1, 1).to(dtype)


def angle(x: Tensor, y: Tensor) -> Tensor:
    """Return the angle between rows in radians, exact near 0 and π, where ``acos`` loses half the digits.

    .. math:: \\theta = 2 \\operatorname{atan2}(|u - v|, |u + v|), \\quad u = x / |x|, \\ v = y / |y|
    """
    dtype = torch.promote_types(x.dtype, y.dtype)
    u, v = (normalize(w.to(working_dtype(dtype))) for w in (x, y))
    apart, together = (torch.linalg.vector_norm(w, dim=-1) for w in (u - v, u + v))
    return (2 * torch.atan2(apart, together)).to(dtype)


def tangent(x: Tensor, v: Tensor) -> Tensor:
    """Return the part of ``v`` that is orthogonal to ``x``: ``v - (v·u) u`` with ``u = x / |x|``."""
    wide = working_dtype(torch.promote_types(x.dtype, v.dtype))
    u, w = normalize(x.to(wide)), v.to(wide)
    return (w - (w * u).sum(dim=-1, keepdim=True) * u).to(v.dtype)


def exp(x: Tensor, v: Tensor) -> Tensor:
    """Walk from the unit row ``x`` along the tangent ``v``, an arc of length ``|v|``."""
    length = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    # sinc(t) = sin(πt)/(πt) is exact at 0, where sin(t)/t is not
    return normalize(torch.cos(length) * x + torch.sinc(length / torch.pi) * v)


def log(x: Tensor, y: Tensor) -> Tensor:
    """Return the tangent at the unit row ``x`` that leads to ``y``: the inverse of :func:`exp` short of -x."""
    return angle(x, y).unsqueeze(-1) * normalize(tangent(x, y))
