"""Algebraic spherical codes: exact constructions, and a registry that says which one serves K
points in D.
"""
