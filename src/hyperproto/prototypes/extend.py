"""Prototypes for classes that come later, beside old ones that stay as they are."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import check_integer, check_names, check_unit_rows
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.registry import choose
from hyperproto.codes import extend_code, known_max_cosine, max_cosine
from hyperproto.codes.certify import proved_optimum
from hyperproto.codes.code import Array, Meaning
from hyperproto.codes.effort import WORK
from hyperproto.codes.ranked import ranked_beside
from hyperproto.priors import Missing, as_prior
from hyperproto.prototypes.prototypes import Prototypes
from hyperproto.prototypes.request import Request, check_prior_weight
from hyperproto.prototypes.reserve import certify_with_reserve

__all__ = ["append_points", "extend_prototypes"]


def extend_prototypes(
    prototypes: Prototypes,
    classes: int | Sequence[str],
    *,
    prior: object | None = None,
    prior_weight: float | Literal["auto"] = "auto",
    missing: Missing = "error",
    effort: str = "balanced",
    seed: int = 0,
) -> Prototypes:
    """Return the prototypes and one more for each new class; see :meth:`Prototypes.extend`."""
    choose(effort, WORK, what="effort")
    seed = check_integer(seed, "seed", at_least=0)
    if prior is None and prior_weight != "auto":
        raise InputError("`prior_weight` goes with a prior; got none. Pass prior=...")
    count, names = _more_names(prototypes, classes)
    if prior is not None:
        return _where_prior_wants(prototypes, count, names, prior, prior_weight, missing, effort, seed)
    old, reserve = _exact(prototypes.vectors), _reserve(prototypes)
    taken, left = reserve[:count], reserve[count:]
    added, how = taken, [f"{len(taken)} at reserved points"] if len(taken) else []
    if len(taken) < count:
        found = extend_code(np.concatenate([old, taken]), count - len(taken), effort=effort, seed=seed)
        added, how = np.concatenate([taken, found]), [*how, f"{len(found)} by a search beside the others ({effort})"]
    method = f"{prototypes.certificate.method}; {', '.join(how)}"
    return _join(prototypes, added, names, left, method=method, seed=seed)


def append_points(
    prototypes: Prototypes, classes: int | Sequence[str], vectors: Tensor, *, method: str
) -> Prototypes:
    """Return the prototypes and given unit rows for new classes; see :meth:`Prototypes.append`."""
    count, names = _more_names(prototypes, classes)
    check_unit_rows(vectors)
    if vectors.shape != (count, prototypes.dim):
        raise InputError(
            f"`vectors` must have shape ({count}, {prototypes.dim}), a row for each new class; "
            f"got {tuple(vectors.shape)}."
        )
    method = f"{prototypes.certificate.method}; {count} {method}"
    return _join(prototypes, _exact(vectors), names, _reserve(prototypes), method=method, seed=None)


def _where_prior_wants(
    prototypes: Prototypes,
    count: int,
    names: tuple[str, ...] | None,
    prior: object,
    prior_weight: float | Literal["auto"],
    missing: Missing,
    effort: str,
    seed: int,
) -> Prototypes:
    """Weigh separation from the old points against the order that the prior asks for."""
    total = prototypes.num_classes + count
    held = as_prior(prior, names, total, missing=missing)
    weight = check_prior_weight(prior_weight, total, prototypes.dim)
    request = Request(held, prototypes.dim, weight, effort, seed, workers=1)
    if len(request.members) < 3:
        raise InputError(
            "A prior must speak of three classes at least, to rank two by their likeness to the third; "
            f"it speaks of {len(request.members)}."
        )
    old = _exact(prototypes.vectors)
    added = ranked_beside(old, held.similarity, request.members, weight=weight, effort=effort, seed=seed)
    left = _reserve(prototypes)
    for point in added[: len(left)]:
        left = np.delete(left, (left @ point).argmax(), axis=0)  # its room is gone
    method = f"{prototypes.certificate.method}; {count} where the prior wants them ({effort})"
    meaning = request.measure(np.concatenate([old, added]), weight)
    remark = " ".join(held.notes)
    return _join(prototypes, added, names, left, method=method, seed=seed, meaning=meaning, remark=remark)


def _join(
    prototypes: Prototypes,
    added: Array,
    names: tuple[str, ...] | None,
    reserve: Array,
    *,
    method: str,
    seed: int | None,
    meaning: Meaning | None = None,
    remark: str = "",
) -> Prototypes:
    """Put new points behind the old rows, and say what separation is left."""
    vectors, before = prototypes.vectors, prototypes.certificate
    points = torch.from_numpy(np.ascontiguousarray(added)).to(vectors)
    total, dim = len(vectors) + len(points), prototypes.dim
    both = torch.cat([vectors, points])
    certificate = certify_with_reserve(_exact(both), reserve, method=method, seed=seed, remark="")
    if certificate.measured != "all pairs":  # too many to measure again, and the old ones were measured before
        beside = float((_exact(points) @ _exact(vectors).T).max())
        certificate = replace(
            certificate,
            max_cosine=max(before.max_cosine, beside, _exact_max(points)),
            measured=f"every pair with a new point; old pairs before ({before.measured})",
        )
    afresh = min(known_max_cosine(total, dim), (proved_optimum(total, dim) or (1.0, ""))[0])
    parts = [
        f"The {len(vectors)} old prototypes stay: maximum cosine {before.max_cosine:.4f} before, "
        f"{certificate.max_cosine:.4f} now",
        f"; {afresh:.4f} is known for {total} placed afresh." if afresh < 1 else ".",
    ]
    remark = " ".join(part for part in ("".join(parts), remark) if part)
    certificate = replace(certificate, meaning=meaning, remark=remark)
    kept = torch.from_numpy(np.ascontiguousarray(reserve)).to(vectors) if len(reserve) else None
    return Prototypes(both, certificate, names, kept)


def _more_names(prototypes: Prototypes, classes: int | Sequence[str]) -> tuple[int, tuple[str, ...] | None]:
    """Return how many classes come, and the names of all, old and new."""
    if isinstance(classes, str):
        raise InputTypeError(f'New classes must be a number or a list of names; got one string, "{classes}".')
    if hasattr(classes, "__index__"):
        if prototypes.names is not None:
            raise InputError(f"New classes must have names, as the old ones do; got the number {classes}.")
        return check_integer(classes, "classes", at_least=1), None
    added = check_names(tuple(classes))
    if prototypes.names is None:
        raise InputError(
            f"New classes cannot have names where the old ones have none; give their number, {len(added)}."
        )
    if not added:
        raise InputError("At least one new class must be named; got none.")
    known = [name for name in added if name in prototypes.names]
    if known:
        raise InputError(f'New classes must be new; "{known[0]}" is there already ({len(known)} of {len(added)}).')
    return len(added), (*prototypes.names, *added)


def _exact(vectors: Tensor) -> Array:
    return vectors.numpy(force=True).astype(np.float64)


def _exact_max(points: Tensor) -> float:
    return max_cosine(_exact(points)) if len(points) > 1 else -1.0


def _reserve(prototypes: Prototypes) -> Array:
    return np.empty((0, prototypes.dim)) if prototypes.reserve is None else _exact(prototypes.reserve)
