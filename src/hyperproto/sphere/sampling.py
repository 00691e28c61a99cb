"""Random points on the sphere."""

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError
from hyperproto.sphere.geometry import normalize

__all__ = ["sample_uniform", "sample_von_mises_fisher"]


MOST_CONCENTRATED = 1e12  # beyond, float64 cannot tell the draws from the mean


def sample_uniform(
    n: int,
    dim: int,
    *,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Return ``n`` points uniform on S^(dim-1): normalised Gaussians [Muller1959]. Shape (n, dim)."""
    check_integer(dim, "dim", at_least=1)
    return normalize(torch.randn(n, dim, generator=generator, dtype=dtype, device=device))


def sample_von_mises_fisher(
    mean: Tensor, concentration: float, n: int, *, generator: torch.Generator | None = None
) -> Tensor:
    r"""Return ``n`` points with density proportional to :math:`e^{\kappa\, \mu \cdot x}` on the sphere.

    Wood's rejection scheme [Wood1994]_ draws the cosine to the mean from an envelope built on a symmetric Beta
    variable. That Beta variable is (1 + u_1)/2 for u uniform on the sphere, and the rest of u, normalised, is
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
        raise InputError(f"`mean` must be finite and not zero; got {mean.tolist()}.")
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
