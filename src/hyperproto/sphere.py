"""Shelf 1: the sphere S^(D-1). Directions, cosines, angles, tangents and random points, as pure functions on tensors.

Lengths never matter here. A row is divided by its largest entry before its norm is taken, so every row whose
largest entry is a normal number of its dtype has a direction, from 1e-38 to 3e38 in float32. Smaller rows count
as zero: they keep no direction, and their cosine to anything is 0.
"""

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError, InputTypeError

__all__ = [
    "angle",
    "cosine",
    "exp",
    "log",
    "normalize",
    "pairwise_cosine",
    "sample_uniform",
    "sample_von_mises_fisher",
    "tangent",
    "working_dtype",
]

MOST_CONCENTRATED = 1e12  # beyond, float64 cannot tell the draws from the mean


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
    difference, total = (torch.linalg.vector_norm(w, dim=-1) for w in (u - v, u + v))
    return (2 * torch.atan2(difference, total)).to(dtype)


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


def sample_uniform(
    n: int,
    dim: int,
    *,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Return ``n`` points uniform on S^(dim-1): normalized Gaussians [Muller1959]. Shape (n, dim)."""
    check_integer(dim, "dim", at_least=1)
    return normalize(torch.randn(n, dim, generator=generator, dtype=dtype, device=device))


def sample_von_mises_fisher(
    mean: Tensor, concentration: float, n: int, *, generator: torch.Generator | None = None
) -> Tensor:
    r"""Return ``n`` points with density proportional to :math:`e^{\kappa\, \mu \cdot x}` on the sphere.

    Wood's rejection scheme [Wood1994]_ draws the cosine to the mean from an envelope built on a symmetric Beta
    variable. That Beta variable is (1 + u_1)/2 for u uniform on the sphere, and the rest of u, normalized, is
    an independent uniform direction: one Gaussian draw gives both.

    Parameters
    ----------
    mean : Tensor, shape (dim,)
        Mean direction, any length but 0; its dtype and device are the result's.
    concentration : float
        κ ≥ 0; 0 is uniform.
    n : int
        Number of points.

    Returns
    -------
    Tensor, shape (n, dim), unit rows.

    References
    ----------
    .. [Wood1994] Wood. "Simulation of the von Mises Fisher distribution." Comm. in Statistics 23(1), 1994.
    """
    dim = check_integer(mean.numel(), "mean.numel()", at_least=2)
    kappa = check_finite_number(concentration, "concentration", at_least=0, at_most=MOST_CONCENTRATED)
    if not bool(mean.isfinite().all()) or not bool((mean != 0).any()):
        raise InputError("mean", "be finite and not zero", mean.tolist())
    b = (dim - 1) / (2 * kappa + (4 * kappa**2 + (dim - 1) ** 2) ** 0.5)
    x0 = (1 - b) / (1 + b)
    envelope = kappa * x0 + (dim - 1) * torch.log1p(torch.tensor(-(x0**2), dtype=torch.float64)).item()

    accepted, missing = [], n
    while missing > 0:
        proposals = 2 * missing + 16
        u = sample_uniform(proposals, dim, generator=generator, dtype=torch.float64, device=mean.device)
        beta = (1 + u[:, 0]) / 2
        w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
        threshold = torch.rand(proposals, generator=generator, dtype=torch.float64, device=mean.device).log()
        keep = kappa * w + (dim - 1) * torch.log1p(-x0 * w) - envelope >= threshold
        w, side = w[keep, None], normalize(u[keep, 1:])
        points = torch.cat([w, (1 - w**2).clamp_min(0).sqrt() * side], dim=1)[:missing]
        accepted.append(points)
        missing -= len(points)
    points = torch.cat(accepted) if accepted else torch.empty(0, dim, dtype=torch.float64, device=mean.device)
    return _reflect_first_axis(points, normalize(mean.double())).to(mean.dtype)


def _reflect_first_axis(points: Tensor, target: Tensor) -> Tensor:
    """Apply the Householder reflection that sends the first axis to ``target``."""
    axis = torch.zeros_like(target)
    axis[0] = 1
    normal = normalize(axis - target)  # zero when they agree already: then nothing moves
    return normalize(points - 2 * (points @ normal).unsqueeze(1) * normal)
