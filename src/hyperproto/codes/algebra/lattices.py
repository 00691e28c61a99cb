"""Codes of polytopes and lattices: 600-cell, E8, the Golay code, the Leech lattice, and codes at 60
degrees of them.

The extended quadratic-residue code of length 24 is the Golay code: 4096 words, weights 0, 8, 12,
16, 24; its 759 words of weight 8, the octads, form the Steiner system S(5, 8, 24). In coordinates
scaled by sqrt(8) the 196560 shortest vectors of the Leech lattice (norm 32) are

- 1104 of shape (±4^2, 0^22),
- 97152 of shape (±2^8, 0^16): on an octad, with an even number of minus signs,
- 98304 of shape (∓3, ±1^23): upper signs on a codeword.

Cohn and Li, "Kissing number in dimensions 17 through 21" (2024): Leech vectors that vanish on a set
T of places are (±4, ±4) and octads disjoint from T with an *even* number of minus signs. With an
*odd* number the cosines are as good, and the vectors (±1)^n whose signs come from the Golay code no
longer come near: they may join.

Construction A, shapes over a binary code: all ±2 at one place, and ±1 on every word of weight 4
with all 16 signs. Words of weight 4 that meet in at most two places make all cosines <= 1/2.

Coxeter, "Regular Polytopes"; Conway, Sloane, "Sphere Packings, Lattices and Groups", chapters 3, 4,
5, 10 and 11.
"""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.algebra.entry import members, section, unit_rows, with_opposites
from hyperproto.codes.measure import Array

Words = NDArray[np.int64]

GOLDEN = (1 + np.sqrt(5)) / 2
# earlier neighbors: a chain of six, the seventh on the third
E7_DIAGRAM = ((), (0,), (1,), (1,), (2,), (3,), (4,))
QUADRUPLES = {  # cycles of a symmetry, and one word of every orbit
    10: ("0123456789", "0134 0126 0247"),
    11: ("012 345 678", "012a 0146 0158 0179 0359 037a 045a 0489 0567 068a 3467 389a 6789"),
    12: (
        "012 345 678 9ab",
        "0134 0157 0168 019b 036b 037a 0389 0459 047b 048a 056a 058b 0679 3468 349a 38ab 67ab",
    ),
}


