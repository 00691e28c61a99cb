"""Checks of shape, range, value and choice, for everything that takes numbers, names or tensors
from a caller.
"""

from __future__ import annotations

import math
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .errors import InputError, InputTypeError, NonFiniteError

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
MOST = 2**24  # of any whole number, such as dimensions or classes: more would take all memory
type_hints: Callable[[Any], dict[str, Any]] = lru_cache(get_type_hints)


def check_integer(
    value: object, name: str, *, at_least: int, at_most: int | None = None, reason: str = ""
) -> int:
    """Return ``value`` as an int within the given limits."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(name, "be a whole number", f"{value!r} ({type(value).__name__})")
    number = operator.index(value)
    if number < at_least:
        raise InputError(name, f"be at least {at_least}", number, reason)
    if at_most is not None and number > at_most:
        raise InputError(name, f"be at most {at_most:,}", f"{number:,}", reason)
    return number


def check_finite_number(
    value: object,
    name: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> float:
    """Return ``value`` as a finite float within the given limits."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputTypeError(name, "be a number", f"{value!r} ({type(value).__name__})")
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number) or number <= above or not at_least <= number <= at_most:
        rules = ["finite"]
        rules += [f"greater than {above:g}"] if above > -math.inf else []
        rules += [f"at least {at_least:g}"] if at_least > -math.inf else []
        rules += [f"at most {at_most:g}"] if at_most < math.inf else []
        raise InputError(name, f"be {' and '.join(rules)}", repr(value))
    return number


def check_no_pipe(path: str | os.PathLike[str]) -> None:
    """Raise where a path is a pipe or a device, which would be waited for; the file need not be
    there.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError(f'"{path}"', "be a file", "a pipe or a device")


def unknown_choice(name: object, options: Iterable[str], *, what: str) -> InputError:
    """Return the error for a name that is not among the options, suggesting the nearest one.

    >>> print(unknown_choice("papr", ["auto", "paper"], what="placement method"))
    Unknown placement method "papr". Choose from: "auto", "paper". Did you mean "paper"?
    """
    options = list(options)
    listed = ", ".join(f'"{option}"' for option in options) or "none"
    return InputError(
        f'Unknown {what} "{name}".',
        advice=f"Choose from: {listed}. {nearest_name(name, options)}".rstrip(),
    )


def nearest_name(name: object, options: Iterable[str]) -> str:
    """Return a question with the nearest of some names, or nothing where none is near."""
    near = get_close_matches(str(name), map(str, options), n=1, cutoff=0.5)
    return f'Did you mean "{near[0]}"?' if near else ""


def choose(name: str, options: Mapping[str, T], *, what: str) -> T:
    """Return ``options[name]``, or raise the error of :func:`unknown_choice`."""
    try:
        return options[name]
    except (KeyError, TypeError):
        raise unknown_choice(name, options, what=what) from None


def check_choices(values: object) -> None:
    """Check that every field of a dataclass that is a Literal holds one of its values."""
    for name, hint in type_hints(type(values)).items():
        for part in (hint, *get_args(hint)):
            value = getattr(values, name)
            if get_origin(part) is Literal and (value is not None or part is hint):
                choose(value, dict.fromkeys(get_args(part)), what=name.replace("_", " "))


def check_integers(
    values: object, name: str, *, at_least: int, at_most: int | None = None
) -> list[int]:
    """Return ``values`` as a list of ints, each within the given limits."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputTypeError(name, "be a list of whole numbers, such as [4, 4]", repr(values))
    return [check_integer(value, name, at_least=at_least, at_most=at_most) for value in values]


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return class names as a tuple: strings, each one once."""
    names = tuple(names)
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise InputTypeError(
                "Class names", "be strings", f"{name!r} as name {index}", "Wrap it in str()."
            )
    repeated, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise InputError("Class names", "differ", f'"{repeated}" {times} times')
    return names


def parse_classes(
    classes: Any, *, at_least: int = 2, reason: str = "A single class needs no prototype."
) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of classes and, where they were given, their names."""
    is_text = isinstance(classes, str)
    if is_text or isinstance(classes, Mapping) or getattr(classes, "ndim", 0) > 1:
        got = f'one string, "{classes}"' if is_text else type(classes).__name__
        advice = "hp.Prototypes.from_tensor takes vectors, hp.place(..., prior=...) a taxonomy."
        raise InputTypeError("classes", "be a number or a list of names", got, advice)
    names = check_names(tuple(classes)) if hasattr(classes, "__iter__") else None
    count = classes if names is None else len(names)
    return check_integer(count, "classes", at_least=at_least, reason=reason), names


def check_tensor(values: object, name: str, advice: str = "Wrap it in torch.as_tensor.") -> None:
    """Check that something is a tensor with a value in each place, of a dtype to compute with."""
    import torch

    if not isinstance(values, torch.Tensor):
        raise InputTypeError(name, "be a torch tensor", type(values).__name__, advice)
    if values.layout != torch.strided or values.is_nested:
        raise InputTypeError(name, "be dense", values.layout, "Call .to_dense() on it.")
    if values.device.type == "meta":
        raise InputTypeError(name, "have values", "a tensor on the device meta")
    if values.is_floating_point() and values.element_size() < 2:
        raise InputTypeError(name, "have at least 16 bits", values.dtype, "Call .float() on it.")


def check_output_width(z: Tensor, dim: int) -> None:
    """Check that ``z`` is a batch of outputs of the right width. Shapes and dtypes only: no
    synchronization.
    """
    check_tensor(z, "z")
    if z.ndim != 2 or z.shape[1] != dim:
        advice = f"Build the network with out_dim={dim}, or the space with the network's width."
        raise InputError("z", f"have shape (n, {dim}) to match the space", tuple(z.shape), advice)
    if not z.is_floating_point():
        raise InputTypeError("z", "be floating point", z.dtype, "Call .float() on it.")


def check_finite_rows(
    x: Tensor, argument: str, *, advice: str, error: type[InputError] = NonFiniteError
) -> None:
    """Raise where a row holds NaN or infinity, naming the first. Reads values,
    so not in a graph.
    """
    import torch

    if torch.compiler.is_compiling():  # also while exporting
        return
    finite = x.isfinite().flatten(1).all(dim=1)
    if not bool(finite.all()):
        rows = (~finite).nonzero().flatten()
        got = f"NaN or infinity in {len(rows)} of {len(x)} rows (first: row {int(rows[0])})"
        raise error(argument, "be finite", got, advice)


def check_directions(z: Tensor) -> None:
    """Raise where an output has no direction (zero) or is not finite. Reads values, so only for
    prediction.
    """
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
            "z",
            "have a direction",
            got,
            "A final ReLU or an untrained bias-free layer usually causes this.",
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
        got = (
            f"norm {float(norms[rows[0]]):.3g} in row {int(rows[0])} ({len(rows)} of "
            f"{len(vectors)} rows)"
        )
        advice = "Pass them through hyperproto.sphere.normalize first."
        raise InputError("prototypes", f"have rows of norm 1, within {tolerance:g}", got, advice)


def names_or_numbers(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return the names of classes, or their numbers where they have none."""
    return tuple(map(str, range(count))) if names is None else tuple(names)
