"""Shelf 12: the command line. One file per verb: parse, call, print. No mathematics; no torch until
a verb runs.
"""
