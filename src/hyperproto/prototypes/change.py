"""What changing the classes of prototypes needs: ids, names, points for new classes and certificates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hyperproto._core.checks import check_integer, check_names, unknown_choice
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.codes.best import known_max_cosine
from hyperproto.codes.certificate import PROVED, Certificate, certify
from hyperproto.codes.measure import Array, max_cosine
from hyperproto.priors import as_prior
from hyperproto.sphere import normalize

if TYPE_CHECKING:
    from hyperproto.prototypes.prototypes import Prototypes

# one standard deviation of similarity makes an old class e times as heavy. Sharper weights reach more examples of a
# new class and take more from the old ones, milder weights less of both; chosen on training digits set aside
SHARPNESS = 1.0


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


def points_by_similarity(old: "Prototypes", names: tuple[str, ...] | None, count: int, prior: object) -> Tensor:
    r"""Return a point for each new class: the mean of the old prototypes, weighed by similarity.

    .. math:: p_{\text{new}} \propto \sum_k \text{softmax}_k(s_k) \, p_k

    with the similarities s to the old classes, standardized. The outputs of a trained network lie within the span of
    the old prototypes: training asked for nothing else. So a point for a new class that is to be predicted without
    any training must lie there too, however much room there is elsewhere.

    ``names`` are those of the old classes and then of the ``count`` new ones; the prior is about both, as
    :func:`hyperproto.place` accepts it. Returns unit rows (count, dim), float64.
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


def extended_certificate(
    prototypes: "Prototypes", added: Array, reserve: Array, *, method: str, seed: int | None
) -> Certificate:
    """Return the certificate of prototypes with new points, which says what separation is left."""
    old, before = exact(prototypes.vectors), prototypes.certificate
    total, dim = len(old) + len(added), prototypes.dim
    certificate = certify_used(np.concatenate([old, added]), reserve, method=method, seed=seed)
    if certificate.measured != "all pairs":  # too many to measure again, and the old ones were measured before
        among_new = max_cosine(added) if len(added) > 1 else -1.0
        certificate = replace(
            certificate,
            max_cosine=max(before.max_cosine, float((added @ old.T).max()), among_new),
            measured=f"every pair with a new point; old pairs before ({before.measured})",
        )
    afresh = min(known_max_cosine(total, dim), PROVED.get((total, dim), (1.0, ""))[0])
    note = (
        f"The {len(old)} old prototypes stay: maximum cosine {before.max_cosine:.4f} before, "
        f"{certificate.max_cosine:.4f} now"
    )
    note += f"; {afresh:.4f} is known for {total} placed afresh." if afresh < 1 else "."
    return replace(certificate, note=note)


def certify_used(used: Array, reserve: Array, *, method: str, seed: int | None) -> Certificate:
    """Measure the points in use, and all of them where some are reserved."""
    certificate = certify(used, method=method, seed=seed).certificate
    if not len(reserve):
        return certificate
    whole = certify(np.concatenate([used, reserve]), method=method, seed=seed).certificate.max_cosine
    return replace(certificate, reserved=len(reserve), max_cosine_with_reserve=whole)


def all_names(prototypes: "Prototypes", classes: int | Sequence[str]) -> tuple[int, tuple[str, ...] | None]:
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


def exact(vectors: Tensor) -> Array:
    """Return rows as an array of float64."""
    return vectors.numpy(force=True).astype(np.float64)
