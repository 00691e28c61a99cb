"""Shelf 3: a code, the names of the classes it stands for, and where it came from."""

from hyperproto.prototypes.place import place
from hyperproto.prototypes.prototypes import Prototypes
from hyperproto.prototypes.suggest import Suggestion, separation_bound, suggest_dim

__all__ = ["Prototypes", "Suggestion", "place", "separation_bound", "suggest_dim"]
