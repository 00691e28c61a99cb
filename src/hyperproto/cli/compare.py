"""``hyperproto compare`` and ``sweep``: the separation over many dimensions, and over weights of a
prior.
"""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from hyperproto.cli.console import print_table
from hyperproto.cli.place import PriorOptions, WorkerOptions, read_classes


@dataclass
class Compare(WorkerOptions):
    """Compare dimensions for K classes: maximum cosines of ours, the bound, the paper's method and
    chance.
    """

    KEYWORDS: ClassVar = {"dim": "dims"}

    classes: Annotated[Positional[int], arg(metavar="K")]
    """Number of classes."""

    dims: Annotated[tuple[int, ...], arg(metavar="D")] = (2, 3, 5, 10, 25, 50, 100)
    """The dimensions to compare."""

    def run(self) -> None:
        """Place in every dimension, print."""
        from hyperproto.prototypes.explore import compare_dims

        rows = compare_dims(
            self.classes, self.dims, effort=self.effort, seed=self.seed, workers=self.workers
        )
        if self.json:
            print(json.dumps([asdict(row) for row in rows]))
            return
        title = (
            f"Maximum cosine of {self.classes} prototypes: smaller is better, nothing beats the "
            "bound"
        )
        numbers = "D", "ours", "bound", "the paper's method", "random"
        cells = []
        for row in rows:
            cosines = (f"{value:.6f}" for value in (row.ours, row.bound, row.paper, row.random))
            cells.append((str(row.dim), *cosines, row.method))
        print_table(cells, *numbers, "how ours was made", title=title, numbers=numbers)


@dataclass
class Sweep(PriorOptions, WorkerOptions):
    """Place with several weights of a prior: separation against agreement with it. Nothing is
    written.
    """

    classes: Annotated[Positional[str], arg(metavar="CLASSES")]
    """The names of the classes: a file with one per line, or a list with
    commas; or their number.
    """

    dim: Annotated[Positional[int], arg(metavar="D")]
    """Number of dimensions."""

    prior: Annotated[str, arg(metavar="FILE")]
    """What is known about the classes, as for hyperproto place."""

    def run(self) -> None:
        """Place with every weight, print."""
        from hyperproto.prototypes.explore import sweep_prior_weight

        rows = sweep_prior_weight(
            read_classes(self.classes),
            self.dim,
            self.prior,
            effort=self.effort,
            seed=self.seed,
            workers=self.workers,
            missing=self.missing,
        )
        if self.json:
            print(
                json.dumps(
                    [{"label": label} | placed.certificate.to_dict() for label, placed in rows]
                )
            )
            return
        count = rows[0][1].num_classes
        title = (
            f"{count} prototypes in {self.dim} dimensions: separation against agreement with the "
            "prior"
        )
        numbers, cells = (
            ("weight", "maximum cosine", "ranked right by .01", "Spearman", "Eq. 6"),
            [],
        )
        for label, placed in rows:
            agreement = placed.certificate.prior_agreement
            assert agreement is not None
            separated = f"{agreement.weight:.3g}", f"{placed.certificate.max_cosine:.4f}"
            agreed = (
                f"{100 * agreement.ranked_by_margin:.1f} %",
                f"{agreement.spearman:.3f}",
                f"{agreement.loss:.4f}",
            )
            cells.append((label, *separated, *agreed))
        print_table(cells, "placement", *numbers, title=title, numbers=numbers)
