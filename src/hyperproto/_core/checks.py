"""Every check of shape, range and value, and its wording: `argument` must ...; got ... . What to do next."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from hyperproto._core.errors import InputError, InputTypeError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "check_directions",
    "check_finite_number",
    "check_finite_rows",
    "check_integer",
    "check_integers",
    "check_names",
    "check_output_width",
    "check_unit_rows",
]


def check_integer(value: Any, name: str, *, at_least: int, reason: str = "") -> int:
    """Return ``value`` as an int that is at least ``at_least``."""
    why = f" {reason}" if reason else ""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(f"`{name}` must be a whole number; got {value!r} ({type(value).__name__}).")
    number = operator.index(value)
    if number < at_least:
        raise InputError(f"`{name}` must be at least {at_least}; got {number}.{why}")
    return number


def check_integers(values: Any, name: str, *, at_least: int) -> list[int]:
    """Return ``values`` as a list of ints, each at least ``at_least``."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputTypeError(f"`{name}` must be a list of whole numbers, such as [4, 4]; got {values!r}.")
    return [check_integer(value, name, at_least=at_least) for value in values]


def check_finite_number(
    value: Any, name: str, *, above: float = -math.inf, at_least: float = -math.inf, at_most: float = math.inf
) -> float:
    """Return ``value`` as a finite float within the limits given."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputTypeError(f"`{name}` must be a number; got {value!r} ({type(value).__name__}).")
    number = float(value)
    if not math.isfinite(number) or number <= above or not at_least <= number <= at_most:
        rules = ["finite"]
        rules += [f"greater than {above:g}"] if above > -math.inf else []
        rules += [f"at least {at_least:g}"] if at_least > -math.inf else []
        rules += [f"at most {at_most:g}"] if at_most < math.inf else []
        raise InputError(f"`{name}` must be {' and '.join(rules)}; got {value!r}.")
    return number


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return class names as a tuple: strings, each one once."""
    names = tuple(names)
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise InputTypeError(f"Class names must be strings; name {index} is {name!r}. Wrap it in str().")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f'Class names must differ; "{repeated}" stands {names.count(repeated)} times.')
    return names


def check_output_width(z: Tensor, dim: int) -> None:
    """Check that ``z`` is a batch of outputs of the right width. Shapes and dtypes only: no synchronisation."""
    if not hasattr(z, "is_floating_point"):
        raise InputTypeError(f"`z` must be a torch tensor; got {type(z).__name__}. Wrap it in torch.as_tensor.")
    if z.ndim != 2 or z.shape[1] != dim:
        raise InputError(
            f"`z` must have shape (n, {dim}) to match the space; got {tuple(z.shape)}. "
            f"Build the network with out_dim={dim}, or the space with the network's width."
        )
    if not z.is_floating_point():
        raise InputTypeError(f"`z` must be floating point; got {z.dtype}. Call .float() on it.")


def check_finite_rows(x: Tensor, *, what: str, hint: str) -> None:
    """Raise where a row holds NaN or infinity, naming the first. Looks at values."""
    finite = x.isfinite().flatten(1).all(dim=1)
    if not bool(finite.all()):
        rows = (~finite).nonzero().flatten()
        raise InputError(
            f"{what} must be finite; {len(rows)} of {len(x)} rows are not (first: row {int(rows[0])}). {hint}"
        )


def check_directions(z: Tensor) -> None:
    """Raise where an output has no direction (zero) or is not finite. Looks at values, so prediction only."""
    check_finite_rows(
        z, what="`z`", hint="Look for NaN in the inputs, or a learning rate that made the weights overflow."
    )
    import torch

    wide = torch.promote_types(z.dtype, torch.float32)
    zero = z.abs().amax(dim=1) < torch.finfo(wide).tiny  # as in sphere.normalize
    if bool(zero.any()):
        rows = zero.nonzero().flatten()
        raise InputError(
            f"`z` has no direction in {len(rows)} of {len(z)} rows (first: row {int(rows[0])}, norm 0). "
            "A final ReLU or an untrained bias-free layer usually causes this."
        )


def check_unit_rows(vectors: Tensor, *, tolerance: float = 1e-5) -> None:
    """Check that ``vectors`` is a finite matrix whose rows have norm 1."""
    if vectors.ndim != 2:
        raise InputError(f"`prototypes` must have shape (num_classes, dim); got {tuple(vectors.shape)}.")
    norms = vectors.norm(dim=1)
    off = ~((norms - 1).abs() <= tolerance)  # NaN counts as off
    if bool(off.any()):
        rows = off.nonzero().flatten()
        raise InputError(
            f"`prototypes` must have unit-norm rows; row {int(rows[0])} has norm {float(norms[rows[0]]):.3g} "
            f"({len(rows)} of {len(vectors)} rows, tolerance {tolerance:g}). "
            "Pass them through hyperproto.sphere.normalize first."
        )
