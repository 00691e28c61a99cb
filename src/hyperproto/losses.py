r"""The losses of class tasks: the one loss of the paper, others to choose from, and the one table
of their names.

The paper's is :math:`(\text{target} - \cos\theta)^2`, with its closed-form gradient. Classification
asks for a cosine of 1 to the class prototype (Equation 1), regression for a cosine of r to the
upper pole (Equation 7). In a cross-entropy over prototypes classes compete, at a cost that grows
with their number unless they are sampled. Everything is checked by shape and dtype only, so that
nothing here waits for a device or breaks a compiled graph.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import torch
from torch import Tensor
from torch.nn import functional

from hyperproto._core.checks import check_finite_number, check_integer, check_output_width, choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.sphere import normalize, working_dtype

__all__ = [
    "LOSSES",
    "ClassLoss",
    "CosineSoftmax",
    "FreeNormSoftmax",
    "PowerCosine",
    "SampledCosineSoftmax",
    "SoftmaxLoss",
    "SquaredCosine",
    "cosine_loss",
    "cosine_loss_grad",
    "get_loss",
    "simplex_scale",
    "squared_cosine_grad",
    "squared_cosine_loss",
]

Reduction: TypeAlias = Literal["mean", "sum", "none"]
DOUBT = 0.001  # what an output at its prototype may leave to the other classes


def reduce_rows(rows: Tensor, reduction: Reduction, weights: Tensor | None = None) -> Tensor:
    """Return losses as they are, their sum, or their mean by weight: 0, not NaN, where no label is
    there.
    """
    choose(reduction, dict.fromkeys(get_args(Reduction)), what="reduction")
    if reduction == "none":
        return rows
    if reduction == "sum":
        return rows.sum()
    if weights is None:
        return rows.mean()
    return rows.sum() / weights.sum(dtype=rows.dtype).clamp_min(torch.finfo(rows.dtype).tiny)


def cosine_loss(z: Tensor, points: Tensor, target: Tensor | float) -> Tensor:
    r"""Ask each output for a cosine to a point on the sphere.

    .. math:: \ell_i = (t_i - \cos\theta_{z_i, m_i})^2

    Parameters
    ----------
    z : Tensor, shape (n, dim)
        Network outputs, any length. A zero row has cosine 0 and gradient 0; a non-finite row gives
        NaN.
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
    shape = tuple(getattr(target, "shape", ()))
    if shape not in ((), (len(z),)):
        raise InputError("target", f"be a number or have shape ({len(z)},)", shape)
    check_fixed(points, "points")
    return _squared_error(z, points, None, target)


def check_fixed(given: Tensor, name: str) -> None:
    """Raise where a gradient would flow into what is fixed: prototypes, targets."""
    if given.requires_grad:
        raise InputError(name, "be fixed", "a tensor that requires a gradient", "Detach it.")


def _squared_error(
    z: Tensor, points: Tensor, labels: Tensor | None, target: Tensor | float
) -> Tensor:
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        # torch.func.grad, vmap and the like follow these operations, but no function of our own
        wide = z.to(working_dtype(z.dtype))
        rows = (points if labels is None else points.index_select(0, labels)).to(wide.dtype)
        error = target - (normalize(wide) * rows).sum(dim=1)
        return error * error
    return _CosineLoss.apply(z, points, labels, target)  # type: ignore[no-untyped-call]


def can_read(x: Tensor) -> bool:
    """Return whether reading a value costs little and breaks nothing: on a CPU, in no graph and no
    torch.func.
    """
    in_graph = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    return x.is_cpu and not in_graph