def icosahedron() -> Array:
    """Return the 12 cyclic shifts of (0, ±1, ±φ): cosines ±1/sqrt(5) and -1."""
    corners = np.array([(0, a, b * GOLDEN) for a, b in product((1, -1), repeat=2)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    return unit_rows(points)


def cell_600() -> Array:
    """Return the 120 unit icosians: cosines up to φ/2.

    8 shifts of (±1, 0, 0, 0), 16 of (±1, ±1, ±1, ±1)/2 and the 96 even permutations of (±φ, ±1,
    ±1/φ, 0)/2.
    """
    even = [p for p in permutations(range(4)) if np.linalg.det(np.eye(4)[list(p)]) > 0]
    corners = [
        np.array((a * GOLDEN, b, c / GOLDEN, 0)) / 2 for a, b, c in product((1, -1), repeat=3)
    ]
    rotated = np.array([corner[list(p)] for corner in corners for p in even])
    halves = np.array(list(product((0.5, -0.5), repeat=4)))
    points = np.concatenate([with_opposites(np.eye(4)), halves, rotated])
    return unit_rows(points)


def e8_roots() -> Array:
    """Return the 240 roots of E8: 112 of D_8 and 128 of (±1/2)^8 with an even number of minus
    signs.
    """
    return np.concatenate([unit_rows(pairs_of_signs(8)), unit_rows(even_signs(8))])


@cache
def golay_words() -> Words:
    """Return the 4096 words of the extended Golay code. Shape (4096, 24), entries 0 and 1."""
    residues = {x * x % 23 for x in range(1, 23)}
    # the sum of x^r over the squares r
    idempotent = np.array([int(x in residues) for x in range(23)])
    cyclic = np.stack([np.roll(idempotent, shift) for shift in range(23)])
    basis = _row_basis(np.column_stack([cyclic, cyclic.sum(axis=1) % 2]))
    return np.array(list(product((0, 1), repeat=len(basis)))) @ basis % 2


def _row_basis(rows: Words) -> Words:
    """Return the reduced row basis of a binary matrix."""
    rows, rank = rows % 2, 0
    for column in range(rows.shape[1]):
        pivots = np.flatnonzero(rows[rank:, column])
        if len(pivots):
            rows[[rank, rank + pivots[0]]] = rows[[rank + pivots[0], rank]]
            others = (np.arange(len(rows)) != rank) & (rows[:, column] == 1)
            rows[others] ^= rows[rank]
            rank += 1
    return rows[:rank]


def octads() -> Words:
    """Return the 759 words of weight 8: the blocks of S(5, 8, 24)."""
    words = golay_words()
    return np.asarray(words[words.sum(axis=1) == 8])


def hexads() -> Words:
    """Return the 77 blocks of S(3, 6, 22): the octads through the last two
    points, without these.
    """
    blocks = octads()
    return blocks[(blocks[:, 22:] == 1).all(axis=1), :22]


def even_signs(length: int) -> Words:
    """Return all vectors of signs with an even number of minus signs. Shape
    (2^(length-1), length).
    """
    signs = 1 - 2 * np.array(list(product((0, 1), repeat=length)))
    return np.asarray(signs[signs.prod(axis=1) == 1])


def pairs_of_signs(length: int) -> Words:
    """Return the vectors with two entries ±1 and zeros: the roots of D_length.
    Shape (2n(n-1), n).
    """
    rows = []
    for i, j in combinations(range(length), 2):
        for a, b in product((1, -1), repeat=2):
            row = np.zeros(length, np.int64)
            row[[i, j]] = a, b
            rows.append(row)
    return np.array(rows)


def signed_words(words: Words, signs: Words) -> Words:
    """Return every word with every row of signs spread over its support; all
    words have one weight.
    """
    support = np.nonzero(words)[1].reshape(len(words), -1)
    vectors = np.zeros((len(words), len(signs), words.shape[1]), np.int64)
    np.put_along_axis(
        vectors, np.broadcast_to(support[:, None], (len(words), *signs.shape)), signs[None], axis=2
    )
    return vectors.reshape(-1, words.shape[1])


@cache
def leech_vectors() -> Array:
    """Return the 196560 shortest vectors of the Leech lattice as unit rows."""
    shape_3 = np.where(np.eye(24, dtype=np.int64)[:, None], -3, 1) * (1 - 2 * golay_words())
    shape_2 = 2 * signed_words(octads(), even_signs(8))
    vectors = np.concatenate([4 * pairs_of_signs(24), shape_2, shape_3.reshape(-1, 24)])
    return unit_rows(vectors)


def barnes_wall_16() -> Array:
    """Return the 4320 shortest vectors of the Barnes-Wall lattice: Leech vectors that vanish on an
    octad.
    """
    words = octads()
    outside = np.flatnonzero(words[0] == 0)
    inside = words[words[:, words[0] == 1].sum(axis=1) == 0][:, outside]
    return unit_rows(
        np.concatenate([4 * pairs_of_signs(16), 2 * signed_words(inside, even_signs(8))])
    )


def cohn_li(dim: int) -> Array:
    """Return Cohn and Li's kissing configuration in 19, 20 or 21 dimensions.

    T has 24 - dim places. The words whose signs are used have their first T places in an even
    number of ones (dim = 21), or zeros on all but three places of T: their distance outside T is
    then at least dim/4.
    """
    zeros = np.flatnonzero(octads()[0])[: 24 - dim]  # inside one octad
    rest = np.setdiff1d(np.arange(24), zeros)
    blocks = octads()
    blocks = blocks[blocks[:, zeros].sum(axis=1) == 0][:, rest]
    odd = even_signs(8) * np.array([-1, 1, 1, 1, 1, 1, 1, 1])
    words = golay_words()
    on_zeros = words[:, zeros]
    fits = on_zeros.sum(axis=1) % 2 == 0 if dim == 21 else on_zeros[:, 3:].sum(axis=1) == 0
    signs = 1 - 2 * words[fits][:, rest]
    lattice = np.concatenate([4 * pairs_of_signs(dim), 2 * signed_words(blocks, odd)])
    return np.concatenate([unit_rows(lattice), unit_rows(signs)])


def laminated(dim: int) -> Array:
    """Return the shortest vectors of a laminated lattice in 17 to 22 dimensions: 5346, 7398, 10668,
    ...

    They are the Leech vectors orthogonal to a copy of the root system E_7, E_6, D_5, D_4, A_3 or
    A_2 among them.
    """
    vectors = leech_vectors()
    anchors = np.empty((0, 24))
    for node, neighbors in enumerate(E7_DIAGRAM[: 24 - dim]):
        cosines = [-0.5 if other in neighbors else 0.0 for other in range(node)]
        anchors = np.concatenate([anchors, vectors[members(vectors, anchors, cosines)[:1]]])
    return section(vectors, anchors, 0.0)


def construction_a(dim: int) -> Array:
    """Return ±e_i and (±1)^4/2 on each word of weight 4: 306, 500, 582, 840 points in 9 to 12
    dimensions.
    """
    words = quadruples(dim)
    signs = np.array(list(product((1, -1), repeat=4)))
    return np.concatenate([with_opposites(np.eye(dim)), signed_words(words, signs) / 2])


def quadruples(dim: int) -> Words:
    """Return words of weight 4 that meet in at most two places, as many as there can be: 18, 30, 35
    or 51.

    In 10 dimensions they are the Steiner system S(3, 4, 10), in 9 its blocks that miss a point.
    Each set is given by the symmetry that turns all cycles by one step and one word of every orbit,
    in hexadecimal digits; those in 11 and 12 dimensions were found by a search with that symmetry.
    The sizes are best possible (Brouwer, Shearer, Sloane, Smith 1990).
    """
    if dim == 9:
        words = quadruples(10)
        return words[words[:, 9] == 0, :9]
    cycles, bases = QUADRUPLES[dim]
    turn = np.arange(dim)
    for cycle in cycles.split():
        places = [int(digit, 16) for digit in cycle]
        turn[places] = np.roll(places, -1)
    blocks: set[tuple[int, ...]] = set()
    for base in bases.split():
        block = np.array([int(digit, 16) for digit in base])
        for _ in range(len(cycles)):
            blocks.add(tuple(int(np.isin(place, block)) for place in range(dim)))
            block = turn[block]
    return np.array(sorted(blocks))
