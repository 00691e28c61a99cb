"""Room for classes to come: more points than classes, of which the best spread are used."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.seeding import derive_seed
from hyperproto.codes import Code, certify, farthest_first, separation_bound, spread_order
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.codes.certify import EXACT_POINTS
from hyperproto.codes.code import Array, Certificate
from hyperproto.priors import Prior
from hyperproto.prototypes.prototypes import Prototypes

__all__ = ["certify_with_reserve", "keep_reserve", "with_unknown"]


def keep_reserve(
    code: Code, num_classes: int, names: tuple[str, ...] | None, *, in_order: bool, seed: int
) -> Prototypes:
    """Use ``num_classes`` points of a code and keep the others for later, the furthest from the used ones first.

    Parameters
    ----------
    code : Code
        More points than classes.
    in_order : bool
        Whether the first points belong to the classes already, as with a prior; else those furthest apart are used.
    """
    order = _order(code.points, num_classes, in_order=in_order, seed=seed)
    points = np.ascontiguousarray(code.points[order])
    whole, used = code.certificate, points[:num_classes]
    method = f"{whole.method}; {num_classes} of {len(points)} points used"
    if len(points) > EXACT_POINTS:  # measuring again takes minutes; a part is no worse separated than the whole
        bound = separation_bound(num_classes, points.shape[1])
        certificate = replace(whole, bound=bound, proved=False, proof="a part of a larger code", method=method)
    else:
        certificate = certify(used, method=method, seed=whole.seed, remark=whole.remark).certificate
    certificate = replace(
        certificate,
        meaning=whole.meaning,
        reserved=len(points) - num_classes,
        max_cosine_with_reserve=whole.max_cosine,
    )
    all_points = Prototypes.from_code(Code(points, certificate)).vectors
    return Prototypes(all_points[:num_classes].clone(), certificate, names, all_points[num_classes:].clone())


def certify_with_reserve(
    used: Array, reserve: Array | None, *, method: str, seed: int | None, remark: str
) -> Certificate:
    """Measure the points in use, and all of them where some are in reserve."""
    certificate = certify(used, method=method, seed=seed, remark=remark).certificate
    if reserve is None or not len(reserve):
        return certificate
    whole = certify(np.concatenate([used, reserve]), method=method, seed=seed).certificate.max_cosine
    return replace(certificate, reserved=len(reserve), max_cosine_with_reserve=whole)


def with_unknown(prior: Prior, count: int) -> Prior:
    """Return a prior for ``count`` classes more, of which nothing is known."""
    size = prior.num_classes
    similarity = np.zeros((size + count, size + count))
    similarity[:size, :size] = prior.similarity
    known = np.concatenate([prior.known, np.zeros(count, dtype=bool)])
    return Prior(similarity, known, prior.source, prior.notes)


def _order(points: Array, num_classes: int, *, in_order: bool, seed: int) -> NDArray[np.intp]:
    """Return which points to use, then the others; of very many points, a random part is used."""
    if len(points) <= MATRIX_POINTS:
        return farthest_first(points, num_classes) if in_order else spread_order(points, num_classes)
    if in_order:
        return np.arange(len(points))
    return np.random.default_rng(derive_seed(seed, "reserve")).permutation(len(points))
