"""Shelf 11: the paper's tables and figures; each module reads like the one it rebuilds."""
