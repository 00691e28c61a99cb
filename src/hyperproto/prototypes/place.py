"""The way in: K classes, D dimensions, prototypes out."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hyperproto._core.checks import check_integer, choose, parse_classes
from hyperproto._core.errors import InputError, arg
from hyperproto._core.processes import free_memory, one_thread
from hyperproto.codes.certificate import closed_code
from hyperproto.prototypes.prototypes import Prototypes, check_dim


@one_thread()
def place(
    classes: int | Sequence[str] | Mapping[str, Any],
    dim: int,
    *,
    prior: object | None = None,
    prior_weight: float | Literal["auto"] = "auto",
    missing: Literal["error", "free"] = "error",
    method: str = "auto",
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
    every_axis: bool = False,
    steps: int | None = None,
) -> Prototypes:
    """Place class prototypes as far from each other as possible, before any training (Equation 4).

    Parameters
    ----------
    classes : int, sequence of str, or nested dict
        How many classes, or their names; or a taxonomy such as ``{"travel": ["book", "cancel"],
        "bank": ["pay"]}``, whose ends are the classes and which is their prior.
    dim : int
        Output dimension D; the sphere is S^(D-1). Any D >= 2.
    prior : optional
        What is known about the classes (privileged information): a file of word vectors, a
        taxonomy, a K x K similarity tensor, a dict of vectors, ... see :mod:`hyperproto.priors`.
        Similar classes are then placed nearer than unlike ones, by Equation 6, and the certificate
        says how far that succeeded.
    prior_weight : float or "auto", default "auto"
        λ, the weight of Equation 6 against separation; 0 is separation only. "auto" is a rule in K
        and D, :func:`~hyperproto.codes.joint.auto_weight`; for ``method="paper"`` it is 1.
    missing : {"error", "free"}, default "error"
        What to do with classes the prior does not know: stop, or place them by separation alone.
    method : {"auto", "codes", "optimize", "project", "assign", "paper", "random"}, default "auto"
        "auto" is the best of what applies: a closed form or algebraic code where it is proved
        optimal, else the better of the best known code and a search. "codes" uses known codes only,
        "optimize" always searches. "paper" descends Equation 5 as the authors' script does, at rate
        0.1; with a prior, the sum of Equations 5 and 6. "assign", for a prior, keeps the best
        separated code and only decides which class gets which point; "codes" with a prior does the
        same with a known code. "project" lays the prior itself out in D dimensions and separates
        only pairs that are too near.
    effort : {"fast", "balanced", "thorough"}, default "balanced"
        How much to search: near 1, 10 and 60 seconds on one core for 100 classes, but defined by
        counts.
    seed : int, default 0
        Fixes the result bit for bit, for any number of workers and threads.
    workers : int, optional
        Processes to search with (default: all cores).
    progress : bool, optional
        Whether to show a progress bar; by default where standard error is a terminal.
    every_axis : bool, default False
        Leave no axis empty, as :class:`hyperproto.Space` asks for, since networks learn better so.
        Where the best known code has fewer than D dimensions, a search takes its place, at "fast" a
        short one that also starts from that code; of more classes than can be searched, every point
        turns a little toward the empty axes. A simplex of K <= D classes has K - 1 axes all the
        same.
    steps : int, optional
        Of the descent of ``method="paper"`` (default: as the authors' published prototypes show,
        1,000 from D = 100 on where there are no more classes than dimensions, else 10,000).

    Examples
    --------
    >>> place(["cat", "dog", "bird"], 2).certificate.max_cosine.__round__(6)
    -0.5
    """
    if isinstance(classes, Mapping):
        from hyperproto.priors.taxonomy import leaves

        classes, prior = leaves(classes) or classes, classes if prior is None else prior
    num_classes, names = parse_classes(classes)
    dim, seed = check_dim(dim), check_integer(seed, "seed", at_least=0)
    _check_options(method, effort, workers, prior, prior_weight, steps)
    known = None
    if prior is not None:
        from hyperproto.priors import as_prior

        known = as_prior(prior, names, num_classes, missing=missing, progress=progress)
    _check_memory(num_classes, dim)
    if known is None and method == "auto":
        exact = closed_code(num_classes, dim)
        if exact is not None:
            return Prototypes.from_code(exact, names)
    from hyperproto._core.progress import progress_bar
    from hyperproto.prototypes.methods import (
        METHODS,
        Request,
        certify_agreement,
        check_prior_weight,
        separate,
    )

    with progress_bar(f"placing {num_classes} in {dim} dimensions", show=progress):
        weight = 1.0 if method == "paper" and prior_weight == "auto" else prior_weight
        request = Request(
            num_classes,
            dim,
            known,
            weight=0.0 if known is None else check_prior_weight(weight, num_classes, dim),
            effort=effort,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            every_axis=every_axis,
            steps=steps,
        )
        if method in ("auto", "optimize") and (known is None or request.weight == 0):
            code = separate(request, search_only=method == "optimize" and known is None)
            used_weight = 0.0
        else:
            code, used_weight = METHODS[method](request)
    if known is not None:
        code = certify_agreement(code, request, used_weight)
    return Prototypes.from_code(code, names)


def _check_memory(num_classes: int, dim: int) -> None:
    """Say what the points would take before any of it is allocated."""
    # two numbers in memory for each coordinate, and twelve in addition for each class
    needed, free = 8 * num_classes * (2 * dim + 12), free_memory()
    if needed > free:
        got = f"{num_classes:.6g} x {dim:.6g}, which takes {needed / 1e9:,.3g} GB"
        raise InputError(
            "classes x dim", f"fit into the {free / 1e9:,.3g} GB of memory that are free", got
        )


def _check_options(
    method: str,
    effort: str,
    workers: int | None,
    prior: object | None,
    prior_weight: float | Literal["auto"],
    steps: int | None,
) -> None:
    """Check the options before anything is read or searched."""
    if method != "auto":
        from hyperproto.prototypes.methods import METHODS

        choose(method, METHODS, what="placement method")
    choose(effort, dict.fromkeys(("fast", "balanced", "thorough")), what="effort")
    if workers is not None:
        check_integer(workers, "workers", at_least=1)
    if steps is not None and method != "paper":
        raise InputError(
            "steps",
            "be left out unless " + arg("method", '"paper"') + " descends step by step",
            steps,
        )
    if steps is not None:
        check_integer(steps, "steps", at_least=0)
    if prior_weight != "auto" and method == "project":
        raise InputError(
            "prior_weight",
            'be "auto" with ' + arg("method", '"project"') + ", which has no Equation 6",
        )
    if prior is None and (prior_weight != "auto" or method in ("assign", "project")):
        rule = f'be given with {arg("prior_weight")} and with the methods "assign" and "project"'
        raise InputError("prior", rule, "none")
