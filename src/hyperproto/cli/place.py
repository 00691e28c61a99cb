"""``hyperproto place``: prototypes for K classes in D dimensions."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.prototypes.compare import Comparison

__all__ = ["Place"]


@dataclass
class Place:
    """Place K class prototypes on the sphere in D dimensions, as far apart as we can, and certify them."""

    classes: Annotated[Positional[int], arg(metavar="K")]
    """Number of classes."""

    dim: Annotated[Positional[int | None], arg(metavar="D")] = None
    """Number of dimensions; the sphere is S^(D-1). With --compare or --max-cosine it is left out."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write the prototypes to this safetensors file."""

    method: str = "auto"
    """How to place: auto, codes, optimise, paper or random."""

    effort: str = "balanced"
    """How much to search: fast, balanced or thorough."""

    seed: int = 0
    """Fixes the result bit for bit."""

    seconds: Annotated[float | None, arg(metavar="S")] = None
    """End the search after this time; the seed alone then no longer fixes the result."""

    workers: Annotated[int | None, arg(metavar="N")] = None
    """Processes to search with; all cores unless given."""

    compare: bool = False
    """Print a table over many dimensions: ours, the bound, the paper's method, random."""

    dims: Annotated[tuple[int, ...] | None, arg(metavar="D")] = None
    """The dimensions to compare."""

    plot: Annotated[Path | None, arg(metavar="FILE")] = None
    """With --compare: draw the table as PNG."""

    max_cosine: Annotated[float | None, arg(metavar="C")] = None
    """Find the smallest dimension with at most this maximum cosine, and place there."""

    json: bool = False
    """Print for machines."""

    def run(self) -> None:
        """Compare, suggest or place; save; print."""
        from hyperproto._core.errors import InputError
        from hyperproto._core.files import check_can_write

        for path in (self.output, self.plot):
            if path is not None:
                check_can_write(path)  # better said now than after the search
        if self.compare:
            if self.dim is not None or self.max_cosine is not None or self.output is not None:
                raise InputError("--compare goes over --dims, and places nothing: leave D, --max-cosine and -o out.")
            return self._compare()
        if self.dims is not None or self.plot is not None:
            raise InputError("--dims and --plot go with --compare. Add it, or leave them out.")
        if self.max_cosine is not None:
            if self.dim is not None:
                raise InputError("--max-cosine finds the dimension: leave D out.")
            self.dim = self._suggest(self.max_cosine)
        if self.dim is None:
            raise InputError("Give the number of dimensions too: hyperproto place K D. Or use --compare.")
        return self._place(self.dim)

    def _place(self, dim: int) -> None:
        from hyperproto.prototypes import place

        prototypes = place(
            self.classes,
            dim,
            method=self.method,
            effort=self.effort,
            seed=self.seed,
            seconds=self.seconds,
            workers=self.workers,
        )
        if self.output is not None:
            prototypes.save(self.output)
        report = {"classes": self.classes, "dim": dim} | prototypes.certificate.to_dict()
        if self.classes <= 20_000:  # beyond, every pair takes minutes
            report["separation"] = asdict(prototypes.separation())
        if self.json:
            print(json.dumps(report))
        else:
            _show_certificate(report, self.output)

    def _suggest(self, max_cosine: float) -> int:
        from rich.console import Console

        from hyperproto.prototypes import suggest_dim

        with Console(stderr=True).status("searching the dimensions"):
            found = suggest_dim(self.classes, max_cosine=max_cosine, seed=self.seed)
        if not self.json:
            console = Console()
            console.print(f"{found.dim} dimensions deliver {found.max_cosine:.6f}. Smaller ones would cost:")
            for option in found.smaller:
                console.print(f"  {option.dim:5d}: {option.max_cosine:.6f} (bound {option.bound:.6f})")
        return found.dim

    def _compare(self) -> None:
        from rich.console import Console

        from hyperproto.prototypes.compare import COMPARED_DIMS, compare_dims

        console = Console(stderr=True)
        with console.status("placing") as status:
            rows = compare_dims(
                self.classes,
                self.dims or COMPARED_DIMS,
                effort=self.effort,
                seed=self.seed,
                progress=lambda dim: status.update(f"placing {self.classes} in {dim} dimensions"),
            )
        if self.plot is not None:
            from hyperproto.report.separation_plot import draw_separation

            draw_separation(rows, self.plot, num_classes=self.classes)
        if self.json:
            print(json.dumps([asdict(row) for row in rows]))
        else:
            _show_comparison(rows, self.classes)


def _show_certificate(report: dict[str, Any], output: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{report['classes']} prototypes in {report['dim']} dimensions", show_header=False)
    rows = {
        "maximum cosine": f"{report['max_cosine']:.9f}",
        "lower bound": f"{report['bound']:.9f}",
        "gap": f"{report['gap']:.3g}",
        "optimal": f"{'proved' if report['proved'] else 'not proved'}: {report['proof']}",
        "measured": report["measured"],
        "method": report["method"],
        "seed": "none needed" if report["seed"] is None else str(report["seed"]),
    }
    if "separation" in report:
        rows["cosine distance"] = "min {min:.4f}, mean {mean:.4f}, max {max:.4f}".format(**report["separation"])
    if report["remark"]:
        rows["remark"] = report["remark"]
    if output is not None:
        rows["written to"] = str(output)
    for name, value in rows.items():
        table.add_row(name, value)
    Console().print(table)


def _show_comparison(rows: "list[Comparison]", classes: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Maximum cosine of {classes} prototypes: smaller is better, nothing beats the bound")
    for heading in ("D", "ours", "bound", "the paper's method", "random"):
        table.add_column(heading, justify="right")
    table.add_column("how ours was made")
    for row in rows:
        numbers = (row.ours, row.bound, row.paper, row.random)
        table.add_row(str(row.dim), *(f"{value:.6f}" for value in numbers), row.method)
    Console().print(table)
