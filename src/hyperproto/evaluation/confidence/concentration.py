"""Probabilities from cosines by how tightly each class gathers around its prototype: von Mises-Fisher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, ive, softmax

from hyperproto._core.arrays import Numbers, Values, labelled, to_numbers
from hyperproto._core.checks import check_finite_number, check_integer
from hyperproto._core.errors import InputError
from hyperproto.evaluation.confidence.fields import get_field
from hyperproto.evaluation.confidence.temperature import fit_scale

__all__ = ["Concentration", "log_normaliser", "mean_cosine"]

LEAST, MOST = 1e-3, 1e5  # concentrations that are tried
BORROWED = 10  # how many examples' worth of the shared concentration a class starts from


@dataclass(frozen=True)
class Concentration:
    r"""A von Mises-Fisher distribution around each prototype, and Bayes' rule with classes equally likely.

    .. math:: p(k \mid z) \propto \bigl( C_D(\kappa_k) \exp(\kappa_k \cos\theta_{z, p_k}) \bigr)^s

    Points are denser around their prototypes than in the tails of this distribution, or the other way round; the
    exponent s, fitted as a temperature is, keeps the probabilities honest all the same. With one concentration for
    all classes this is :class:`Temperature` with scale s κ. Where they differ a class with scattered examples claims
    more room, so the most probable class need not be that with the largest cosine.

    Parameters
    ----------
    kappas : sequence of float
        One concentration for all classes, or one for each.
    dim : int
        D of the sphere's surroundings; that of the block of axes which the class task reads.
    scale : float, default 1
        s.
    """

    kappas: tuple[float, ...]
    dim: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        given: Any = self.kappas
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise InputError(f"`kappas` must be a list of numbers, one or one for each class; got {given!r}.")
        object.__setattr__(self, "kappas", tuple(check_finite_number(k, "kappas", above=0) for k in given))
        check_integer(self.dim, "dim", at_least=2)
        check_finite_number(self.scale, "scale", above=0)

    @classmethod
    def fit(cls, cosines: Values, labels: Values, dim: int, *, per_class: bool = True) -> Self:
        """Fit concentrations by maximum likelihood around the prototypes, then the scale.

        Parameters
        ----------
        cosines : array, shape (n, num_classes)
        labels : array of integers, shape (n,)
            -1 where missing; those rows do not count.
        dim : int
        per_class : bool, default True
            A concentration for each class; one with few examples stays near the shared one.
        """
        array, ids = labelled(cosines, labels, "cosines")
        own, num_classes = array[np.arange(len(ids)), ids], array.shape[1]
        means = np.array([own.mean()])
        if per_class:
            counts = np.bincount(ids, minlength=num_classes)
            sums = np.bincount(ids, weights=own, minlength=num_classes)
            means = (sums + BORROWED * means) / (counts + BORROWED)
        unscaled = cls(tuple(_solve(float(mean), dim) for mean in means), dim)
        return cls(unscaled.kappas, dim, fit_scale(unscaled.log_densities(array), ids))

    def log_densities(self, cosines: Values) -> Numbers:
        """Return the logarithm of each class's density at each point, shape (n, num_classes)."""
        array = to_numbers(cosines, "cosines", ndim=2)
        kappas = np.array(self.kappas)
        if len(kappas) not in (1, array.shape[1]):
            raise InputError(f"`cosines` must have {len(kappas)} columns, one per concentration; got {array.shape}.")
        held: Numbers = kappas * array + log_normaliser(kappas, self.dim)
        return held

    def probabilities(self, cosines: Values) -> Numbers:
        """Return one probability per class, rows summing to 1. Shape (n, num_classes)."""
        held: Numbers = softmax(self.scale * self.log_densities(cosines), axis=1)
        return held

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"kind": "concentration", "kappas": list(self.kappas), "dim": self.dim, "scale": self.scale}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` described."""
        return cls(*(get_field(held, key, "concentration") for key in ("kappas", "dim", "scale")))


def log_normaliser(kappa: Numbers, dim: int) -> Numbers:
    r"""Return :math:`\log C_D(\kappa) = (D/2 - 1) \log\kappa - (D/2) \log 2\pi - \log I_{D/2-1}(\kappa)`."""
    order = dim / 2 - 1
    held: Numbers = order * np.log(kappa) - dim / 2 * np.log(2 * np.pi) - _log_bessel(order, np.asarray(kappa))
    return held


def mean_cosine(kappa: float, dim: int) -> float:
    r"""Return :math:`A_D(\kappa) = I_{D/2}(\kappa) / I_{D/2-1}(\kappa)`, the mean cosine to the centre."""
    x = np.array([kappa])
    return float(np.exp(_log_bessel(dim / 2, x) - _log_bessel(dim / 2 - 1, x))[0])


def _solve(mean: float, dim: int) -> float:
    """Return the concentration with a given mean cosine, within the bounds that are tried."""
    if mean <= mean_cosine(LEAST, dim):
        return LEAST
    if mean >= mean_cosine(MOST, dim):
        return MOST
    return float(brentq(lambda kappa: mean_cosine(kappa, dim) - mean, LEAST, MOST, rtol=1e-10))


def _log_bessel(order: float, x: Numbers) -> Numbers:
    """Return log I_order(x) for x > 0, also where I itself leaves float64: large orders by Debye's expansion."""
    if order < 25:  # where the expansion would be poor; for tiny x the first term of the series
        with np.errstate(divide="ignore"):
            exact = np.log(ive(order, x)) + x
        first = order * np.log(x / 2) - gammaln(order + 1)
        return np.asarray(np.where(np.isfinite(exact), exact, first))
    ratio = x / order
    root = np.sqrt(1 + ratio**2)
    t = 1 / root
    eta = root + np.log(ratio / (1 + root))
    terms = 1 + (3 * t - 5 * t**3) / (24 * order) + (81 * t**2 - 462 * t**4 + 385 * t**6) / (1152 * order**2)
    # used for all x of these orders, so that the curve has no step
    held: Numbers = order * eta - 0.5 * np.log(2 * np.pi * order * root) + np.log(terms)
    return held
