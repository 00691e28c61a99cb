"""Shelf 9: pictures and pages, made from data alone."""

from hyperproto.report.groups import prior_groups
from hyperproto.report.neighbors import NeighborRow, NeighborTable, compare_neighbors, print_neighbors
from hyperproto.report.placement_page import write_placement_page
from hyperproto.report.projection import Projection, project
from hyperproto.report.sphere_view import SphereView, draw_sphere, write_sphere_page

__all__ = [
    "NeighborRow",
    "NeighborTable",
    "Projection",
    "SphereView",
    "compare_neighbors",
    "draw_sphere",
    "print_neighbors",
    "prior_groups",
    "project",
    "write_placement_page",
    "write_sphere_page",
]
