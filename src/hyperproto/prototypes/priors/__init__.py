"""What people know about their classes, as a similarity that placement can use.

Word vectors, a taxonomy, WordNet, a similarity or a confusion matrix, the training examples themselves: each becomes
a :class:`Prior`. `as_prior` tells them apart by looking, but for the examples; the ``from_`` functions say outright
what is meant.
"""

from hyperproto.prototypes.priors.accept import as_prior
from hyperproto.prototypes.priors.examples import from_examples
from hyperproto.prototypes.priors.matrices import from_confusion, from_similarity
from hyperproto.prototypes.priors.prior import Missing, Prior
from hyperproto.prototypes.priors.taxonomy import from_taxonomy
from hyperproto.prototypes.priors.vectors import from_vectors
from hyperproto.prototypes.priors.word_vectors import from_word_vectors
from hyperproto.prototypes.priors.wordnet import from_wordnet

__all__ = [
    "Missing",
    "Prior",
    "as_prior",
    "from_confusion",
    "from_examples",
    "from_similarity",
    "from_taxonomy",
    "from_vectors",
    "from_word_vectors",
    "from_wordnet",
]
