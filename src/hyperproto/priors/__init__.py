"""What people know about their classes, as a similarity that placement can use.

Word vectors, a taxonomy, WordNet, a similarity or a confusion matrix, the training examples themselves: each becomes
a :class:`Prior`. `as_prior` tells them apart by looking, but for the examples; the ``from_`` functions say outright
what is meant.
"""

from hyperproto.priors.accept import as_prior
from hyperproto.priors.examples import from_data
from hyperproto.priors.matrices import from_confusion, from_similarity
from hyperproto.priors.prior import Missing, Prior
from hyperproto.priors.taxonomy import from_taxonomy
from hyperproto.priors.vectors import from_vectors
from hyperproto.priors.word_vectors import from_word_vectors
from hyperproto.priors.wordnet import from_wordnet

__all__ = [
    "Missing",
    "Prior",
    "as_prior",
    "from_confusion",
    "from_data",
    "from_similarity",
    "from_taxonomy",
    "from_vectors",
    "from_word_vectors",
    "from_wordnet",
]
