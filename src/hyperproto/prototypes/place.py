"""The way in: K classes, D dimensions, prototypes out."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from hyperproto._core.checks import check_finite_number, check_integer, unknown_choice
from hyperproto._core.errors import InputError, arg
from hyperproto._core.processes import derive_seed
from hyperproto._core.progress import progress_bar
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.codes.bounds import separation_bound
from hyperproto.codes.certificate import EXACT_POINTS, Code, certify
from hyperproto.codes.measure import farthest_first, spread_order
from hyperproto.codes.search import WORK
from hyperproto.priors import Missing, Prior, as_prior
from hyperproto.priors.taxonomy import leaves
from hyperproto.prototypes.methods import METHODS, Request, certify_agreement, check_prior_weight, separate
from hyperproto.prototypes.prototypes import Prototypes, check_dim, parse_classes

MOST_NUMBERS = 2**36  # classes x dimensions, half a terabyte


def place(
    classes: int | Sequence[str] | Mapping[str, Any],
    dim: int,
    *,
    prior: object | None = None,
    prior_weight: float | Literal["auto"] = "auto",
    missing: Missing = "error",
    method: str = "auto",
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    seconds: float | None = None,
    progress: bool | None = None,
    reserve: int = 0,
    every_axis: bool = False,
    steps: int | None = None,
) -> Prototypes:
    """Place class prototypes as far from each other as possible, before any training (Equation 4).

    Parameters
    ----------
    classes : int, sequence of str, or nested dict
        How many classes, or their names; or a taxonomy such as ``{"travel": ["book", "cancel"], "bank": ["pay"]}``,
        whose ends are the classes and which is their prior.
    dim : int
        Output dimension D; the sphere is S^(D-1). Any D >= 2.
    prior : optional
        What is known about the classes (privileged information): a file of word vectors, a taxonomy, a K x K
        similarity tensor, a dict of vectors, ... see :mod:`hyperproto.priors`. Similar classes are then placed nearer
        than unlike ones, by Equation 6, and the certificate says how far that succeeded.
    prior_weight : float or "auto", default "auto"
        λ, the weight of Equation 6 against separation; 0 is separation only. "auto" is a rule in K and D,
        :func:`~hyperproto.codes.joint.auto_weight`; for ``method="paper"`` it is 1.
    missing : {"error", "free"}, default "error"
        What to do with classes the prior does not know: stop, or place them by separation alone.
    method : {"auto", "codes", "optimize", "project", "assign", "paper", "random"}, default "auto"
        "auto" is the best of what applies: a closed form or algebraic code where it is proved optimal, else the
        better of the best known code and a search. "codes" uses known codes only, "optimize" always searches.
        "paper" descends Equation 5 as the authors' script does, at rate 0.1; with a prior, the sum of Equations 5 and
        6. "assign", for a prior, keeps the best separated code and only decides which class gets
        which point; "codes" with a prior does the same with a known code. "project" lays the prior itself out in D
        dimensions and separates only pairs that are too near.
    effort : {"fast", "balanced", "thorough"}, default "balanced"
        How much to search: near 1, 10 and 60 seconds on one core for 100 classes, but defined by counts.
    seed : int, default 0
        Fixes the result bit for bit, for any number of workers.
    workers : int, optional
        Processes to search with (default: all cores).
    seconds : float, optional
        Ends the search for separation early. The certificate then says so, since the seed alone no longer fixes the
        result. Not for a placement that weighs a prior.
    progress : bool, optional
        Whether to show a progress bar; by default where standard error is a terminal. An interrupt (Ctrl-C) ends
        the search and returns the best so far.
    reserve : int, default 0
        Room for this many later classes: K + reserve points are placed, and those that are farthest from each other
        are used, or with a prior those it knows. :meth:`Prototypes.extend` uses the others.
    every_axis : bool, default False
        Leave no axis empty, as :class:`hyperproto.Space` asks for, since networks learn better so. Where the best
        known code has fewer than D dimensions, a search takes its place, at "fast" a short one that also starts from
        that code; of more classes than can be searched, every point turns a little toward the empty axes. A simplex
        of K <= D classes has K - 1 axes all the same.
    steps : int, optional
        Of the descent of ``method="paper"`` (default: as the authors' published prototypes show, 1,000 from D = 100
        on where there are no more classes than dimensions, else 10,000).

    Examples
    --------
    >>> place(["cat", "dog", "bird"], 2).certificate.max_cosine.__round__(6)
    -0.5
    """
    if (found := leaves(classes)) is not None:
        classes, prior = found, classes if prior is None else prior
    in_use, names = parse_classes(classes)
    dim, seed = check_dim(dim), check_integer(seed, "seed", at_least=0)
    _check_options(method, effort, seconds, workers, prior, prior_weight, steps)
    known = None if prior is None else as_prior(prior, names, in_use, missing=missing, progress=progress)
    num_classes = in_use + check_integer(reserve, "reserve", at_least=0)
    _check_memory(num_classes, dim)
    with progress_bar("placing", show=progress) as bar:

        def report(done: int, total: int, best: float, bound: float) -> None:
            so_far = "" if math.isnan(best) else f"maximum cosine {best:.6f}, "
            bar.update(done, total=total, note=f"{so_far}bound {bound:.6f}")

        weight = 1.0 if method == "paper" and prior_weight == "auto" else prior_weight
        request = Request(
            num_classes,
            dim,
            None if known is None else _with_unknown(known, reserve),
            weight=0.0 if known is None else check_prior_weight(weight, num_classes, dim),
            effort=effort,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            seconds=seconds,
            progress=report if bar.shown else None,
            every_axis=every_axis,
            steps=steps,
        )
        if method in ("auto", "optimize") and (known is None or request.weight == 0):
            code, used_weight = separate(request, search_only=method == "optimize" and known is None), 0.0
        else:
            code, used_weight = METHODS[method](request)
    if known is not None:
        code = certify_agreement(code, request, used_weight)
    if reserve:
        return _keep_reserve(code, in_use, names, in_order=known is not None, seed=seed)
    return Prototypes.from_code(code, names)


def _check_memory(num_classes: int, dim: int) -> None:
    """Say what the points would take before any of it is allocated."""
    if num_classes * dim > MOST_NUMBERS:
        got = f"{num_classes:.6g} x {dim:.6g}, {8 * num_classes * dim / 1e9:,.3g} GB in double precision"
        raise InputError("classes x dim", f"be at most {MOST_NUMBERS:.3g} numbers", got)


def _check_options(
    method: str,
    effort: str,
    seconds: float | None,
    workers: int | None,
    prior: object | None,
    prior_weight: float | Literal["auto"],
    steps: int | None,
) -> None:
    """Check the options before anything is read or searched."""
    if method not in METHODS:
        raise unknown_choice(method, METHODS, what="placement method")
    if effort not in WORK:
        raise unknown_choice(effort, WORK, what="effort")
    if seconds is not None:
        check_finite_number(seconds, "seconds", above=0)
        if prior is not None and prior_weight != 0 and method in ("auto", "optimize", "project", "paper"):
            rule = "be left out where a prior is weighed: it ends a search for separation alone"
            raise InputError("seconds", rule, advice="Use " + arg("effort", '"fast"') + " for a shorter one.")
    if workers is not None:
        check_integer(workers, "workers", at_least=1)
    if steps is not None and method != "paper":
        raise InputError("steps", "be left out unless " + arg("method", '"paper"') + " descends step by step", steps)
    if steps is not None:
        check_integer(steps, "steps", at_least=0)
    if prior_weight != "auto" and method == "project":
        raise InputError("prior_weight", 'be "auto" with ' + arg("method", '"project"') + ", which has no Equation 6")
    if prior is None and (prior_weight != "auto" or method in ("assign", "project")):
        rule = f'be given with {arg("prior_weight")} and with the methods "assign" and "project"'
        raise InputError("prior", rule, "none")


def _with_unknown(prior: Prior, count: int) -> Prior:
    """Return a prior for ``count`` more classes, of which nothing is known."""
    if not count:
        return prior
    similarity = np.pad(prior.similarity, (0, count))
    return Prior(similarity, np.pad(prior.known, (0, count)), prior.source, prior.notes)


def _keep_reserve(
    code: Code, num_classes: int, names: tuple[str, ...] | None, *, in_order: bool, seed: int
) -> Prototypes:
    """Use ``num_classes`` points of a code and keep the others for later, the farthest from the used ones first.

    With ``in_order`` the first points belong to the classes already, as with a prior; else those farthest from each
    other are used, or of very many points a random part.
    """
    if len(code.points) <= MATRIX_POINTS:
        order = (farthest_first if in_order else spread_order)(code.points, num_classes)
    elif in_order:
        order = np.arange(len(code.points))
    else:
        order = np.random.default_rng(derive_seed(seed, "reserve")).permutation(len(code.points))
    points = np.ascontiguousarray(code.points[order])
    whole, used = code.certificate, points[:num_classes]
    method = f"{whole.method}; {num_classes} of {len(points)} points used"
    if len(points) > EXACT_POINTS:  # measuring again takes minutes; a part is no worse separated than the whole
        bound = separation_bound(num_classes, points.shape[1])
        certificate = replace(whole, bound=bound, proved=False, proof="a part of a larger code", method=method)
    else:
        certificate = certify(used, method=method, seed=whole.seed, note=whole.note).certificate
    certificate = replace(
        certificate,
        prior_agreement=whole.prior_agreement,
        reserved=len(points) - num_classes,
        max_cosine_with_reserve=whole.max_cosine,
    )
    vectors = Prototypes.from_code(Code(points, certificate)).vectors
    return Prototypes(vectors[:num_classes].clone(), certificate, names, vectors[num_classes:].clone())
