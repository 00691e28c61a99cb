"""Where a search starts: codes of another size made to fit, and orbits of finite groups.

The smooth maximum and L-BFGS treat every point alike, so a symmetric start stays symmetric on its way down
and the search has only one point per orbit to place. Many of the best codes known are symmetric.
"""

from functools import cache
from itertools import combinations

import numpy as np
from scipy.spatial.transform import Rotation

from hyperproto.codes.measure import Array, unit_rows
from hyperproto.codes.smooth_max import largest_cosine

CANDIDATES = 400
GOLDEN = (1 + 5**0.5) / 2
NAMES = (
    *(f"C{n}" for n in range(2, 13)),  # turns about one axis
    *(f"D{n}" for n in range(2, 11)),  # and half turns about axes across it
    *(f"S{2 * n}" for n in range(1, 7)),  # turns that also mirror
    "T",  # the rotations of the tetrahedron, octahedron and icosahedron
    "O",
    "I",
)


def adapt_code(points: Array, num_points: int, dim: int, rng: np.random.Generator, *, noise: float) -> Array:
    """Return ``num_points`` points in ``dim`` dimensions, as near to the given code as may be.

    Fewer dimensions keep the principal axes, more are zero; points too many are dropped where it is most
    crowded, points missing are put into the deepest holes; then every coordinate is disturbed by ``noise``.
    """
    have = points.shape[1]
    if have < dim:
        points = np.pad(points, ((0, 0), (0, dim - have)))
    elif have > dim:
        points = points @ np.linalg.svd(points, full_matrices=False)[2][:dim].T
        lost = ~points.any(axis=1)  # orthogonal to every axis that is kept
        points[lost] = rng.standard_normal((int(lost.sum()), dim))
        points = unit_rows(points)
    points = drop_points(points, max(0, len(points) - num_points), rng)
    points = insert_points(points, max(0, num_points - len(points)), rng)
    return unit_rows(points + noise * rng.standard_normal(points.shape))


def drop_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points without ``count`` of them, each time one of the three most crowded."""
    for _ in range(count):
        cosine = points @ points.T
        np.fill_diagonal(cosine, -1)
        crowd = ((1 - cosine.max()) / (1 - cosine).clip(1e-12)) ** 64
        worst = np.argsort(-crowd.sum(axis=1), kind="stable")[:3]
        points = np.delete(points, rng.choice(worst), axis=0)
    return points


def insert_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points and ``count`` more, each time in one of the three deepest holes found."""
    for _ in range(count):
        points = np.concatenate([points, deepest_holes(points, 3, rng)[[rng.integers(3)]]])
    return points


