"""Shelf 0: errors and their wording, choices, files, seeds. Imports neither torch nor any other
shelf.
"""
