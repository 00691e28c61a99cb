"""Codes at 60 degrees (cosine 1/2): arrangements of spheres that touch a central one.

Shapes over a binary code, in Conway and Sloane's Construction A (chapter 5): all ±2 at one place, and ±1 on
every word of weight 4 with all 16 signs. Words of weight 4 that meet in at most two places make all cosines
<= 1/2.

Cohn and Li, "Kissing number in dimensions 17 through 21" (2024): Leech vectors that vanish on a set T of
places are (±4, ±4) and octads disjoint from T with an *even* number of minus signs. With an *odd* number the
cosines are as good, and the vectors (±1)^n whose signs come from the Golay code no longer come near: they may
join.
"""

from itertools import product

import numpy as np

from hyperproto.codes.algebra.golay import (
    Words,
    even_signs,
    golay_words,
    leech_vectors,
    octads,
    pairs_of_signs,
    signed_words,
)
from hyperproto.codes.algebra.section import members, section
from hyperproto.codes.algebra.vectors import unit_rows, with_opposites
from hyperproto.codes.code import Array

__all__ = ["barnes_wall_16", "cohn_li", "construction_a", "laminated", "quadruples"]


def barnes_wall_16() -> Array:
    """Return the 4320 shortest vectors of the Barnes-Wall lattice: Leech vectors that vanish on an octad."""
    words = octads()
    outside = np.flatnonzero(words[0] == 0)
    inside = words[words[:, words[0] == 1].sum(axis=1) == 0][:, outside]
    return unit_rows(np.concatenate([4 * pairs_of_signs(16), 2 * signed_words(inside, even_signs(8))]))


def cohn_li(dim: int) -> Array:
    """Return Cohn and Li's kissing configuration in 19, 20 or 21 dimensions.

    T has 24 - dim places. The words whose signs are used have their first T places in an even number of ones
    (dim = 21), or zeros on all but three places of T: their distance outside T is then at least dim/4.
    """
    zeros = _places(24 - dim)
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


def _places(count: int) -> list[int]:
    """Return ``count`` places inside one octad."""
    return [int(place) for place in np.flatnonzero(octads()[0])[:count]]


def laminated(dim: int) -> Array:
    """Return the shortest vectors of a laminated lattice in 17 to 22 dimensions: 5346, 7398, 10668, ...

    They are the Leech vectors orthogonal to a copy of the root system E_7, E_6, D_5, D_4, A_3 or A_2 among
    them.
    """
    vectors = leech_vectors()
    anchors = np.empty((0, 24))
    for node, neighbours in enumerate(E7_DIAGRAM[: 24 - dim]):
        wanted = [-0.5 if other in neighbours else 0.0 for other in range(node)]
        anchors = np.concatenate([anchors, vectors[members(vectors, anchors, wanted)[:1]]])
    return section(vectors, anchors, 0.0)


E7_DIAGRAM = (
    (),
    (0,),
    (1,),
    (1,),
    (2,),
    (3,),
    (4,),
)  # earlier neighbours: a chain of six, the seventh on the third


def construction_a(dim: int) -> Array:
    """Return ±e_i and (±1)^4/2 on each word of weight 4: 306, 500, 582, 840 points in 9 to 12 dimensions."""
    words = quadruples(dim)
    signs = np.array(list(product((1, -1), repeat=4)))
    return np.concatenate([with_opposites(np.eye(dim)), signed_words(words, signs) / 2])


def quadruples(dim: int) -> Words:
    """Return words of weight 4 that meet in at most two places, as many as there can be: 18, 30, 35 or 51.

    In 10 dimensions they are the Steiner system S(3, 4, 10), in 9 its blocks that miss a point. Each set is
    given by the symmetry that turns all cycles by one step and one word of every orbit, in hexadecimal
    digits; those in 11 and 12 dimensions were found by a search with that symmetry. The sizes are best
    possible (Brouwer, Shearer, Sloane, Smith 1990).
    """
    if dim == 9:
        words = quadruples(10)
        return words[words[:, 9] == 0, :9]
    cycles, bases = QUADRUPLES[dim]
    turn = np.arange(dim)
    for cycle in cycles.split():
        places = [int(digit, 16) for digit in cycle]
        turn[places] = np.roll(places, -1)
    found: set[tuple[int, ...]] = set()
    for base in bases.split():
        block = np.array([int(digit, 16) for digit in base])
        for _ in range(len(cycles)):
            found.add(tuple(int(np.isin(place, block)) for place in range(dim)))
            block = turn[block]
    return np.array(sorted(found))


QUADRUPLES = {
    10: ("0123456789", "0134 0126 0247"),
    11: ("012 345 678", "012a 0146 0158 0179 0359 037a 045a 0489 0567 068a 3467 389a 6789"),
    12: (
        "012 345 678 9ab",
        "0134 0157 0168 019b 036b 037a 0389 0459 047b 048a 056a 058b 0679 3468 349a 38ab 67ab",
    ),
}
