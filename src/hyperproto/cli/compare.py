"""``hyperproto compare``: the separation of K classes over many dimensions."""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from hyperproto.cli.place import SearchOptions, check_outputs


@dataclass
class Compare(SearchOptions):
    """Compare dimensions for K classes: maximum cosines of ours, the bound, the paper's method and chance."""

    KEYWORDS: ClassVar = {"dim": "dims"}

    classes: Annotated[Positional[int], arg(metavar="K")]
    """Number of classes."""

    dims: Annotated[tuple[int, ...], arg(metavar="D")] = (2, 3, 5, 10, 25, 50, 100)
    """The dimensions to compare."""

    def run(self) -> None:
        """Place in every dimension, draw, print."""
        from rich.table import Table

        from hyperproto._core.progress import progress_bar
        from hyperproto.cli.console import table_console
        from hyperproto.prototypes.explore import compare_dims

        check_outputs(picture=self.plot)
        with progress_bar("placing") as bar:
            rows = compare_dims(
                self.classes,
                self.dims,
                effort=self.effort,
                seed=self.seed,
                workers=self.workers,
                progress=lambda what: bar.update(0, description=f"placing {what}"),
            )
        if self.plot is not None:
            from hyperproto.report.plots import draw_separation

            draw_separation(rows, self.plot, num_classes=self.classes)
        if self.json:
            print(json.dumps([asdict(row) for row in rows]))
            return
        table = Table(
            title=f"Maximum cosine of {self.classes} prototypes: smaller is better, nothing beats the bound"
        )
        for heading in ("D", "ours", "bound", "the paper's method", "random"):
            table.add_column(heading, justify="right")
        table.add_column("how ours was made")
        for row in rows:
            numbers = (row.ours, row.bound, row.paper, row.random)
            table.add_row(str(row.dim), *(f"{value:.6f}" for value in numbers), row.method)
        table_console().print(table)
