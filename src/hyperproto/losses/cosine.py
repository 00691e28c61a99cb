r"""The one loss of the paper, :math:`(\text{target} - \cos\theta)^2`, and its closed-form gradient.

Classification asks for a cosine of 1 to the class prototype (Equation 1), regression for a cosine of r to the upper
pole (Equation 7). Everything is checked by shape and dtype only, so that nothing here waits for a device or breaks a
compiled graph.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from hyperproto._core.checks import check_finite_number, check_output_width, choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.sphere import normalize, working_dtype

Reduction: TypeAlias = Literal["mean", "sum", "none"]
REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"mean": torch.mean, "sum": torch.sum, "none": torch.Tensor.clone}


def cosine_loss(z: Tensor, points: Tensor, target: Tensor | float) -> Tensor:
    r"""Ask each output for a cosine to a point on the sphere.

    .. math:: \ell_i = (t_i - \cos\theta_{z_i, m_i})^2

    Parameters
    ----------
    z : Tensor, shape (n, dim)
        Network outputs, any length. A zero row has cosine 0 and gradient 0; a non-finite row gives NaN.
    points : Tensor, shape (n, dim) or (dim,)
        Unit vectors, fixed: no gradient flows into them.
    target : float or Tensor, shape (n,)
        The target cosine, in [-1, 1].

    Returns
    -------
    Tensor, shape (n,), in float32 or better; each term lies in [0, 4].

    Examples
    --------
    >>> z = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
    >>> cosine_loss(z, torch.tensor([1.0, 0.0]), 1.0)
    tensor([0., 1.])
    """
    if z.ndim != 2 or points.shape not in (z.shape, z.shape[1:]):
        got = f"{tuple(points.shape)} and {tuple(z.shape)}"
        raise InputError("points", "have the shape of `z`, (n, dim), or (dim,)", got)
    if isinstance(target, Tensor) and target.shape not in ((), (len(z),)):
        raise InputError("target", f"be a number or have shape ({len(z)},)", tuple(target.shape))
    if points.requires_grad:
        raise InputError("points", "be fixed", "a tensor that requires a gradient", "Detach it.")
    loss: Tensor = _CosineLoss.apply(z, points, None, target)  # type: ignore[no-untyped-call]
    return loss


class _CosineLoss(torch.autograd.Function):
    """Forward and backward in six passes over ``z``, and few fresh buffers: on a CPU those cost more than sums."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, points: Tensor, labels: Tensor | None, target: Tensor | float) -> Tensor:
        wide = z.to(working_dtype(z.dtype))
        rows = (points if labels is None else points.index_select(0, labels)).to(wide.dtype)
        scaled, inverse_scale, norm = _safe_norm(wide)
        cosine = (scaled * rows).sum(dim=1) / norm
        error = target - cosine
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(z, rows, scaled, cosine, error, inverse_scale, norm)
            ctx.target = target
        return error * error

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor, None, None, None]:
        z, rows, scaled, cosine, error, inverse_scale, norm = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: the same formula, in operations autograd can follow
            return grad_loss.unsqueeze(1) * cosine_loss_grad(z, rows, ctx.target), None, None, None
        # Equation 2: -2 (t - cos) (p - cos u) / |z|, with u = scaled / norm and |z| = norm / inverse_scale
        along_point = grad_loss * error / norm * -2
        if inverse_scale is not None:
            along_point = along_point * inverse_scale
        along_z = along_point * cosine / norm
        grad = (rows * along_point.unsqueeze(1)).addcmul_(scaled, along_z.unsqueeze(1), value=-1)
        return grad.to(z.dtype), None, None, None


