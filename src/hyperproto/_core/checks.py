"""Checks of shape, range, value and choice, for everything that takes numbers, names or tensors from a caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

# with `as`, since others import them from here
from hyperproto_runtime.checks import check_finite_number as check_finite_number
from hyperproto_runtime.checks import check_integer as check_integer
from hyperproto_runtime.checks import choose as choose
from hyperproto_runtime.checks import nearest_name as nearest_name
from hyperproto_runtime.checks import unknown_choice as unknown_choice
from hyperproto_runtime.errors import InputError, InputTypeError, NonFiniteError

if TYPE_CHECKING:
    from torch import Tensor


def check_integers(values: Any, name: str, *, at_least: int) -> list[int]:
    """Return ``values`` as a list of ints, each at least ``at_least``."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputTypeError(name, "be a list of whole numbers, such as [4, 4]", repr(values))
    return [check_integer(value, name, at_least=at_least) for value in values]


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return class names as a tuple: strings, each one once."""
    names = tuple(names)
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise InputTypeError("Class names", "be strings", f"{name!r} as name {index}", "Wrap it in str().")
    repeated, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise InputError("Class names", "differ", f'"{repeated}" {times} times')
    return names


def check_output_width(z: Tensor, dim: int) -> None:
    """Check that ``z`` is a batch of outputs of the right width. Shapes and dtypes only: no synchronization."""
    if not hasattr(z, "is_floating_point"):
        raise InputTypeError("z", "be a torch tensor", type(z).__name__, "Wrap it in torch.as_tensor.")
    if z.ndim != 2 or z.shape[1] != dim:
        advice = f"Build the network with out_dim={dim}, or the space with the network's width."
        raise InputError("z", f"have shape (n, {dim}) to match the space", tuple(z.shape), advice)
    if not z.is_floating_point():
        raise InputTypeError("z", "be floating point", z.dtype, "Call .float() on it.")


def check_finite_rows(x: Tensor, argument: str, *, advice: str, error: type[InputError] = NonFiniteError) -> None:
    """Raise where a row holds NaN or infinity, naming the first. Reads values, so not in a graph."""
    import torch

    if torch.compiler.is_compiling():  # also while exporting
        return
    finite = x.isfinite().flatten(1).all(dim=1)
    if not bool(finite.all()):
        rows = (~finite).nonzero().flatten()
        got = f"NaN or infinity in {len(rows)} of {len(x)} rows (first: row {int(rows[0])})"
        raise error(argument, "be finite", got, advice)


def check_directions(z: Tensor) -> None:
    """Raise where an output has no direction (zero) or is not finite. Reads values, so only for prediction."""
    import torch

    if torch.compiler.is_compiling():
        return
    advice = "Look for NaN in the inputs, or a learning rate that made the weights overflow."
    check_finite_rows(z, "z", advice=advice)
    wide = torch.promote_types(z.dtype, torch.float32)
    zero = z.abs().amax(dim=1) < torch.finfo(wide).tiny  # as in sphere.normalize
    if bool(zero.any()):
        rows = zero.nonzero().flatten()
        got = f"norm 0 in {len(rows)} of {len(z)} rows (first: row {int(rows[0])})"
        raise InputError(
            "z", "have a direction", got, "A final ReLU or an untrained bias-free layer usually causes this."
        )


def check_unit_rows(vectors: Tensor, *, tolerance: float = 1e-5) -> None:
    """Check that ``vectors`` is a finite matrix whose rows have norm 1."""
    if vectors.ndim != 2 or not vectors.numel() or not vectors.is_floating_point():
        got = f"{tuple(vectors.shape)} of {vectors.dtype}"
        raise InputError("prototypes", "have shape (num_classes, dim), of floating point", got)
    norms = vectors.norm(dim=1)
    off = ~((norms - 1).abs() <= tolerance)  # NaN counts as off
    if bool(off.any()):
        rows = off.nonzero().flatten()
        got = f"norm {float(norms[rows[0]]):.3g} in row {int(rows[0])} ({len(rows)} of {len(vectors)} rows)"
        advice = "Pass them through hyperproto.sphere.normalize first."
        raise InputError("prototypes", f"have rows of norm 1, within {tolerance:g}", got, advice)


def names_or_numbers(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return the names of classes, or their numbers where they have none."""
    return tuple(map(str, range(count))) if names is None else tuple(names)
