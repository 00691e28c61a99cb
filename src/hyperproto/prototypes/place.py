"""The way in: K classes, D dimensions, prototypes out."""

import os
from collections.abc import Callable, Sequence
from typing import Literal

from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError
from hyperproto._core.registry import unknown_choice
from hyperproto.codes import Code, best_code, certify, known_code, separation_descent
from hyperproto.codes.effort import WORK
from hyperproto.priors import Missing, as_prior
from hyperproto.prototypes.progress import placement_progress
from hyperproto.prototypes.prototypes import Prototypes, parse_classes
from hyperproto.prototypes.request import Request, check_prior_weight
from hyperproto.prototypes.reserve import keep_reserve, with_unknown
from hyperproto.prototypes.semantic import place_with_prior

__all__ = ["METHODS", "check_dim", "place"]


def place(
    classes: int | Sequence[str],
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
) -> Prototypes:
    """Place class prototypes as far apart as we can, before any training (Equation 4).

    Parameters
    ----------
    classes : int or sequence of str
        How many classes, or their names.
    dim : int
        Output dimension D; the sphere is S^(D-1). Any D >= 2.
    prior : optional
        What is known about the classes (privileged information): a file of word vectors, a taxonomy, a K x K
        similarity tensor, a dict of vectors, ... see :mod:`hyperproto.priors`. Similar classes are then
        placed nearer than unlike ones, by Equation 6, and the certificate says how far that succeeded.
    prior_weight : float or "auto", default "auto"
        λ, the weight of Equation 6 beside separation; 0 is separation only. "auto" is a rule in K and D,
        :func:`~hyperproto.codes.ranked.joint.auto_weight`; for ``method="paper"`` it is 1.
    missing : {"error", "free"}, default "error"
        What to do with classes the prior does not know: stop, or place them by separation alone.
    method : {"auto", "codes", "optimise", "project", "assign", "paper", "random"}, default "auto"
        "auto" is the best of what applies: a closed form or algebraic code where it is proved optimal, else the
        better of the best known code and a search. "codes" takes known codes only, "optimise" always searches.
        "paper" descends Equation 5 as the authors' script does: 10,000 steps at rate 0.1; with a prior, the sum of
        Equations 5 and 6. "assign", for a prior, keeps the best separated code and only decides which class gets
        which point; "codes" with a prior does the same with a known code. "project" lays the prior itself out in D
        dimensions and parts only pairs that are too near: see :mod:`hyperproto.codes.ranked.apart`.
    effort : {"fast", "balanced", "thorough"}, default "balanced"
        How much to search: near 1, 10 and 60 seconds on one core for 100 classes, but defined by counts.
    seed : int, default 0
        Fixes the result bit for bit, for any number of workers.
    workers : int, optional
        Processes to search with; all cores unless given.
    seconds : float, optional
        Ends the search for separation early. The certificate then says so, since the seed alone no longer fixes the
        result. A placement that weighs a prior does not take it.
    progress : bool, optional
        Whether to show a progress bar; by default where standard error is a terminal. An interrupt (Ctrl-C) ends
        the search and returns the best so far.
    reserve : int, default 0
        Room for so many classes to come: K + reserve points are placed, and those that are furthest apart are used,
        or with a prior those it speaks of. :meth:`Prototypes.extend` gives the others out.

    Examples
    --------
    >>> place(["cat", "dog", "bird"], 2).certificate.max_cosine.__round__(6)
    -0.5
    """
    num_classes, names = parse_classes(classes)
    dim, seed = check_dim(dim), check_integer(seed, "seed", at_least=0)
    _check_options(method, effort, seconds, workers, prior, prior_weight)
    held = None if prior is None else as_prior(prior, names, num_classes, missing=missing, progress=progress)
    reserve = check_integer(reserve, "reserve", at_least=0)
    in_use, num_classes = num_classes, num_classes + reserve
    held = with_unknown(held, reserve) if held is not None and reserve else held
    with placement_progress(show=progress) as report:
        if held is not None:
            weight = 1.0 if method == "paper" and prior_weight == "auto" else prior_weight
            request = Request(
                prior=held,
                dim=dim,
                weight=check_prior_weight(weight, num_classes, dim),
                effort=effort,
                seed=seed,
                workers=workers or os.cpu_count() or 1,
                seconds=seconds,
                progress=report,
            )
            code = place_with_prior(method, request)
        elif method in DIRECT:
            code = DIRECT[method](num_classes, dim, seed)
        else:
            code = best_code(
                num_classes,
                dim,
                effort=effort,
                seed=seed,
                workers=workers,
                seconds=seconds,
                progress=report,
                search_only=method == "optimise",
            )
    if reserve:
        return keep_reserve(code, in_use, names, in_order=held is not None, seed=seed)
    return Prototypes.from_code(code, names)


def _check_options(
    method: str,
    effort: str,
    seconds: float | None,
    workers: int | None,
    prior: object | None,
    prior_weight: float | Literal["auto"],
) -> None:
    """Say what cannot be, before anything is read or searched."""
    if method not in METHODS:
        raise unknown_choice(method, METHODS, what="placement method")
    if effort not in WORK:
        raise unknown_choice(effort, WORK, what="effort")
    if seconds is not None:
        check_finite_number(seconds, "seconds", above=0)
    if workers is not None:
        check_integer(workers, "workers", at_least=1)
    if method == "project" and prior_weight != "auto":
        raise InputError(
            '`prior_weight` is the weight of Equation 6, which method="project" does not have. Use "auto".'
        )
    if prior is None and (prior_weight != "auto" or method in ("assign", "project")):
        raise InputError(
            '`prior_weight` and the methods "assign" and "project" go with a prior; got none. Pass prior=...'
        )


def check_dim(dim: int) -> int:
    """Check an output dimension."""
    return check_integer(dim, "dim", at_least=2, reason="One axis has two directions and no way between them.")


def _codes(num_classes: int, dim: int, seed: int) -> Code:
    code = known_code(num_classes, dim, seed=seed)
    if code is None:
        raise InputError(
            f'No code is known for {num_classes} points in {dim} dimensions. Use method="auto", which searches.'
        )
    return code


def _paper(num_classes: int, dim: int, seed: int) -> Code:
    points = separation_descent(num_classes, dim, seed=seed)
    return certify(points, method="paper (Eq. 5, 10,000 steps)", seed=seed)


def _random(num_classes: int, dim: int, seed: int) -> Code:
    drawn = Prototypes.random(num_classes, dim, seed=seed)
    return Code(drawn.vectors.numpy(), drawn.certificate)


DIRECT: dict[str, Callable[[int, int, int], Code]] = {"codes": _codes, "paper": _paper, "random": _random}
METHODS = ("auto", "codes", "optimise", "project", "assign", "paper", "random")
