"""``hyperproto place``: prototypes for K classes in D dimensions."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from hyperproto.priors import Prior
    from hyperproto.prototypes import Prototypes
    from hyperproto.report import NeighborTable

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
    """The prior is a confusion matrix (.npy or CSV): put confusable classes near each other, or far."""

    sweep: bool = False
    """Print separation against meaning for several weights of the prior, and for an assignment."""

    neighbours: Annotated[int | None, arg(metavar="N")] = None
    """Print the N nearest classes of each, in the prior and in the placement side by side."""

    of: Annotated[str | None, arg(metavar="NAMES")] = None
    """The classes to print neighbours of, a list with commas; the first ten unless given."""

    page: Annotated[Path | None, arg(metavar="FILE")] = None
    """Write a page to turn with the mouse: the placed classes, their neighbours, the certificate."""

    method: str = "auto"
    """How to place: auto, codes, optimize, project, assign, paper or random."""

    effort: str = "balanced"
    """How much to search: fast, balanced or thorough."""

    reserve: Annotated[int, arg(metavar="N")] = 0
    """Keep room for N classes to come, for --extend."""

    extend: Annotated[Path | None, arg(metavar="FILE")] = None
    """Add the classes of --names, or K, to the prototypes of this file, which stay as they are."""

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
    """Draw it as PNG or SVG: the placed classes, the table of --compare, or the trade-off of --sweep."""

    max_cosine: Annotated[float | None, arg(metavar="C")] = None
    """Find the smallest dimension with at most this maximum cosine, and place there."""

    json: bool = False
    """Print for machines."""

    def run(self) -> None:
        """Compare, sweep, suggest or place; save; print."""
        from hyperproto._core.errors import InputError
        from hyperproto.cli.place_inputs import read_prior
        from hyperproto.cli.place_modes import compare, extend, suggest, sweep

        self._check()
        if self.extend is not None:
            return extend(self, self.extend)
        self._read_names()
        if self.compare:
            placing = self.output or self.prior or self.page or self.reserve
            if self.dim is not None or self.max_cosine is not None or placing:
                raise InputError(
                    "--compare goes over --dims and places nothing: leave out D, --max-cosine, --prior, --page, "
                    "--reserve, -o."
                )
            return compare(self, self._count)
        if self.dims is not None:
            raise InputError("--dims goes with --compare. Add it, or leave it out.")
        if self.max_cosine is not None:
            if self.dim is not None:
                raise InputError("--max-cosine finds the dimension: leave D out.")
            if self.prior is not None:
                raise InputError("--max-cosine finds a dimension for separation alone: leave --prior out, or give D.")
            self.dim = suggest(self, self._count, self.max_cosine)
        if self.dim is None:
            if self.prior is not None:
                raise InputError("Give the names that the prior is for, too: --names FILE D.")
            raise InputError("Give the number of dimensions too: hyperproto place K D. Or use --compare.")
        held = read_prior(self, self._names, self._count)
        if self.sweep:
            return sweep(self, self._classes, self.dim, held)
        return self._place(self.dim, held)

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

    def _check(self) -> None:
        """Say what does not go together, and what cannot be written; better now than after the search."""
        from hyperproto.cli.place_inputs import check_goes_with_prior, check_outputs, check_sweep

        check_outputs(self)
        check_goes_with_prior(self)
        check_sweep(self)

    def _place(self, dim: int, held: "Prior | None") -> None:
        from hyperproto.cli.place_inputs import read_weight
        from hyperproto.cli.place_tables import show_certificate
        from hyperproto.prototypes import place
        from hyperproto.report import print_neighbors

        prototypes = place(
            self._classes,
            dim,
            prior=held,
            prior_weight=read_weight(self.prior_weight),
            missing="free",  # what is missing was settled when the prior was read
            method=self.method,
            effort=self.effort,
            seed=self.seed,
            seconds=self.seconds,
            workers=self.workers,
            reserve=self.reserve,
        )
        if self.output is not None:
            prototypes.save(self.output)
        report = {"classes": self._count, "dim": dim} | prototypes.certificate.to_dict()
        if self._count <= 20_000:  # beyond, every pair takes minutes
            report["separation"] = asdict(prototypes.separation())
        table = self._neighbours(prototypes, held)
        if self.json:
            print(json.dumps(report | ({} if table is None else {"neighbours": asdict(table)["rows"]})))
        else:
            show_certificate(report, self.output)
            if table is not None:
                print_neighbors(table, limit=10 if self.of is None else len(table.rows))
        self._draw(prototypes, held)

    def _neighbours(self, prototypes: "Prototypes", held: "Prior | None") -> "NeighborTable | None":
        from hyperproto.report import compare_neighbors

        if self.neighbours is None or held is None:
            return None
        of = None if self.of is None else [name.strip() for name in self.of.split(",") if name.strip()]
        return compare_neighbors(prototypes, held.similarity, known=held.known, classes=of, k=self.neighbours)

    def _draw(self, prototypes: "Prototypes", held: "Prior | None") -> None:
        """Draw and write the page, where asked to."""
        if self.plot is None and self.page is None:
            return
        from hyperproto.report import draw_placement, prior_groups, write_placement_page

        title = f"{prototypes.num_classes} classes in {prototypes.dim} dimensions"
        labels = prototypes.names or tuple(str(index) for index in range(prototypes.num_classes))
        groups = None if held is None else prior_groups(held.similarity, labels, known=held.known)
        if self.plot is not None:
            draw_placement(prototypes, self.plot, groups=groups, title=title)
            self._written(self.plot)
        if self.page is not None:
            known: dict[str, Any] = {} if held is None else {"similarity": held.similarity, "known": held.known}
            write_placement_page(prototypes, self.page, title=title, groups=groups, **known)
            self._written(self.page)

    def _written(self, path: Path) -> None:
        if not self.json:
            print(f"Written: {path}")
