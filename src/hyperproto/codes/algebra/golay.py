"""The binary Golay code and the Leech lattice's shortest vectors, from their definitions.

The extended quadratic-residue code of length 24 is the Golay code: 4096 words, weights 0, 8, 12, 16, 24; its
759 words of weight 8, the octads, form the Steiner system S(5, 8, 24). In coordinates scaled by sqrt(8) the
196560 shortest vectors of the Leech lattice (norm 32) are

- 1104 of shape (±4^2, 0^22),
- 97152 of shape (±2^8, 0^16): on an octad, with an even number of minus signs,
- 98304 of shape (∓3, ±1^23): upper signs on a codeword.

Conway, Sloane, "Sphere Packings, Lattices and Groups", chapters 3, 4, 10 and 11.
"""

from functools import cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hyperproto.codes.algebra.vectors import unit_rows
from hyperproto.codes.code import Array

__all__ = [
    "Words",
    "even_signs",
    "golay_words",
    "hexads",
    "leech_vectors",
    "octads",
    "pairs_of_signs",
    "signed_words",
]

Words = NDArray[np.int64]


@cache
def golay_words() -> Words:
    """Return the 4096 words of the extended Golay code. Shape (4096, 24), entries 0 and 1."""
    residues = {x * x % 23 for x in range(1, 23)}
    idempotent = np.array([int(x in residues) for x in range(23)])  # the sum of x^r over the squares r
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
    """Return the 77 blocks of S(3, 6, 22): the octads through the last two points, without these."""
    blocks = octads()
    return blocks[(blocks[:, 22:] == 1).all(axis=1), :22]


def even_signs(length: int) -> Words:
    """Return all vectors of signs with an even number of minus signs. Shape (2^(length-1), length)."""
    signs = 1 - 2 * np.array(list(product((0, 1), repeat=length)))
    return np.asarray(signs[signs.prod(axis=1) == 1])


def pairs_of_signs(length: int) -> Words:
    """Return the vectors with two entries ±1 and zeros: the roots of D_length. Shape (2n(n-1), n)."""
    rows = []
    for i, j in combinations(range(length), 2):
        for a, b in product((1, -1), repeat=2):
            row = np.zeros(length, np.int64)
            row[[i, j]] = a, b
            rows.append(row)
    return np.array(rows)


def signed_words(words: Words, signs: Words) -> Words:
    """Return every word with every row of signs spread over its support; all words have one weight."""
    support = np.nonzero(words)[1].reshape(len(words), -1)
    vectors = np.zeros((len(words), len(signs), words.shape[1]), np.int64)
    np.put_along_axis(vectors, np.broadcast_to(support[:, None], (len(words), *signs.shape)), signs[None], axis=2)
    return vectors.reshape(-1, words.shape[1])


@cache
def leech_vectors() -> Array:
    """Return the 196560 shortest vectors of the Leech lattice as unit rows."""
    shape_3 = np.where(np.eye(24, dtype=np.int64)[:, None], -3, 1) * (1 - 2 * golay_words())
    shape_2 = 2 * signed_words(octads(), even_signs(8))
    vectors = np.concatenate([4 * pairs_of_signs(24), shape_2, shape_3.reshape(-1, 24)])
    return unit_rows(vectors)
