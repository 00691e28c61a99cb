"""More classes, fewer, or other names: the points that stay are not touched."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import check_integer, check_names, check_unit_rows
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.registry import choose, unknown_choice
from hyperproto.codes import certify, extend_code, extend_ranked, known_max_cosine, max_cosine
from hyperproto.codes.certificate import PROVED, Certificate, PriorAgreement
from hyperproto.codes.measure import Array
from hyperproto.codes.search import WORK
from hyperproto.priors import Missing, as_prior
from hyperproto.prototypes.prior_placement import Request, check_prior_weight
from hyperproto.prototypes.prototypes import Prototypes
from hyperproto.sphere import normalize

__all__ = [
    "append_points",
    "class_ids",
    "extend_prototypes",
    "points_by_similarity",
    "remove_classes",
    "rename_classes",
]

# one standard deviation of similarity makes an old class e times as heavy. Sharper weights reach more examples of a
# new class and take more from the old ones, milder weights less of both; chosen on training digits set aside
SHARPNESS = 1.0


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
        raise InputError("prior_weight", f"come with {arg('prior')}, whose weight it is", "no prior")
    count, names = _all_names(prototypes, classes)
    old, reserve = _exact(prototypes.vectors), _reserve(prototypes)
    method = prototypes.certificate.method
    if prior is None:
        used, reserve = reserve[:count], reserve[count:]
        added, how = used, [f"{len(used)} at reserved points"] if len(used) else []
        if len(used) < count:
            found = extend_code(np.concatenate([old, used]), count - len(used), effort=effort, seed=seed)
            added = np.concatenate([used, found])
            how.append(f"{len(found)} by a search next to the others ({effort})")
        return _join(prototypes, added, names, reserve, method=f"{method}; {', '.join(how)}", seed=seed)
    total = prototypes.num_classes + count
    known = as_prior(prior, names, total, missing=missing)
    weight = check_prior_weight(prior_weight, total, prototypes.dim)
    request = Request(known, prototypes.dim, weight, effort, seed, workers=1)
    added = extend_ranked(old, known.similarity, request.members, weight=weight, effort=effort, seed=seed)
    for point in added[: len(reserve)]:
        reserve = np.delete(reserve, (reserve @ point).argmax(), axis=0)  # its room is gone
    return _join(
        prototypes,
        added,
        names,
        reserve,
        method=f"{method}; {count} where the prior wants them ({effort})",
        seed=seed,
        agreement=request.measure(np.concatenate([old, added]), weight),
        note=" ".join(known.notes),
    )


def append_points(
    prototypes: Prototypes, classes: int | Sequence[str], vectors: Tensor, *, method: str
) -> Prototypes:
    """Return the prototypes and given unit rows for new classes; see :meth:`Prototypes.append`."""
    count, names = _all_names(prototypes, classes)
    check_unit_rows(vectors)
    if vectors.shape != (count, prototypes.dim):
        raise InputError(
            "vectors", f"have shape ({count}, {prototypes.dim}), a row for each new class", tuple(vectors.shape)
        )
    method = f"{prototypes.certificate.method}; {count} {method}"
    return _join(prototypes, _exact(vectors), names, _reserve(prototypes), method=method, seed=None)


def remove_classes(prototypes: Prototypes, classes: Sequence[str] | Sequence[int]) -> Prototypes:
    """Return the prototypes without some classes; see :meth:`Prototypes.remove`."""
    removed = class_ids(prototypes.names, prototypes.num_classes, classes)
    kept = np.setdiff1d(np.arange(prototypes.num_classes), removed)
    if len(kept) < 2:
        raise InputError("classes", f"leave at least 2 classes; removing {len(removed)} leaves {len(kept)}")
    if not removed:
        return prototypes
    vectors = prototypes.vectors[torch.from_numpy(kept).to(prototypes.vectors.device)]
    old = prototypes.certificate
    method = f"{old.method}; {len(removed)} removed"
    certificate = _certify(_exact(vectors), _reserve(prototypes), method=method, seed=old.seed)
    certificate = replace(certificate, note=old.note)
    names = None if prototypes.names is None else tuple(prototypes.names[index] for index in kept)
    return Prototypes(vectors, certificate, names, prototypes.reserve)


def rename_classes(prototypes: Prototypes, names: Mapping[str, str]) -> Prototypes:
    """Return the prototypes with new names for some classes; see :meth:`Prototypes.rename`."""
    if prototypes.names is None:
        raise InputError("These prototypes have no names to change; place them by name.")
    for old in names:
        if old not in prototypes.names:
            raise unknown_choice(old, prototypes.names, what="class")
    return replace(prototypes, names=tuple(names.get(name, name) for name in prototypes.names))


def class_ids(names: tuple[str, ...] | None, num_classes: int, classes: Sequence[str] | Sequence[int]) -> list[int]:
    """Return the ids of classes given by name, or by id where they have no names; each once.

    >>> class_ids(("cat", "dog", "fox"), 3, ["fox", "cat"])
    [2, 0]
    """
    if isinstance(classes, str):
        raise InputTypeError("classes", "be a list of names", f'one string, "{classes}"')
    if names is None:
        ids = [check_integer(index, "classes", at_least=0) for index in classes]
        for index in ids:
            if index >= num_classes:
                raise InputError("classes", f"be ids below {num_classes}", index)
    else:
        places = {name: index for index, name in enumerate(names)}
        for name in classes:
            if name not in places:
                raise unknown_choice(name, places, what="class")
        ids = [places[str(name)] for name in classes]
    return list(dict.fromkeys(ids))


def points_by_similarity(old: Prototypes, names: tuple[str, ...] | None, count: int, prior: object) -> Tensor:
    r"""Return a point for each new class: the mean of the old prototypes, weighed by similarity.

    .. math:: p_{\text{new}} \propto \sum_k \text{softmax}_k(s_k) \, p_k

    with the similarities s to the old classes, standardized. The outputs of a trained network lie within the span of
    the old prototypes: training asked for nothing else. So a point for a new class that is to be predicted without
    any training must lie there too, however much room there is elsewhere.

    Parameters
    ----------
    old : Prototypes
    names : tuple of str, or None
        Of the old classes and then the new.
    count : int
        How many are new.
    prior : object
        Over old and new classes, as :func:`hyperproto.place` accepts it.

    Returns
    -------
    Tensor, shape (count, dim)
        Unit rows, float64.
    """
    known = as_prior(prior, names, old.num_classes + count)
    similarity = torch.from_numpy(known.similarity[old.num_classes :, : old.num_classes])
    spread = similarity.std(dim=1, correction=0, keepdim=True)
    flat = (spread.flatten() <= 1e-12).nonzero().flatten()
    if len(flat):
        raise InputError(
            "prior",
            "say which old classes a new one is like; to it, all are equally like new class "
            f"{int(flat[0])} ({len(flat)} of {count})",
        )
    weights = torch.softmax(SHARPNESS * (similarity - similarity.mean(dim=1, keepdim=True)) / spread, dim=1)
    return normalize(weights @ old.vectors.cpu().double())


def _join(
    prototypes: Prototypes,
    added: Array,
    names: tuple[str, ...] | None,
    reserve: Array,
    *,
    method: str,
    seed: int | None,
    agreement: PriorAgreement | None = None,
    note: str = "",
) -> Prototypes:
    """Put new points behind the old rows, and say what separation is left."""
    vectors, before = prototypes.vectors, prototypes.certificate
    points = torch.from_numpy(np.ascontiguousarray(added)).to(vectors)
    total, dim = len(vectors) + len(points), prototypes.dim
    both = torch.cat([vectors, points])
    certificate = _certify(_exact(both), reserve, method=method, seed=seed)
    if certificate.measured != "all pairs":  # too many to measure again, and the old ones were measured before
        new = _exact(points)
        among_new = max_cosine(new) if len(new) > 1 else -1.0
        certificate = replace(
            certificate,
            max_cosine=max(before.max_cosine, float((new @ _exact(vectors).T).max()), among_new),
            measured=f"every pair with a new point; old pairs before ({before.measured})",
        )
    afresh = min(known_max_cosine(total, dim), PROVED.get((total, dim), (1.0, ""))[0])
    stayed = (
        f"The {len(vectors)} old prototypes stay: maximum cosine {before.max_cosine:.4f} before, "
        f"{certificate.max_cosine:.4f} now"
    )
    stayed += f"; {afresh:.4f} is known for {total} placed afresh." if afresh < 1 else "."
    certificate = replace(certificate, prior_agreement=agreement, note=f"{stayed} {note}".strip())
    left = torch.from_numpy(np.ascontiguousarray(reserve)).to(vectors) if len(reserve) else None
    return Prototypes(both, certificate, names, left)


def _certify(used: Array, reserve: Array, *, method: str, seed: int | None) -> Certificate:
    """Measure the points in use, and all of them where some are reserved."""
    certificate = certify(used, method=method, seed=seed).certificate
    if not len(reserve):
        return certificate
    whole = certify(np.concatenate([used, reserve]), method=method, seed=seed).certificate.max_cosine
    return replace(certificate, reserved=len(reserve), max_cosine_with_reserve=whole)


def _all_names(prototypes: Prototypes, classes: int | Sequence[str]) -> tuple[int, tuple[str, ...] | None]:
    """Return how many classes are new, and the names of all, old and new."""
    if isinstance(classes, str):
        raise InputTypeError("classes", "be a number or a list of names", f'one string, "{classes}"')
    if hasattr(classes, "__index__"):
        if prototypes.names is not None:
            raise InputError("New classes", "have names, as the old ones do", f"the number {classes}")
        return check_integer(classes, "classes", at_least=1), None
    added = check_names(tuple(classes))
    if prototypes.names is None:
        raise InputError(
            "New classes",
            "have no names where the old ones have none",
            f"{len(added)} names",
            f"Give their number, {len(added)}.",
        )
    if not added:
        raise InputError("classes", "name at least one new class", "none")
    known = [name for name in added if name in prototypes.names]
    if known:
        raise InputError("New classes", f'be new; "{known[0]}" exists already ({len(known)} of {len(added)})')
    return len(added), (*prototypes.names, *added)


def _exact(vectors: Tensor) -> Array:
    return vectors.numpy(force=True).astype(np.float64)


def _reserve(prototypes: Prototypes) -> Array:
    return np.empty((0, prototypes.dim)) if prototypes.reserve is None else _exact(prototypes.reserve)