def _in_vmap() -> bool:
    """Return whether torch.vmap calls, which allows nothing whose shape depends on values."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return False
    stack = torch._C._functorch.get_interpreter_stack() or ()
    return any(level.key() == torch._C._functorch.TransformType.Vmap for level in stack)


class _CosineLoss(torch.autograd.Function):
    """Forward and backward in six passes over ``z``, and few fresh buffers: on a CPU those cost
    more than sums.
    """

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, points: Tensor, labels: Tensor | None, target: Tensor | float
    ) -> Tensor:
        wide = working_dtype(
            z.dtype
        )  # compared first: converting takes longer, even where nothing is done
        scaled = z if z.dtype == wide else z.to(wide)
        rows = points if labels is None else points.index_select(0, labels)
        rows = rows if rows.dtype == wide else rows.to(wide)
        limits, scale, norm = torch.finfo(wide), None, None
        if z.shape[0] and can_read(
            z
        ):  # on a CPU reading the norms is free, and tells whether rows can be squared
            norm = torch.linalg.vector_norm(scaled, dim=1)
            smallest, largest = torch.aminmax(norm)
            norm = (
                norm
                if smallest.item() > limits.tiny**0.4 and largest.item() < limits.max**0.4
                else None
            )
        if norm is None:
            # The squares of 1e-20 and 1e20 leave float32, so each row is divided by its largest
            # entry. Zero rows are divided by infinity and get norm 1, so that their cosine and
            # their gradient are 0. The reciprocal of a large entry would be a denormal number,
            # which may count as zero.
            peak = scaled.abs().amax(dim=1)
            scale = peak.masked_fill(peak < limits.tiny, torch.inf)
            scaled = scaled / scale.unsqueeze(1)
            norm = torch.linalg.vector_norm(scaled, dim=1).clamp_min(1)
        cosine = (scaled * rows).sum(dim=1) / norm
        error: Tensor = cosine - target  # the other way around takes longer
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(z, rows, scaled, cosine, error, scale, norm)
            ctx.target = target
        return error * error

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor, None, None, None]:
        z, rows, scaled, cosine, error, scale, norm = ctx.saved_tensors
        if (
            torch.is_grad_enabled()
        ):  # create_graph=True: the same formula, in operations autograd can follow
            return grad_loss.unsqueeze(1) * cosine_loss_grad(z, rows, ctx.target), None, None, None
        # Equation 2: -2 (t - cos) (p - cos u) / |z|, with u = scaled / norm and |z| = norm * scale
        along_point = (grad_loss * error).div_(norm).mul_(2)
        if scale is not None:
            along_point = along_point / scale
        along_z = (along_point * cosine).div_(norm)
        grad = (rows * along_point.unsqueeze(1)).addcmul_(scaled, along_z.unsqueeze(1), value=-1)
        return grad if grad.dtype == z.dtype else grad.to(z.dtype), None, None, None


def cosine_loss_grad(z: Tensor, points: Tensor, target: Tensor | float) -> Tensor:
    r"""Return the gradient of :func:`cosine_loss` with respect to ``z``, in closed form. Shape (n,
    dim).

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


def squared_cosine_loss(
    z: Tensor, prototypes: Tensor, labels: Tensor, *, reduction: Reduction = "mean"
) -> Tensor:
    r"""Pull each output toward the prototype of its class, by angle alone.

    .. math:: \mathcal{L}_c = \sum_{i=1}^{n} \bigl(1 - \cos\theta_{z_i,\,p_{y_i}}\bigr)^2

    Equation 1 of [1]_; :func:`squared_cosine_grad` is its gradient, Equation 2. The loss ignores
    the length of ``z``, so the gradient at ``z`` is orthogonal to ``z``, and its cost does not
    depend on the number of classes.

    Parameters
    ----------
    z : Tensor, shape (n, dim)
        Network outputs, any length; a zero row has cosine 0 and gradient 0.
    prototypes : Tensor, shape (num_classes, dim)
        Unit-norm rows, fixed during training; rows are cast to the precision of ``z`` once
        gathered.
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
    return reduce_rows(SquaredCosine()(z, prototypes, labels.long()), reduction)


def squared_cosine_grad(z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
    """Return Equation 2, the gradient of the summed :func:`squared_cosine_loss`. Shape (n, dim)."""
    rows = prototypes.index_select(0, labels.long())
    return cosine_loss_grad(z, rows.to(working_dtype(z.dtype)), 1.0)


class ClassLoss(ABC):
    """How wrong outputs are about their classes, given fixed prototypes. Losses are frozen
    dataclasses of numbers.
    """

    name: ClassVar[str]
    """What options and stored files call it."""

    @abstractmethod
    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,), for outputs (n, dim), unit prototypes (K, dim)
        and ids (n,).

        Of probabilities, shape (n, K), in place of ids it is the expected loss, over all classes.
        """

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor | None:
        """Return what the loss learns as logits, shape (n, num_classes), in one precision; None for
        a loss that looks at one class alone.
        """
        return None


