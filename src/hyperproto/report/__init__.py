"""Shelf 9: pictures and pages, made from data alone."""

from hyperproto.report.groups import prior_groups
from hyperproto.report.neighbour_print import print_neighbours
from hyperproto.report.neighbours import NeighbourRow, NeighbourTable, compare_neighbours
from hyperproto.report.placement_page import write_placement_page
from hyperproto.report.placement_picture import draw_placement
from hyperproto.report.projection import Projection, project
from hyperproto.report.sphere_page import write_sphere_page
from hyperproto.report.sphere_picture import draw_sphere
from hyperproto.report.sphere_view import SphereView
from hyperproto.report.trade_off_plot import draw_trade_off

__all__ = [
    "NeighbourRow",
    "NeighbourTable",
    "Projection",
    "SphereView",
    "compare_neighbours",
    "draw_placement",
    "draw_sphere",
    "draw_trade_off",
    "print_neighbours",
    "prior_groups",
    "project",
    "write_placement_page",
    "write_sphere_page",
]
