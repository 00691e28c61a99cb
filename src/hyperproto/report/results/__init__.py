"""Tables, figures and pages of experiments, from records alone."""

from hyperproto.report.results.grid import Grid, make_grid
from hyperproto.report.results.terminal import print_grid
from hyperproto.report.results.write import write_report

__all__ = ["Grid", "make_grid", "print_grid", "write_report"]