@dataclass(frozen=True)
class SquaredCosine(ClassLoss):
    """Equation 1: only the prototype of the right class counts, whatever the number of classes."""

    name = "squared_cosine"

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        check_fixed(prototypes, "prototypes")
        if labels.is_floating_point():
            return PowerCosine(q=2, floor=0)(z, prototypes, labels)
        return _squared_error(z, prototypes, labels, 1.0)


@dataclass(frozen=True)
class PowerCosine(ClassLoss):
    r"""Equation 1 with another exponent: the target ``cos(z, p_y) = 1``, and how much a far miss
    counts.

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
        if labels.is_floating_point():
            with torch.autocast(z.device.type, enabled=False):
                terms = (1 + self.floor - u @ prototypes.to(u.dtype).mT).clamp_min(
                    self.floor
                ) ** self.q
            return (terms * labels).sum(dim=1)
        cosine = (u * prototypes.index_select(0, labels).to(u.dtype)).sum(dim=1)
        return (1 + self.floor - cosine).clamp_min(self.floor) ** self.q


def check_labels(labels: Tensor, n: int, *, name: str = "labels") -> None:
    """Check shape and dtype of class labels, not their values."""
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise InputTypeError(name, "be class ids of an integer dtype", labels.dtype)
    if labels.shape != (n,):
        raise InputError(name, f"have shape ({n},), one per row of `z`", tuple(labels.shape))


def simplex_scale(num_classes: int) -> float:
    r"""Return the smallest scale of cosines at which a perfect output is certain of its class, to
    one decimal.

    .. math:: s = \frac{K-1}{K} \ln \frac{(K-1)(1-e)}{e}, \qquad e = 0.001

    With a smaller scale even an output at its prototype has a large loss: an unscaled softmax over
    100 cosines cannot give a class more than 2.7 %.

    >>> simplex_scale(100), simplex_scale(2), simplex_scale(1)
    (11.4, 3.5, 1.0)
    """
    if num_classes < 2:
        return 1.0
    others = num_classes - 1
    return round(others / num_classes * math.log(others * (1 - DOUBT) / DOUBT), 1)


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy of each row, shape (n,), for class ids (n,) or probabilities (n,
    num_classes).
    """
    labels = labels.to(logits.dtype) if labels.is_floating_point() else labels
    return functional.cross_entropy(logits, labels, reduction="none")


class SoftmaxLoss(ClassLoss):
    """Cross-entropy over logits of all classes; a subclass says what the logits are."""

    @abstractmethod
    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return the logits, shape (n, num_classes), of outputs and prototypes in one precision."""

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        wide = z.to(working_dtype(z.dtype))
        with torch.autocast(z.device.type, enabled=False):
            return cross_entropy(self.logits(wide, prototypes.to(wide.dtype)), labels)


@dataclass(frozen=True)
class CosineSoftmax(SoftmaxLoss):
    """Cross-entropy over scaled cosines to all prototypes; learns faster, at a cost that grows with
    K.

    differs from paper: its own cosine softmax (55.5 % on CIFAR-100) has no scale,
    ``CosineSoftmax(scale=1)``.

    Parameters
    ----------
    scale : float, optional
        What cosines are multiplied by (default: :func:`simplex_scale` of the number of classes).
    """

    scale: float | None = None

    name = "cosine_softmax"

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_finite_number(self.scale, "scale", above=0)

    def cosine_scale(self, num_classes: int) -> float:
        """Return the scale, or the one that fits the number of classes."""
        return simplex_scale(num_classes) if self.scale is None else float(self.scale)

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return scaled cosines."""
        return (self.cosine_scale(len(prototypes)) * normalize(z)) @ prototypes.mT


@dataclass(frozen=True)
class FreeNormSoftmax(SoftmaxLoss):
    r"""Cross-entropy over the products of an output, of any length, with all prototypes.

    .. math:: p(k \mid z) = \frac{\exp(g \, z \cdot p_k)}{\sum_j \exp(g \, z \cdot p_j)}

    Since :math:`z \cdot p_k = |z| \cos\theta_{z,k}` this is :class:`CosineSoftmax` with the length
    as the scale of each output: short where the network is in doubt, long where it is certain. A
    cosine has no way to say "I do not know". The class is still the nearest prototype by angle, and
    nothing in the output layer is learned. The cost grows with the number of classes.

    Parameters
    ----------
    gain : float, default 1.0
        g, by whose square the steps of the last layer grow.
    """

    gain: float = 1.0

    name = "free_norm_softmax"

    def __post_init__(self) -> None:
        check_finite_number(self.gain, "gain", above=0)

    def logits(self, z: Tensor, prototypes: Tensor) -> Tensor:
        """Return products."""
        return (self.gain * z) @ prototypes.mT


