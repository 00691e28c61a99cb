"""Shelf 3: what people know about their classes, as a similarity that placement can use.

Word vectors, a taxonomy, WordNet, a similarity matrix, the training examples themselves: each
becomes a :class:`Prior` by a ``from_`` function of its own, and `as_prior` recognizes all but the
training examples.
"""

from typing import TYPE_CHECKING, Any

from hyperproto.priors.accept import as_prior
from hyperproto.priors.prior import Prior
from hyperproto.priors.taxonomy import from_taxonomy, from_wordnet
from hyperproto.priors.vectors import from_similarity, from_vectors

if TYPE_CHECKING:
    from hyperproto.priors.data_driven import from_data

__all__ = [
    "Prior",
    "as_prior",
    "from_data",
    "from_similarity",
    "from_taxonomy",
    "from_vectors",
    "from_wordnet",
]


def __getattr__(name: str) -> Any:
    if name != "from_data":
        raise AttributeError(f"module 'hyperproto.priors' has no attribute {name!r}")
    from hyperproto.priors.data_driven import from_data  # it looks at examples, and loads torch

    return from_data
