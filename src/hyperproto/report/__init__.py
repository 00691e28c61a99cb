"""Shelf 10: pictures and pages, made from data alone."""

from hyperproto.report.placement_page import write_placement_page
from hyperproto.report.projection import Projection, project
from hyperproto.report.run_page import write_run_page
from hyperproto.report.sphere_view import SphereView, draw_sphere, write_sphere_page

__all__ = [
    "Projection",
    "SphereView",
    "draw_sphere",
    "project",
    "write_placement_page",
    "write_run_page",
    "write_sphere_page",
]
