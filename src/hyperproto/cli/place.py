"""``hyperproto place``: prototypes for K classes in D dimensions."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.prototypes import Prototypes
    from hyperproto.prototypes.priors import Prior

__all__ = ["Place"]


@dataclass
class Place:
    """Place K class prototypes on the sphere in D dimensions, as far apart as we can, and certify them."""

    classes: Annotated[Positional[int | None], arg(metavar="K")] = None
    """Number of classes; left out where --names gives them."""

    dim: Annotated[Positional[int | None], arg(metavar="D")] = None
    """Number of dimensions; the sphere is S^(D-1). With --compare or --max-cosine it is left out."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write the prototypes to this safetensors file."""

    names: Annotated[str | None, arg(metavar="FILE")] = None
    """The class names: a file with one a line, or a list with commas."""

    prior: Annotated[str | None, arg(metavar="FILE")] = None
    """What is known about the classes: word vectors (GloVe or word2vec, also .gz), a .npy of vectors or similarities,
    a taxonomy (child,parent in CSV, or nested folders), or "wordnet". Similar classes are then placed nearer."""

    prior_weight: Annotated[str, arg(metavar="W")] = "auto"
    """How much the prior counts beside separation: a number from 0 on, or auto."""

    missing: str = "error"
    """Names the prior does not know: error, or free to place them without it."""

    confusion: Annotated[str | None, arg(metavar="near|far")] = None
    """The prior is a confusion matrix (.npy): put confusable classes near each other, or far."""

    sweep: bool = False
    """Print separation against meaning for several weights of the prior, and for an assignment."""

    neighbours: Annotated[int | None, arg(metavar="N")] = None
    """Print the N nearest classes of each, in the prior and in the placement side by side."""

    page: Annotated[Path | None, arg(metavar="FILE")] = None
    """Write a page to turn with the mouse: the placed classes, their neighbours, the certificate."""

    method: str = "auto"
    """How to place: auto, codes, optimise, assign, paper or random."""

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
    """Draw it as PNG: the placed classes, the table of --compare, or the trade-off of --sweep."""

    max_cosine: Annotated[float | None, arg(metavar="C")] = None
    """Find the smallest dimension with at most this maximum cosine, and place there."""

    json: bool = False
    """Print for machines."""

    def run(self) -> None:
        """Compare, sweep, suggest or place; save; print."""
        from hyperproto._core.errors import InputError
        from hyperproto._core.files import check_can_write

        for path in (self.output, self.plot, self.page):
            if path is not None:
                check_can_write(path)  # better said now than after the search
        self._read_names()
        if self.compare:
            if self.dim is not None or self.max_cosine is not None or self.output or self.prior or self.page:
                raise InputError(
                    "--compare goes over --dims and places nothing: leave out D, --max-cosine, --prior, --page, -o."
                )
            return self._compare()
        if self.dims is not None:
            raise InputError("--dims goes with --compare. Add it, or leave it out.")
        if self.max_cosine is not None:
            if self.dim is not None:
                raise InputError("--max-cosine finds the dimension: leave D out.")
            self.dim = self._suggest(self.max_cosine)
        if self.dim is None:
            raise InputError("Give the number of dimensions too: hyperproto place K D. Or use --compare.")
        held = self._prior()
        return self._sweep(self.dim, held) if self.sweep else self._place(self.dim, held)

    @property
    def _classes(self) -> "int | tuple[str, ...]":
        return self._names if self._names is not None else self._count

    def _read_names(self) -> None:
        """Settle K, D and the names; with names, the one number is D."""
        from hyperproto._core.errors import InputError
        from hyperproto.cli.names import read_names

        self._names = None if self.names is None else read_names(self.names)
        if self._names is not None:
            if self.dim is not None and self.classes != len(self._names):
                raise InputError(f"--names gives {len(self._names)} classes; got K = {self.classes}. Leave K out.")
            if self.dim is None:
                self.classes, self.dim = len(self._names), self.classes
        if self.classes is None:
            raise InputError("Say how many classes: hyperproto place K D, or --names FILE D.")
        self._count = self.classes

    def _prior(self) -> "Prior | None":
        from typing import cast

        from hyperproto._core.errors import InputError
        from hyperproto._core.registry import choose
        from hyperproto.prototypes.priors import Missing, as_prior, from_confusion
        from hyperproto.prototypes.priors.word_vectors import read_array_file

        if self.prior is None:
            if self.sweep or self.confusion or self.neighbours is not None or self.prior_weight != "auto":
                raise InputError("--sweep, --neighbours, --confusion and --prior-weight go with --prior FILE.")
            return None
        missing = cast(Missing, self.missing)
        if self.confusion is None:
            return as_prior(self.prior, self._names, self._count, missing=missing)
        choose(self.confusion, {"near": 0, "far": 0}, what="place for confusable classes")
        table, _ = read_array_file(Path(self.prior))
        made = from_confusion(table, similar=cast(Any, self.confusion), names=self._names, missing=missing)
        return as_prior(made, self._names, self._count, missing=missing)

    def _weight(self) -> Any:
        from hyperproto._core.errors import InputError

        if self.prior_weight == "auto":
            return "auto"
        try:
            return float(self.prior_weight)
        except ValueError:
            raise InputError(f"--prior-weight must be a number or auto; got {self.prior_weight}.") from None

    def _place(self, dim: int, held: "Prior | None") -> None:
        from hyperproto.cli.place_tables import show_certificate
        from hyperproto.prototypes import place

        prototypes = place(
            self._classes,
            dim,
            prior=held,
            prior_weight=self._weight(),
            missing="free",  # what is missing was settled when the prior was read
            method=self.method,
            effort=self.effort,
            seed=self.seed,
            seconds=self.seconds,
            workers=self.workers,
        )
        if self.output is not None:
            prototypes.save(self.output)
        report = {"classes": self._count, "dim": dim} | prototypes.certificate.to_dict()
        if self._count <= 20_000:  # beyond, every pair takes minutes
            report["separation"] = asdict(prototypes.separation())
        if self.json:
            print(json.dumps(report))
        else:
            show_certificate(report, self.output)
        self._show(prototypes, held)

    def _show(self, prototypes: "Prototypes", held: "Prior | None") -> None:
        """Draw, write the page and print neighbours, where asked to."""
        if self.neighbours is not None and held is not None and not self.json:
            from hyperproto.report import compare_neighbours, print_neighbours

            table = compare_neighbours(prototypes, held.similarity, known=held.known, k=self.neighbours)
            print_neighbours(table)
        if self.plot is None and self.page is None:
            return
        from hyperproto.report import draw_placement, prior_groups, write_placement_page

        title = f"{prototypes.num_classes} classes in {prototypes.dim} dimensions"
        labels = prototypes.names or tuple(str(index) for index in range(prototypes.num_classes))
        groups = None if held is None else prior_groups(held.similarity, labels, known=held.known)
        if self.plot is not None:
            draw_placement(prototypes, self.plot, groups=groups, title=title)
        if self.page is not None:
            known: dict[str, Any] = {} if held is None else {"similarity": held.similarity, "known": held.known}
            write_placement_page(prototypes, self.page, title=title, groups=groups, **known)

    def _sweep(self, dim: int, held: "Prior | None") -> None:
        from rich.console import Console

        from hyperproto.cli.place_tables import show_trade_offs
        from hyperproto.prototypes.sweep import sweep_prior_weight

        with Console(stderr=True).status("placing") as status:
            rows = sweep_prior_weight(
                self._classes,
                dim,
                held,
                effort=self.effort,
                seed=self.seed,
                missing="free",
                progress=lambda what: status.update(f"placing: {what}"),
            )
        if self.plot is not None:
            from hyperproto.report import draw_trade_off

            title = f"{self._count} classes in {dim} dimensions"
            draw_trade_off(rows, self.plot, title=title, bound=rows[0].prototypes.certificate.bound)
        if self.json:
            print(json.dumps([{"label": r.label} | r.prototypes.certificate.to_dict() for r in rows]))
        else:
            show_trade_offs(rows, dim)

    def _suggest(self, max_cosine: float) -> int:
        from rich.console import Console

        from hyperproto.prototypes import suggest_dim

        with Console(stderr=True).status("searching the dimensions"):
            found = suggest_dim(self._count, max_cosine=max_cosine, seed=self.seed)
        if not self.json:
            console = Console()
            console.print(f"{found.dim} dimensions deliver {found.max_cosine:.6f}. Smaller ones would cost:")
            for option in found.smaller:
                console.print(f"  {option.dim:5d}: {option.max_cosine:.6f} (bound {option.bound:.6f})")
        return found.dim

    def _compare(self) -> None:
        from rich.console import Console

        from hyperproto.cli.place_tables import show_comparison
        from hyperproto.prototypes.compare import COMPARED_DIMS, compare_dims

        console = Console(stderr=True)
        with console.status("placing") as status:
            rows = compare_dims(
                self._count,
                self.dims or COMPARED_DIMS,
                effort=self.effort,
                seed=self.seed,
                progress=lambda dim: status.update(f"placing {self._count} in {dim} dimensions"),
            )
        if self.plot is not None:
            from hyperproto.report.separation_plot import draw_separation

            draw_separation(rows, self.plot, num_classes=self._count)
        if self.json:
            print(json.dumps([asdict(row) for row in rows]))
        else:
            show_comparison(rows, self._count)
