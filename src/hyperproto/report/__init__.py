"""Shelf 9: pictures and pages, made from data alone."""

from hyperproto.report.sphere_page import write_sphere_page
from hyperproto.report.sphere_picture import draw_sphere
from hyperproto.report.sphere_view import SphereView

__all__ = ["SphereView", "draw_sphere", "write_sphere_page"]
