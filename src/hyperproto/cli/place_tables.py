"""What ``hyperproto place`` prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hyperproto.prototypes.explore import Comparison, TradeOff

__all__ = ["show_certificate", "show_comparison", "show_trade_offs"]


def show_certificate(report: dict[str, Any], output: Path | None) -> None:
    """Print one certificate."""
    from rich.table import Table

    from hyperproto.cli.console import table_console

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
    if report["meaning"] is not None:
        rows |= _meaning_rows(report["meaning"])
    if report["reserved"]:
        whole = report["max_cosine_with_reserve"]
        rows["reserve"] = f"room for {report['reserved']} more; maximum cosine with them {whole:.9f}"
    if report["remark"]:
        rows["remark"] = report["remark"]
    if output is not None:
        rows["written to"] = str(output)
    for name, value in rows.items():
        table.add_row(name, value)
    table_console().print(table)


def show_comparison(rows: "list[Comparison]", classes: int) -> None:
    """Print a table over many dimensions."""
    from rich.table import Table

    from hyperproto.cli.console import table_console

    table = Table(title=f"Maximum cosine of {classes} prototypes: smaller is better, nothing beats the bound")
    for heading in ("D", "ours", "bound", "the paper's method", "random"):
        table.add_column(heading, justify="right")
    table.add_column("how ours was made")
    for row in rows:
        numbers = (row.ours, row.bound, row.paper, row.random)
        table.add_row(str(row.dim), *(f"{value:.6f}" for value in numbers), row.method)
    table_console().print(table)


def show_trade_offs(rows: "Sequence[TradeOff]", dim: int) -> None:
    """Print a sweep over the weight of the prior."""
    from rich.table import Table

    from hyperproto.cli.console import table_console

    table = Table(
        title=f"{rows[0].prototypes.num_classes} prototypes in {dim} dimensions: separation against meaning"
    )
    table.add_column("placement", no_wrap=True)
    headings = ("weight", "maximum cosine", "ranked right", "by .01", "Spearman", "Kendall", "Eq. 6")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        held = row.prototypes.certificate.meaning
        assert held is not None
        shares = (f"{100 * share:.1f} %" for share in (held.ranked, held.ranked_by_margin))
        numbers = (f"{value:.3f}" for value in (held.spearman, held.kendall))
        weight = f"{row.prior_weight:.3g}"
        table.add_row(row.label, weight, f"{row.max_cosine:.4f}", *shares, *numbers, f"{held.loss:.4f}")
    table_console().print(table)


def _meaning_rows(meaning: dict[str, Any]) -> dict[str, str]:
    return {
        "prior": f"{meaning['prior']}, weight {meaning['weight']:.3g}",
        "triplets ranked right": f"{100 * meaning['ranked']:.1f} %; by more than .01 "
        f"{100 * meaning['ranked_by_margin']:.1f} %, of {100 * meaning['clear']:.1f} % that differ by so much",
        "rank correlation": f"Spearman {meaning['spearman']:.3f}, Kendall {meaning['kendall']:.3f}",
        "ranking loss (Eq. 6)": f"{meaning['loss']:.5f} over {meaning['measured']}",
    }
