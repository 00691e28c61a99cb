r"""Which class gets which point of a code: separation stays, agreement with a prior becomes as good as can be.

With the points fixed, Equation 6 depends on the assignment π only through

.. math:: \max_\pi \; \sum_{ij} w_{ij} \, c_{\pi(i)\pi(j)}

since the rest of it is a sum over all pairs of each row, in whatever order (``ranking.py``). That is a quadratic
assignment problem. It is climbed by exchanging two classes at a time, of many classes at first many pairs at once; a
kick that moves a few at random, kept where the climb after it ends higher, leads out of local optima.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

from hyperproto._core.processes import derive_seed, one_thread
from hyperproto.codes.measure import Array

KICKED = 0.25  # share of the classes that a kick moves at most
ALL_EVERY = 4  # one kick in this many moves all of them
RELAXED = 400  # classes up to which the relaxed problem gives a start; beyond, its K³ steps take too long
TOGETHER = 8  # at first one exchange per this many classes is made at once
GAIN = 1e-9  # smallest gain worth an exchange, relative to the sum of |w c|


def assign(
    points: Array,
    weights: Array,
    *,
    kicks: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.intp]:
    """Return π of shape (K,), so that ``points[π]`` are the prototypes of the classes in their order.

    The weights of shape (K, K) are w, from :func:`~hyperproto.codes.ranking.order_weights`; kicks are attempts to
    leave a local optimum, and ``progress`` is called with (kicks done, kicks in all).
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
        best, height = _climb(weights, cosines, leap(weights, cosines, np.asarray(start)))
        for kick in range(kicks):
            tried, reached = _climb(weights, cosines, leap(weights, cosines, _kicked(best, kick, rng)))
            if reached > height:
                best, height = tried, reached
            if progress is not None:
                progress(kick + 1, kicks)
    return best


def _kicked(best: NDArray[np.intp], kick: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Move a few classes on in a circle, or now and then all of them."""
    count, tried = len(best), best.copy()
    most = max(3, round(KICKED * count))
    size = count if kick % ALL_EVERY == 0 else int(rng.integers(min(3, count), min(most, count), endpoint=True))
    moved = rng.permutation(count)[:size]
    tried[moved] = tried[np.roll(moved, 1)]
    return tried


def exchange_gains(weights: Array, placed: Array, products: Array) -> Array:
    """Return the gain of exchanging classes r and s, for every pair. Shape (K, K).

    From w and the cosines as assigned, both symmetric with a zero diagonal, and ``weights @ placed``.
    """
    own = np.diagonal(products)
    gains: Array = products + products.T
    gains -= own[:, None]
    gains -= own[None]
    gains += 2 * weights * placed
    return 2 * gains


def leap(weights: Array, cosines: Array, assigned: NDArray[np.intp]) -> NDArray[np.intp]:
    """Make many exchanges of different classes at once while their sum gains, halving how many where it does not.

    One at a time, as `_climb` goes, takes K² steps for each of some K exchanges: from a random start of 1,000 classes
    that is a minute. Up to `RELAXED` classes it goes one at a time from the first.
    """
    count = len(assigned)
    most = count // TOGETHER if count > RELAXED else 0
    placed = cosines[np.ix_(assigned, assigned)]
    while most > 1:
        gains = exchange_gains(weights, placed, weights @ placed)
        tried = _exchange_best(gains, assigned, most, least=GAIN * float(np.abs(weights * placed).sum()))
        then = cosines[np.ix_(tried, tried)]
        if np.vdot(weights, then) > np.vdot(weights, placed):
            assigned, placed = tried, then
        else:
            most //= 2
    return assigned


def _exchange_best(gains: Array, assigned: NDArray[np.intp], most: int, *, least: float) -> NDArray[np.intp]:
    """Exchange each class with its best partner, the greatest gains first, no class twice, ``most`` pairs at most."""
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
    """Make the best exchange until none helps. The products change by one outer product an exchange."""
    assigned = assigned.copy()
    placed = cosines[np.ix_(assigned, assigned)]
    products = weights @ placed
    least = GAIN * float(np.abs(weights * placed).sum())
    while True:
        gains = exchange_gains(weights, placed, products)
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
