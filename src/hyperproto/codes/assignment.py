r"""Which class gets which point of a code: separation stays, agreement with a prior becomes as good as can be.

With the points fixed, Equation 6 depends on the assignment π only through

.. math:: \max_\pi \; \sum_{ij} w_{ij} \, c_{\pi(i)\pi(j)}

since the rest of it is a sum over all pairs of each row, in whatever order (``ranking.py``). That is a quadratic
assignment problem, solved by iterated local search: swaps of two classes until none helps, of many classes at first
many swaps at once; then a random perturbation, kept where the local search after it ends higher.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

from hyperproto._core.processes import derive_seed, one_thread
from hyperproto.codes.measure import Array

PERTURBED = 0.25  # share of the classes that a perturbation moves at most
ALL_EVERY = 4  # one perturbation in this many moves all of them
RELAXED = 400  # classes up to which the relaxed problem gives a start; beyond, its K³ steps take too long
TOGETHER = 8  # at first one swap per this many classes is made at once
GAIN = 1e-9  # smallest gain worth a swap, relative to the sum of |w c|


def assign(
    points: Array,
    weights: Array,
    *,
    perturbations: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.intp]:
    """Return π of shape (K,), so that ``points[π]`` are the prototypes of the classes in their order.

    The weights of shape (K, K) are w, from :func:`~hyperproto.codes.ranking.order_weights`; ``progress``
    is called with (perturbations done, perturbations in all).
    """
    weights = (weights + weights.T) / 2
    cosines = points @ points.T
    np.fill_diagonal(cosines, 0)
    count = len(points)
    rng = np.random.default_rng(derive_seed(seed, "assignment"))
    with one_thread():
        start = rng.permutation(count)
        if count <= RELAXED:
            start = quadratic_assignment(
                weights, cosines, method="faq", options={"maximize": True, "rng": rng}
            ).col_ind
        best, height = _climb(weights, cosines, swap_many(weights, cosines, np.asarray(start)))
        for index in range(perturbations):
            tried, reached = _climb(weights, cosines, swap_many(weights, cosines, _perturb(best, index, rng)))
            if reached > height:
                best, height = tried, reached
            if progress is not None:
                progress(index + 1, perturbations)
    return best


def _perturb(best: NDArray[np.intp], index: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Move a few classes on in a circle, or now and then all of them."""
    count, tried = len(best), best.copy()
    most = max(3, round(PERTURBED * count))
    size = count if index % ALL_EVERY == 0 else int(rng.integers(min(3, count), min(most, count), endpoint=True))
    moved = rng.permutation(count)[:size]
    tried[moved] = tried[np.roll(moved, 1)]
    return tried


def swap_gains(weights: Array, placed: Array, products: Array) -> Array:
    """Return the gain of swapping classes r and s, for every pair. Shape (K, K).

    From w and the cosines as assigned, both symmetric with a zero diagonal, and ``weights @ placed``.
    """
    own = np.diagonal(products)
    gains: Array = products + products.T
    gains -= own[:, None]
    gains -= own[None]
    gains += 2 * weights * placed
    return 2 * gains


def swap_many(weights: Array, cosines: Array, assigned: NDArray[np.intp]) -> NDArray[np.intp]:
    """Make many swaps of different classes at once while their sum gains, halving how many where it does not.

    One at a time, as `_climb` goes, takes K² steps for each of some K swaps: from a random start of 1,000 classes
    that is a minute. Up to `RELAXED` classes it goes one at a time from the first.
    """
    count = len(assigned)
    most = count // TOGETHER if count > RELAXED else 0
    placed = cosines[np.ix_(assigned, assigned)]
    while most > 1:
        gains = swap_gains(weights, placed, weights @ placed)
        tried = _best_swaps(gains, assigned, most, least=GAIN * float(np.abs(weights * placed).sum()))
        then = cosines[np.ix_(tried, tried)]
        if np.vdot(weights, then) > np.vdot(weights, placed):
            assigned, placed = tried, then
        else:
            most //= 2
    return assigned


def _best_swaps(gains: Array, assigned: NDArray[np.intp], most: int, *, least: float) -> NDArray[np.intp]:
    """Swap each class with its best partner, the greatest gains first, no class twice, ``most`` pairs at most."""
    partner = gains.argmax(axis=1)
    gain = gains[np.arange(len(gains)), partner]
    tried, moved = assigned.copy(), set[int]()
    for r in np.argsort(-gain, kind="stable"):
        s = partner[r]
        if gain[r] <= least or len(moved) >= 2 * most:
            break
        if r not in moved and s not in moved:
            tried[[r, s]] = tried[[s, r]]
            moved |= {r, s}
    return tried


def _climb(weights: Array, cosines: Array, assigned: NDArray[np.intp]) -> tuple[NDArray[np.intp], float]:
    """Make the best swap until none helps. The products change by one outer product per swap."""
    assigned = assigned.copy()
    placed = cosines[np.ix_(assigned, assigned)]
    products = weights @ placed
    least = GAIN * float(np.abs(weights * placed).sum())
    while True:
        gains = swap_gains(weights, placed, products)
        r, s = divmod(int(gains.argmax()), len(assigned))
        if gains[r, s] <= least:
            return assigned, float(np.vdot(weights, placed))
        products += np.outer(weights[:, s] - weights[:, r], placed[r] - placed[s])
        _swap(products.T, r, s)
        _swap(placed, r, s)
        _swap(placed.T, r, s)
        assigned[[r, s]] = assigned[[s, r]]


def _swap(rows: Array, r: int, s: int) -> None:
    rows[[r, s]] = rows[[s, r]]
