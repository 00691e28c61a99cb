"""A spherical code and the certificate that says how good it is."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperproto._version import __version__

__all__ = ["Array", "Certificate", "Code"]

Array = NDArray[np.floating[Any]]


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
    gap: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.max_cosine - self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """Rebuild a certificate from :meth:`to_dict`; what a newer version added is left out."""
        known = {part.name for part in fields(cls) if part.init}
        return cls(**{key: value for key, value in values.items() if key in known})


@dataclass(frozen=True)
class Code:
    """K points on the sphere S^(D-1), ``points`` of shape (K, D) with unit rows, and their certificate."""

    points: Array
    certificate: Certificate
