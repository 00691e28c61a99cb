"""A spherical code and the certificate that says how good it is."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._version import __version__

__all__ = ["Array", "Certificate", "Code", "Meaning"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Meaning:
    """How far the order of the cosines agrees with the order of similarities a prior asks for.

    Attributes
    ----------
    prior : str
        Where the similarities come from.
    weight : float
        λ, the weight of Equation 6 beside separation; 0 where the placement did not look at the prior.
    loss : float
        Equation 6.
    ranked : float
        Share of the triplets (i, j, k) with different similarities whose cosines have the same order.
    ranked_by_margin : float
        Share of them that have it by more than .01: order won by less is no meaning.
    clear : float
        Share of them whose cosines differ by more than .01 at all, in whichever order.
    spearman, kendall : float
        Rank correlations of similarities and cosines over all pairs; ties count as ties (tau-b).
    ranked_of_clear : float
        Of the clear ones, the share in the right order.
    measured : str
        Over what: all triplets, or those of classes drawn at random.
    """

    prior: str
    weight: float
    loss: float
    ranked: float
    ranked_by_margin: float
    clear: float
    spearman: float
    kendall: float
    measured: str = "all triplets"
    ranked_of_clear: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranked_of_clear", self.ranked_by_margin / self.clear if self.clear else 0.0)


@dataclass(frozen=True)
class Certificate:
    """How well K points are separated, how well they could be, and who says so.

    Attributes
    ----------
    max_cosine : float
        Largest cosine between two different points.
    bound : float
        No K points in this dimension can have a smaller maximum cosine.
    proved : bool
        Whether the points are known to be optimal, with the reason in ``proof``.
    proof : str
        The theorem behind ``proved``, or the reason why there is none.
    method : str
        The construction or optimiser that produced the points.
    seed : int or None
        The seed that makes them again; None where chance had no part.
    measured : str
        How ``max_cosine`` is known: over all pairs, or by a theorem and a sample.
    remark : str
        What else one should know, such as a search that the clock or the user ended early.
    version : str
        Version of hyperproto that placed them.
    meaning : Meaning or None
        The other side, where a prior was given: how far the order of the cosines agrees with it.
    reserved : int
        How many further points are kept for classes to come; all else is about the points in use.
    max_cosine_with_reserve : float or None
        Largest cosine between two points of both kinds; None where nothing is kept.
    gap : float
        ``max_cosine - bound``; what is left to gain at most.
    """

    max_cosine: float
    bound: float
    proved: bool
    proof: str
    method: str
    seed: int | None
    measured: str = "all pairs"
    remark: str = ""
    version: str = __version__
    meaning: Meaning | None = None
    reserved: int = 0
    max_cosine_with_reserve: float | None = None
    gap: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.max_cosine - self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """Rebuild a certificate from :meth:`to_dict`; what a newer version added is left out."""
        held = {key: value for key, value in values.items() if key in _names(cls)}
        if (meaning := held.get("meaning")) is not None:
            held["meaning"] = Meaning(**{key: value for key, value in meaning.items() if key in _names(Meaning)})
        return cls(**held)


def _names(kind: type[Meaning] | type[Certificate]) -> set[str]:
    return {part.name for part in fields(kind) if part.init}


@dataclass(frozen=True)
class Code:
    """K points on the sphere S^(D-1), ``points`` of shape (K, D) with unit rows, and their certificate."""

    points: Array
    certificate: Certificate
