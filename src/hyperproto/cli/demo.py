"""``hyperproto demo``: classify and regress on one sphere, and draw it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

if TYPE_CHECKING:
    from hyperproto.data import Arrays
    from hyperproto.report import SphereView
    from hyperproto.reproduction.rotated_digits import Row

__all__ = ["Demo"]


@dataclass
class Demo:
    """Train the paper's joint task and a multi-task baseline on rotated digits, and draw the sphere."""

    output: Annotated[Path, arg(aliases=["-o"])] = Path("demo")
    """Folder for the pictures and pages; those of an earlier demo are replaced."""

    epochs: int | None = None
    """Passes over the training images (default: 3)."""

    seed: int = 0
    """Fixes the split, the rotations, the weights and the order."""

    def run(self) -> None:
        """Train, print one table, write a picture and a page."""
        from rich.console import Console

        from hyperproto._core.errors import InputError
        from hyperproto._core.extras import require
        from hyperproto.report import draw_sphere, write_sphere_page
        from hyperproto.reproduction.rotated_digits import EPOCHS, compare

        for module in ("matplotlib", "plotly"):  # better to know now than after the training
            require(module, extra="plots", purpose="The demo")
        if self.output.exists() and not self.output.is_dir():
            raise InputError(f'"{self.output}"', "be a folder", "a file", "Choose another name.")
        self.output.mkdir(parents=True, exist_ok=True)
        rows, test = compare(epochs=EPOCHS if self.epochs is None else self.epochs, seed=self.seed)
        _print_table(rows)
        console = Console()
        for index, row in enumerate(rows):
            if (view := _view(row, test, self.seed)) is not None:
                stem = self.output / f"sphere-{index + 1}"
                draw_sphere(view, stem.with_suffix(".png"))
                write_sphere_page(view, stem.with_suffix(".html"), title=f"Rotated digits on {row.name}")
                console.print(f"{row.name}: {stem}.png, and to turn with the mouse {stem}.html", soft_wrap=True)


def _print_table(rows: "list[Row]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Rotated digits 2, 3, 4, 5, 7: held-out quarter")
    table.add_column("output space")
    for heading in ("digit, accuracy", "angle, mean error", "training"):
        table.add_column(heading, justify="right")
    for row in rows:
        measures = (f"{100 * row.accuracy:.1f} %", f"{row.mae:.1f}°") if row.run else ("diverged", "diverged")
        table.add_row(row.name, *measures, f"{row.seconds:.0f} s")
    Console().print(table)


def _view(row: "Row", test: "Arrays", seed: int) -> "SphereView | None":
    """Return what there is to draw where the output space is a sphere, else None."""
    from hyperproto.report import SphereView
    from hyperproto.reproduction.rotated_digits import DIGITS, held_out_pictures, outputs_on_sphere
    from hyperproto.spaces import Sphere

    if row.run is None or not isinstance(row.run.space, Sphere):
        return None
    prototypes = row.run.space.prototypes_by_task()
    assert isinstance(test.targets, dict)
    return SphereView(
        points=outputs_on_sphere(row.run, test.inputs).double().numpy(),
        labels=test.targets["digit"].numpy(),
        values=test.targets["angle"].double().numpy(),
        prototypes=prototypes["digit"].vectors.double().numpy(force=True),
        names=tuple(DIGITS),
        value_name="angle in degrees",
        images=(held_out_pictures(seed) * 255).byte().numpy(),
    )
