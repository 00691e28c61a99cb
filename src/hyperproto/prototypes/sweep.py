"""The trade-off between separation and meaning, as numbers to plot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hyperproto.codes.ranked import auto_weight
from hyperproto.priors import as_prior
from hyperproto.prototypes import request as limits
from hyperproto.prototypes.place import place
from hyperproto.prototypes.prototypes import Prototypes, parse_classes

__all__ = ["SWEEP", "TradeOff", "sweep_prior_weight"]

SWEEP = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the weight that "auto" stands for


@dataclass(frozen=True)
class TradeOff:
    """One placement: the weight of its prior, how well it separates, and what it means.

    Attributes
    ----------
    label : str
        "auto", "assignment", "separation only", or "" for a point of the sweep.
    prior_weight, max_cosine, ranked : float
        λ, the maximum cosine, and the share of triplets ranked right by more than .01.
    prototypes : Prototypes
        The placement itself, whose certificate has the rest.
    """

    label: str
    prior_weight: float
    max_cosine: float
    ranked: float
    prototypes: Prototypes


def sweep_prior_weight(
    classes: int | Sequence[str],
    dim: int,
    prior: object,
    *,
    weights: Sequence[float] | None = None,
    effort: str = "balanced",
    seed: int = 0,
    workers: int | None = None,
    missing: Any = "error",
    progress: Callable[[str], None] | None = None,
) -> list[TradeOff]:
    """Place with several weights, with none, and by assignment where there is one.

    Parameters
    ----------
    classes, dim, prior, effort, seed, workers, missing
        As for :func:`~hyperproto.prototypes.place.place`.
    weights : sequence of float, optional
        The weights λ to try; a quarter to four times what "auto" stands for unless given.
    progress : callable, optional
        Told which placement comes next.
    """
    num_classes, names = parse_classes(classes)
    held = as_prior(prior, names, num_classes, missing=missing)
    auto = auto_weight(num_classes, dim)
    tried = weights if weights is not None else [factor * auto for factor in SWEEP]
    wanted: list[tuple[str, dict[str, Any]]] = [("separation only", {"prior_weight": 0.0})]
    if held.known.all() and num_classes <= limits.ALL_ANCHORS:
        wanted.append(("assignment", {"method": "assign"}))
    wanted += [("auto" if abs(weight - auto) < 1e-9 * auto else "", {"prior_weight": weight}) for weight in tried]
    rows = []
    for label, options in wanted:
        if progress is not None:
            progress(label or f"weight {options['prior_weight']:.3g}")
        made = place(classes, dim, prior=held, missing=missing, effort=effort, seed=seed, workers=workers, **options)
        meaning = made.certificate.meaning
        assert meaning is not None
        rows.append(TradeOff(label, meaning.weight, made.certificate.max_cosine, meaning.ranked_by_margin, made))
    return rows
