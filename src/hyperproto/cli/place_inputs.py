"""What ``hyperproto place`` is given, checked before the search: files to write, and the prior."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from hyperproto._core.errors import InputError
from hyperproto._core.files import check_can_write
from hyperproto._core.registry import choose

if TYPE_CHECKING:
    from hyperproto.cli.place import Place
    from hyperproto.priors import Prior

__all__ = ["check_extend", "check_goes_with_prior", "check_outputs", "check_sweep", "read_prior", "read_weight"]


def check_outputs(asked: "Place") -> None:
    """Check that every file asked for can be written."""
    from hyperproto.report.pictures import picture_format

    for path in (asked.output, asked.plot, asked.page):
        if path is not None:
            check_can_write(path)
    if asked.plot is not None:
        picture_format(asked.plot)


def check_goes_with_prior(asked: "Place") -> None:
    """Check that what needs a prior has one, and that neighbours are asked for in earnest."""
    needs = asked.sweep or asked.confusion or asked.neighbours is not None or asked.prior_weight != "auto"
    if asked.prior is None and needs:
        raise InputError("--sweep, --neighbours, --confusion and --prior-weight go with --prior FILE.")
    if asked.neighbours is not None and asked.neighbours < 1:
        raise InputError(f"--neighbours must be at least 1; got {asked.neighbours}.")
    if asked.of is not None and asked.neighbours is None:
        raise InputError("--of says whose neighbours to print: add --neighbours N.")


def check_sweep(asked: "Place") -> None:
    """Check that nothing is asked of a sweep that it does not do."""
    given = {
        "-o": asked.output is not None,
        "--page": asked.page is not None,
        "--neighbours": asked.neighbours is not None,
        "--prior-weight": asked.prior_weight != "auto",
        "--reserve": asked.reserve != 0,
        "--method": asked.method != "auto",
        "--seconds": asked.seconds is not None,
    }
    idle = [name for name, is_given in given.items() if is_given]
    if asked.sweep and idle:
        raise InputError(
            f"--sweep compares placements of several weights and keeps none of them; got {', '.join(idle)}. "
            "Leave that out, or leave out --sweep and choose a --prior-weight."
        )


def check_extend(asked: "Place") -> None:
    """Check that classes are named, and that nothing is asked of an extension that it does not do."""
    given = {
        "D": asked.dim is not None,
        "--compare": asked.compare,
        "--confusion": asked.confusion is not None,
        "--dims": asked.dims is not None,
        "--max-cosine": asked.max_cosine is not None,
        "--method": asked.method != "auto",
        "--neighbours": asked.neighbours is not None,
        "--page": asked.page is not None,
        "--plot": asked.plot is not None,
        "--reserve": asked.reserve != 0,
        "--seconds": asked.seconds is not None,
        "--sweep": asked.sweep,
    }
    idle = [name for name, is_given in given.items() if is_given]
    if idle:
        raise InputError(f"--extend adds classes to prototypes that stay; got {', '.join(idle)}. Leave that out.")
    if (asked.names is None) == (asked.classes is None):
        raise InputError("--extend needs the new classes: --names, or their number K where the old have no names.")


def read_weight(given: str) -> float | Literal["auto"]:
    """Return the weight of the prior as a number, or "auto"."""
    if given == "auto":
        return "auto"
    try:
        return float(given)
    except ValueError:
        raise InputError(f"--prior-weight must be a number or auto; got {given}.") from None


def read_prior(asked: "Place", names: tuple[str, ...] | None, num_classes: int) -> "Prior | None":
    """Return the prior asked for, for the classes in their order."""
    from hyperproto.priors import Missing, as_prior, from_confusion

    if asked.prior is None:
        return None
    missing = cast(Missing, asked.missing)
    if asked.confusion is None:
        return as_prior(asked.prior, names, num_classes, missing=missing)
    choose(asked.confusion, {"near": 0, "far": 0}, what="place for confusable classes")
    made = from_confusion(Path(asked.prior), similar=cast(Any, asked.confusion), names=names, missing=missing)
    return as_prior(made, names, num_classes, missing=missing)
