"""``hyperproto sweep``: what a prior costs in separation, over several weights."""

import json
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from hyperproto.cli.place import PriorOptions, check_outputs, read_classes, read_prior


@dataclass
class Sweep(PriorOptions):
    """Place with several weights of a prior: separation against agreement with it. Nothing is written."""

    classes: Annotated[Positional[str], arg(metavar="CLASSES")]
    """The names of the classes: a file with one per line, or a list with commas; or their number."""

    dim: Annotated[Positional[int], arg(metavar="D")]
    """Number of dimensions."""

    prior: Annotated[str, arg(metavar="FILE")]
    """What is known about the classes, as for hyperproto place."""

    def run(self) -> None:
        """Place with every weight, draw, print."""
        from rich.table import Table

        from hyperproto._core.progress import progress_bar
        from hyperproto.cli.console import table_console
        from hyperproto.prototypes.explore import sweep_prior_weight

        check_outputs(picture=self.plot)
        classes = read_classes(self.classes)
        prior = read_prior(self.prior, classes, missing=self.missing, confusion=self.confusion)
        with progress_bar("placing") as bar:
            rows = sweep_prior_weight(
                classes,
                self.dim,
                prior,
                effort=self.effort,
                seed=self.seed,
                workers=self.workers,
                missing="free",
                progress=lambda what: bar.update(0, description=f"placing: {what}"),
            )
        certificates = [row.prototypes.certificate for row in rows]
        title = f"{rows[0].prototypes.num_classes} prototypes in {self.dim} dimensions"
        if self.plot is not None:
            from hyperproto.report import draw_trade_off

            draw_trade_off(rows, self.plot)
        if self.json:
            print(json.dumps([{"label": row.label} | row.prototypes.certificate.to_dict() for row in rows]))
            return
        table = Table(title=f"{title}: separation against agreement with the prior")
        table.add_column("placement", no_wrap=True)
        for heading in ("weight", "maximum cosine", "ranked right", "by .01", "Spearman", "Kendall", "Eq. 6"):
            table.add_column(heading, justify="right")
        for row, certificate in zip(rows, certificates, strict=True):
            agreement = certificate.prior_agreement
            assert agreement is not None
            shares = (f"{100 * share:.1f} %" for share in (agreement.ranked, agreement.ranked_by_margin))
            numbers = (f"{value:.3f}" for value in (agreement.spearman, agreement.kendall))
            weight = f"{row.prior_weight:.3g}"
            table.add_row(row.label, weight, f"{row.max_cosine:.4f}", *shares, *numbers, f"{agreement.loss:.4f}")
        table_console().print(table)
