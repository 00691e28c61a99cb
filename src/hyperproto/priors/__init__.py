"""Shelf 3: what people know about their classes, as a similarity that placement can use.

Word vectors, a taxonomy, WordNet, a similarity matrix, the training examples themselves: each becomes a
:class:`Prior` by a ``from_`` function of its own, and `as_prior` recognizes all but the training examples.
"""

from hyperproto.priors.accept import as_prior
from hyperproto.priors.data_driven import from_data
from hyperproto.priors.prior import Missing, Prior
from hyperproto.priors.taxonomy import from_taxonomy, from_wordnet
from hyperproto.priors.vectors import from_similarity, from_vectors

__all__ = [
    "Missing",
    "Prior",
    "as_prior",
    "from_data",
    "from_similarity",
    "from_taxonomy",
    "from_vectors",
    "from_wordnet",
]