def move_points(points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the points with ``count`` of them, taken at random, put into the deepest holes."""
    kept = np.delete(points, rng.choice(len(points), count, replace=False), axis=0)
    return insert_points(kept, count, rng)


def deepest_holes(points: Array, count: int, rng: np.random.Generator, *, steps: int = 6) -> Array:
    """Return the ``count`` directions farthest from all points, of many random ones moved into their holes.

    Each step turns a direction away from a mean of the points near it. Shape (count, D).
    """
    holes = unit_rows(rng.standard_normal((CANDIDATES, points.shape[1])))
    for step in range(steps):
        cosine = holes @ points.T
        weight = np.exp(30 * (cosine - cosine.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        holes = unit_rows(holes - 0.3 / (step + 1) * (weight @ points))
    order = np.argsort((holes @ points.T).max(axis=1), kind="stable")
    return holes[order[:count]]


def symmetric_start(num_points: int, rng: np.random.Generator) -> Array | None:
    """Return points on S² made of whole orbits of a group drawn at random, or None where no group fits.

    A group of order g fits if K is a multiple of g, plus some of its short orbits: the points on its axes.
    """
    fitting = _fitting(num_points)
    if not fitting:
        return None
    names = sorted({name for name, _ in fitting})
    name = names[rng.integers(len(names))]  # first the group, else those with many short orbits crowd it out
    options = [short for other, short in fitting if other == name]
    short = [short_orbits(name)[k] for k in options[rng.integers(len(options))]]
    rotations = group(name)
    free = (num_points - sum(map(len, short))) // len(rotations)
    orbits = np.einsum("gij,aj->agi", rotations, unit_rows(rng.standard_normal((free, 3))))
    return np.concatenate([orbits.reshape(-1, 3), *short])


def cyclic_start(num_points: int, dim: int, rng: np.random.Generator) -> Array:
    """Return orbits of a turn of random order n in any dimension, and up to two points of no orbit.

    The turn acts on D/2 planes, by a random multiple of 2π/n on each.
    """
    whole = [(n, left) for left in range(3) for n in range(2, num_points + 1) if (num_points - left) % n == 0]
    order, left = whole[rng.integers(len(whole))]
    planes = dim // 2
    multiples = rng.integers(0, order, planes)
    angles = 2 * np.pi / order * np.outer(np.arange(order), multiples)
    begin = rng.standard_normal(((num_points - left) // order, dim))
    orbits = np.repeat(begin[:, None], order, axis=1)  # (orbit, turn, dim)
    x, y = begin[:, None, 0 : 2 * planes : 2], begin[:, None, 1 : 2 * planes : 2]
    orbits[:, :, 0 : 2 * planes : 2] = np.cos(angles) * x - np.sin(angles) * y
    orbits[:, :, 1 : 2 * planes : 2] = np.sin(angles) * x + np.cos(angles) * y
    points = unit_rows(np.concatenate([orbits.reshape(-1, dim), rng.standard_normal((left, dim))]))
    if largest_cosine(points) > 1 - 1e-6:  # two coincide
        points = unit_rows(points + 1e-2 * rng.standard_normal(points.shape))
    return points


@cache
def group(name: str) -> Array:
    """Return the matrices of a finite group of isometries of S², the identity first. Shape (order, 3, 3)."""
    elements = [np.eye(3)]
    for element in elements:  # grows while it runs, until it is closed
        for generator in _generators(name):
            product = element @ generator
            if all(np.abs(product - other).max() > 1e-6 for other in elements):
                elements.append(product)
    return np.array(elements)


@cache
def short_orbits(name: str) -> tuple[Array, ...]:
    """Return the orbits of the points that some rotation of the group leaves in place."""
    rotations = group(name)
    orbits: list[Array] = []
    for rotation in rotations[1:]:
        if np.linalg.det(rotation) < 0:
            continue
        axis = Rotation.from_matrix(rotation).as_rotvec()
        for pole in (axis / np.linalg.norm(axis), -axis / np.linalg.norm(axis)):
            if not any(np.abs(orbit - pole).max(axis=1).min() < 1e-6 for orbit in orbits):
                images = (rotations @ pole).round(9)
                _, first = np.unique(images + 0.0, axis=0, return_index=True)
                orbits.append(rotations[np.sort(first)] @ pole)
    return tuple(orbits)


@cache
def _fitting(num_points: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the groups, each with the short orbits to use, that give exactly ``num_points`` points."""
    return tuple(
        (name, chosen)
        for name in NAMES
        for size in range(len(short_orbits(name)) + 1)
        for chosen in combinations(range(len(short_orbits(name))), size)
        if (rest := num_points - sum(len(short_orbits(name)[k]) for k in chosen)) >= 0
        and rest % len(group(name)) == 0
    )


def _generators(name: str) -> tuple[Array, ...]:
    def turn(axis: tuple[float, float, float], parts: float) -> Array:
        matrix: Array = Rotation.from_rotvec(2 * np.pi / parts * unit_rows(np.array([axis]))[0]).as_matrix()
        return matrix

    half, third = turn((0, 0, 1), 2), turn((1, 1, 1), 3)
    if name in ("T", "O", "I"):
        extra = {"T": half, "O": turn((0, 0, 1), 4), "I": turn((0, 1, GOLDEN), 5)}[name]
        return half, third, extra
    order = int(name[1:])
    if name[0] == "S":
        return (turn((0, 0, 1), order) @ np.diag([1.0, 1.0, -1.0]),)
    return (turn((0, 0, 1), order),) if name[0] == "C" else (turn((0, 0, 1), order), turn((1, 0, 0), 2))
