"""Shelf 4: a code, the names of the classes it stands for, and where it came from."""

from hyperproto.prototypes.place import place
from hyperproto.prototypes.prototypes import Prototypes

__all__ = ["Prototypes", "place"]
