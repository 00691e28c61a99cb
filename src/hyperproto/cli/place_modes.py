"""What ``hyperproto place`` does other than place once: extend a file, sweep a weight, find or compare dimensions."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyperproto.cli.place import Place
    from hyperproto.priors import Prior

__all__ = ["compare", "extend", "suggest", "sweep"]


def sweep(asked: "Place", classes: int | tuple[str, ...], dim: int, held: "Prior | None") -> None:
    """Place with several weights of the prior, and draw and print the trade-off."""
    from rich.console import Console

    from hyperproto.cli.place_tables import show_trade_offs
    from hyperproto.prototypes.explore import sweep_prior_weight

    with Console(stderr=True).status("placing") as status:
        rows = sweep_prior_weight(
            classes,
            dim,
            held,
            effort=asked.effort,
            seed=asked.seed,
            workers=asked.workers,
            missing="free",
            progress=lambda what: status.update(f"placing: {what}"),
        )
    if asked.plot is not None:
        from hyperproto.report import draw_trade_off

        title = f"{rows[0].prototypes.num_classes} classes in {dim} dimensions"
        draw_trade_off(rows, asked.plot, title=title, bound=rows[0].prototypes.certificate.bound)
    if asked.json:
        print(json.dumps([{"label": r.label} | r.prototypes.certificate.to_dict() for r in rows]))
    else:
        show_trade_offs(rows, dim)


def extend(asked: "Place", path: Path) -> None:
    """Add classes to the prototypes of a file, and print what separation is left."""
    from typing import Any, cast

    from hyperproto.cli.names import read_names
    from hyperproto.cli.place_inputs import check_extend, read_weight
    from hyperproto.cli.place_tables import show_certificate
    from hyperproto.prototypes import Prototypes

    check_extend(asked)
    old = Prototypes.load(path)
    classes: Any = asked.classes if asked.names is None else read_names(asked.names, several=False)
    prototypes = old.extend(
        classes,
        prior=asked.prior,
        prior_weight=read_weight(asked.prior_weight),
        missing=cast(Any, asked.missing),
        effort=asked.effort,
        seed=asked.seed,
    )
    if asked.output is not None:
        prototypes.save(asked.output)
    report = {"classes": prototypes.num_classes, "dim": prototypes.dim} | prototypes.certificate.to_dict()
    if asked.json:
        print(json.dumps(report))
    else:
        show_certificate(report, asked.output)


def suggest(asked: "Place", num_classes: int, max_cosine: float) -> int:
    """Return the smallest dimension that keeps the maximum cosine, and print what smaller ones cost."""
    from rich.console import Console

    from hyperproto.prototypes import suggest_dim

    with Console(stderr=True).status("searching the dimensions"):
        found = suggest_dim(num_classes, max_cosine=max_cosine, seed=asked.seed)
    if not asked.json:
        console = Console()
        more = " Smaller ones would cost:" if found.smaller else ""
        console.print(f"{found.dim} dimensions deliver {found.max_cosine:.6f}.{more}")
        for option in found.smaller:
            console.print(f"  {option.dim:5d}: {option.max_cosine:.6f} (bound {option.bound:.6f})")
    return found.dim


def compare(asked: "Place", num_classes: int) -> None:
    """Go over many dimensions, and draw and print the maximum cosines."""
    from rich.console import Console

    from hyperproto.cli.place_tables import show_comparison
    from hyperproto.prototypes.explore import COMPARED_DIMS, compare_dims

    console = Console(stderr=True)
    with console.status("placing") as status:
        rows = compare_dims(
            num_classes,
            asked.dims or COMPARED_DIMS,
            effort=asked.effort,
            seed=asked.seed,
            progress=lambda dim: status.update(f"placing {num_classes} in {dim} dimensions"),
        )
    if asked.plot is not None:
        from hyperproto.report.plots import draw_separation

        draw_separation(rows, asked.plot, num_classes=num_classes)
    if asked.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        show_comparison(rows, num_classes)
