"""Shelf 2: K points on the sphere S^(D-1), as numpy arrays. Nothing here knows about classes, or torch."""
