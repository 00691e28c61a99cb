"""Make the zoo: ``python tools/make_zoo.py [--workers N] [--only K]``.

Searches thoroughly, from several seeds, for common K and D where neither a closed form nor a
registry code is proved optimal, and keeps a code only where it beats the registry. Continues where
it was stopped; a better code replaces a stored one, a worse one never does.
"""

import argparse

import numpy as np
from safetensors.numpy import save_file

from hyperproto._core.files import replacing
from hyperproto.codes.best import ZOO, from_zoo, known_code
from hyperproto.codes.certificate import MEETS, best_possible
from hyperproto.codes.measure import Array, max_cosine
from hyperproto.codes.search import Effort, optimize

__all__ = ["main"]

SIZES = (10, 20, 50, 100, 200, 365, 1000)
DIMS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 25, 32, 48, 50, 64, 96, 100, 128)
EXACT_ENTRIES = (
    6000  # larger codes are stored in float32, which costs some 1e-8 of the maximum cosine
)


def main() -> None:
    """Search for every (K, D) that is not proved optimal yet, the cheapest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1, help="processes a search may use")
    parser.add_argument(
        "--only", type=int, nargs="*", default=SIZES, help="numbers of points to search for"
    )
    parser.add_argument("--dims", type=int, nargs="*", default=DIMS, help="dimensions to search in")
    parser.add_argument("--seed", type=int, default=0, help="another seed may find better codes")
    options = parser.parse_args()
    ZOO.mkdir(exist_ok=True)
    cases = [(k, d) for k in options.only for d in options.dims if not _is_proved(k, d)]
    for num_points, dim in sorted(cases, key=lambda case: case[0] ** 2 * case[1]):
        _improve(num_points, dim, options.seed, options.workers)


def _is_proved(num_points: int, dim: int) -> bool:
    known = known_code(num_points, dim)
    return known is not None and known.certificate.proved


def _improve(num_points: int, dim: int, seed: int, workers: int) -> None:
    known, stored = known_code(num_points, dim), from_zoo(num_points, dim)
    best = min(
        (code.certificate.max_cosine for code in (known, stored) if code is not None), default=1.0
    )
    bound = best_possible(num_points, dim)
    starts = [stored.points] if stored is not None else []
    effort = Effort.named("thorough", num_points, dim)
    points, _ = optimize(
        num_points,
        dim,
        effort=effort,
        seed=seed,
        workers=workers,
        bound=bound,
        initial_codes=starts,
    )
    found = max_cosine(points)
    better = found < best - MEETS
    if better:
        _store(points)
    verdict = "kept" if better else "no better than what is known"
    print(
        f"K = {num_points}, D = {dim}: {found:.9f}, known {best:.9f}, bound {bound:.9f}: {verdict}",
        flush=True,
    )


def _store(points: Array) -> None:
    exact = points.size <= EXACT_ENTRIES
    stored = np.ascontiguousarray(points, dtype=np.float64 if exact else np.float32)
    with replacing(ZOO / "{}x{}.safetensors".format(*points.shape)) as temporary:
        save_file({"points": stored}, temporary)


if __name__ == "__main__":
    main()