@dataclass(frozen=True)
class SampledCosineSoftmax(CosineSoftmax):
    r"""Cross-entropy over scaled cosines to the classes of the batch and some others, for all that
    there are.

    .. math:: \ell_i = -\log \frac{e^{s \cos\theta_{i,y_i}}}{\sum_{k \in B \cup N} w_{ik} e^{s \cos\theta_{i,k}}}

    with B the distinct classes of the batch and N the others. All rows share both, so that the cost
    is one small matrix product whatever the number of classes. The weights w make the sum an
    estimate of the full one of :class:`CosineSoftmax`: the sampled classes share the weight of all
    that are left out, and a row's own class has weight 1.

    Parameters
    ----------
    scale : float, optional
        s (default: that of :class:`CosineSoftmax` for the number of classes).
    negatives : int, default 0
        How many others to draw in each step, from torch's generator; 0 compares the classes of the
        batch only.

    Examples
    --------
    >>> z = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> prototypes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> SampledCosineSoftmax(scale=1.0)(z, prototypes, torch.tensor([0, 1]))  # log(1 + 2/e)
    tensor([0.5514, 0.5514])
    """

    negatives: int = 0

    name = "sampled_cosine_softmax"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.negatives, "negatives", at_least=0)

    def __call__(self, z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each row, shape (n,)."""
        if labels.is_floating_point():
            advice = "Take hp.losses.CosineSoftmax, over all of them."
            raise InputError(
                "Targets of a loss over some classes", "be class ids", "probabilities", advice
            )
        if _in_vmap():
            advice = "Give it the whole batch, or take hp.losses.CosineSoftmax."
            raise InputError(
                "A loss over the classes of a batch", "be called outside torch.vmap", advice=advice
            )
        wide, num_classes = z.to(working_dtype(z.dtype)), len(prototypes)
        batch, column = torch.unique(labels, return_inverse=True)
        others = self._draw_others(batch, num_classes)
        rows = prototypes.index_select(0, torch.cat([batch, others])).to(
            wide.dtype
        )  # (|B| + |N|, dim)
        weights = rows.new_zeros(len(rows))  # logarithms of w for the rows of other classes
        if len(others):
            weights[len(batch) :] = math.log((num_classes - len(batch)) / len(others))
        elif self.negatives == 0 and len(batch) > 1:
            weights[:] = math.log((num_classes - 1) / (len(batch) - 1))
        with torch.autocast(z.device.type, enabled=False):
            logits = (self.cosine_scale(num_classes) * normalize(wide)) @ rows.mT
            logits = logits + weights.repeat(len(z), 1).scatter_(1, column.unsqueeze(1), 0)
            return functional.cross_entropy(logits, column, reduction="none")

    def _draw_others(self, batch: Tensor, num_classes: int) -> Tensor:
        """Return the ids of distinct classes that are not in the batch."""
        if self.negatives >= num_classes:
            drawn = torch.arange(num_classes, device=batch.device)
        else:
            # on the CPU: the same classes on every device, and a stored run holds the state of that
            # generator
            drawn = torch.randint(num_classes, (self.negatives,)).to(batch.device)
        distinct: Tensor = torch.unique(drawn)
        position = torch.searchsorted(batch, distinct).clamp_max(
            len(batch) - 1
        )  # both are sorted; isin takes longer
        return distinct[batch[position] != distinct]


LOSSES: dict[str, type[ClassLoss]] = {
    loss.name: loss
    for loss in (
        SquaredCosine,
        CosineSoftmax,
        FreeNormSoftmax,
        PowerCosine,
        SampledCosineSoftmax,
    )
}


def get_loss(name: str, **options: Any) -> ClassLoss:
    """Build a loss by its name.

    Parameters
    ----------
    name : str
        A key of ``LOSSES``, or "paper" for Equation 1.
    **options
        Arguments of the loss.

    Examples
    --------
    >>> get_loss("cosine_softmax", scale=8), get_loss("paper")
    (CosineSoftmax(scale=8), SquaredCosine())
    """
    return choose(name, LOSSES | {"paper": SquaredCosine}, what="loss")(**options)