def _safe_norm(z: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Return rows that can be squared, what they were multiplied by (None for 1), and their norms.

    The squares of 1e-20 and 1e20 leave float32, so each row is divided by its largest entry. On a CPU reading
    the norms is free, and tells whether that is needed at all. Zero rows are multiplied by 0 and get norm 1, so
    that their cosine and their gradient are 0.
    """
    limits = torch.finfo(z.dtype)
    if z.device.type == "cpu" and not torch.compiler.is_compiling() and len(z):
        norm = torch.linalg.vector_norm(z, dim=1)
        smallest, largest = torch.aminmax(norm)
        if smallest.item() > limits.tiny**0.4 and largest.item() < limits.max**0.4:
            return z, None, norm
    peak = z.abs().amax(dim=1)
    inverse = (peak >= limits.tiny) * peak.clamp_min(limits.tiny).reciprocal()
    scaled = z * inverse.unsqueeze(1)
    return scaled, inverse, torch.linalg.vector_norm(scaled, dim=1).clamp_min(1)


def cosine_loss_grad(z: Tensor, points: Tensor, target: Tensor | float) -> Tensor:
    r"""Return the gradient of :func:`cosine_loss` with respect to ``z``, in closed form. Shape (n, dim).

    .. math:: \frac{d}{dz} (t - \cos\theta)^2
        = 2 (t - \cos\theta) \Bigl( \frac{\cos\theta \; z}{|z|^2} - \frac{p}{|z|\,|p|} \Bigr)
    """
    wide = z.to(working_dtype(z.dtype))
    u = normalize(wide)
    cosine = (u * points).sum(dim=1, keepdim=True)
    length = (wide * u).sum(dim=1, keepdim=True)  # |z|, without squaring it
    error = torch.as_tensor(target, dtype=wide.dtype, device=z.device).reshape(-1, 1) - cosine
    grad = 2 * error * (cosine * u - points) / length.masked_fill(length == 0, torch.inf)
    return grad.to(z.dtype)


def squared_cosine_loss(z: Tensor, prototypes: Tensor, labels: Tensor, *, reduction: Reduction = "mean") -> Tensor:
    r"""Pull each output toward the prototype of its class, by angle alone.

    .. math:: \mathcal{L}_c = \sum_{i=1}^{n} \bigl(1 - \cos\theta_{z_i,\,p_{y_i}}\bigr)^2

    Equation 1 of [1]_; :func:`squared_cosine_grad` is its gradient, Equation 2. The loss ignores the length of
    ``z``, so the gradient at ``z`` is orthogonal to ``z``, and its cost does not depend on the number of classes.

    Parameters
    ----------
    z : Tensor, shape (n, dim)
        Network outputs, any length; a zero row has cosine 0 and gradient 0.
    prototypes : Tensor, shape (num_classes, dim)
        Unit-norm rows, fixed during training; rows are cast to the precision of ``z`` once gathered.
    labels : Tensor of integers, shape (n,)
        Class of each output, in ``[0, num_classes)``.
    reduction : {"mean", "sum", "none"}, default "mean"
        "sum" is what the authors train with; the paper's learning rates assume it.

    Returns
    -------
    Tensor, shape () or (n,) when ``reduction="none"``; each term lies in [0, 4].

    References
    ----------
    .. [1] Mettes, van der Pol, Snoek. "Hyperspherical Prototype Networks." NeurIPS 2019.

    Examples
    --------
    >>> z = torch.tensor([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    >>> prototypes = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> squared_cosine_loss(z, prototypes, torch.tensor([0, 0, 1]), reduction="none")
    tensor([0.0000, 1.0000, 2.9142])
    """
    if prototypes.ndim != 2:
        raise InputError("prototypes", "have shape (num_classes, dim)", tuple(prototypes.shape))
    check_output_width(z, prototypes.shape[1])
    check_labels(labels, len(z))
    return choose(reduction, REDUCTIONS, what="reduction")(SquaredCosine()(z, prototypes, labels.long()))


def squared_cosine_grad(z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
    """Return Equation 2, the gradient of the summed :func:`squared_cosine_loss`. Shape (n, dim)."""
    return cosine_loss_grad(z, prototypes.index_select(0, labels.long()).to(working_dtype(z.dtype)), 1.0)


class ClassLoss(ABC):
    """How wrong outputs are about their classes, given fixed prototypes. Losses are frozen dataclasses of numbers."""

    name: ClassVar[str]
    """What options and stored files call it."""

    @abstractmethod
    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,), for outputs (n, dim), unit prototypes (K, dim) and ids (n,)."""

    def cosine_scale(self, num_classes: int) -> float | None:
        """Return what the loss multiplies cosines by in its softmax, None for a loss that does not."""
        return None


@dataclass(frozen=True)
class SquaredCosine(ClassLoss):
    """Equation 1: only the prototype of the right class counts, whatever the number of classes."""

    name = "squared_cosine"

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        if prototypes.requires_grad:
            raise InputError("prototypes", "be fixed", "a tensor that requires a gradient", "Detach it.")
        loss: Tensor = _CosineLoss.apply(z, prototypes, labels, 1.0)  # type: ignore[no-untyped-call]
        return loss


@dataclass(frozen=True)
class PowerCosine(ClassLoss):
    r"""Equation 1 with another exponent: the target ``cos(z, p_y) = 1``, and how much a far miss counts.

    .. math:: \ell_i = \bigl(1 + \varepsilon - \cos\theta_{z_i,\,p_{y_i}}\bigr)^q

    Parameters
    ----------
    q : float, default 0.5
        2 is the paper (:class:`SquaredCosine` is the same, fused); the less, the less a far
        class counts. Its cost does not depend on the number of classes.
    floor : float, default 1e-4
        ε, which keeps the gradient of a root finite at the prototype.
    """

    q: float = 0.5
    floor: float = 1e-4

    name = "power_cosine"

    def __post_init__(self) -> None:
        check_finite_number(self.q, "q", above=0)
        check_finite_number(self.floor, "floor", at_least=0)
        if self.q < 1 and self.floor == 0:
            rule = f"be greater than 0 for q = {self.q:g}, since a root is steep at 0"
            raise InputError("floor", rule, self.floor, "Try 1e-4.")

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        u = normalize(z.to(working_dtype(z.dtype)))
        cosine = (u * prototypes.index_select(0, labels).to(u.dtype)).sum(dim=1)
        return (1 + self.floor - cosine).clamp_min(self.floor) ** self.q


def check_labels(labels: Tensor, n: int, *, name: str = "labels") -> None:
    """Check shape and dtype of class labels, not their values."""
    if labels.dtype.is_floating_point or labels.dtype in (torch.bool, torch.complex64, torch.complex128):
        raise InputTypeError(name, "be class ids of an integer dtype", labels.dtype)
    if labels.shape != (n,):
        raise InputError(name, f"have shape ({n},), one per row of `z`", tuple(labels.shape))
