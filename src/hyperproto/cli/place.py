"""``hyperproto place``: prototypes for K classes in D dimensions. Also what its sister verbs share
with it.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import FlagCreatePairsOff, Positional, arg

from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain, check_can_write, read_text
from hyperproto.cli.console import print_table

if TYPE_CHECKING:
    from hyperproto.prototypes import Prototypes

EFFORTS = "{fast,balanced,thorough}"


@dataclass(kw_only=True)
class SearchOptions:
    """How much to search, and how to print the result."""

    effort: Annotated[str, arg(metavar=EFFORTS)] = "balanced"
    """How much to search."""

    seed: int = 0
    """Random seed; it fixes the result bit for bit."""

    json: FlagCreatePairsOff[bool] = False
    """Print JSON."""


@dataclass(kw_only=True)
class WorkerOptions(SearchOptions):
    """A search that several processes share."""

    workers: Annotated[int | None, arg(metavar="N")] = None
    """Processes to search with (default: all cores)."""


@dataclass(kw_only=True)
class PriorOptions(SearchOptions):
    """How to read a prior."""

    missing: Literal["error", "free"] = "error"
    """What happens to classes the prior does not know: an error, or placement without it."""


@dataclass
class Place(PriorOptions, WorkerOptions):
    """Place class prototypes on the sphere in D dimensions, as far apart as possible, with a
    certificate.
    """

    classes: Annotated[Positional[str], arg(metavar="CLASSES")]
    """Number of classes; or their names: a file with one per line, or a list with commas."""

    dim: Annotated[Positional[int | None], arg(metavar="[D]")] = None
    """Number of dimensions; the sphere is S^(D-1) (default: K - 1, from 2 to 256)."""

    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Write the prototypes to this safetensors file."""

    prior: Annotated[str | None, arg(metavar="FILE")] = None
    """What is known about the classes: word vectors (GloVe or word2vec, also .gz), a .npy of
    vectors or similarities, a taxonomy (child,parent in CSV), or "wordnet". Similar classes are
    then placed nearer.
    """

    prior_weight: Annotated[str, arg(metavar="W")] = "auto"
    """How much the prior counts against separation: a number from 0 on, or auto."""

    method: Annotated[str, arg(metavar="{auto,codes,optimize,project,assign,paper,random}")] = (
        "auto"
    )
    """How to place."""

    every_axis: FlagCreatePairsOff[bool] = False
    """Leave no axis empty, for prototypes to train on; the best separated code may have fewer
    dimensions than D.
    """

    page: Annotated[Path | None, arg(metavar="FILE")] = None
    """Write an interactive HTML page: the placed classes, their neighbors, the certificate."""

    def run(self) -> None:
        """Place, write, print."""
        from hyperproto.defaults import choose_dim
        from hyperproto.priors import as_prior
        from hyperproto.prototypes import place

        check_outputs(self.output, self.page)  # better now than after the search
        classes = read_classes(self.classes)
        names, count = (None, classes) if isinstance(classes, int) else (classes, len(classes))
        prior = None
        if self.prior is not None:
            prior = as_prior(self.prior, names, count, missing=self.missing)
        prototypes = place(
            classes,
            choose_dim([count]) if self.dim is None else self.dim,
            prior=prior,
            prior_weight=read_weight(self.prior_weight),
            missing="free",  # unknown classes were handled when the prior was read
            method=self.method,
            effort=self.effort,
            seed=self.seed,
            workers=self.workers,
            every_axis=self.every_axis,
        )
        more: Plain = {}
        if prototypes.num_classes <= 20_000:  # beyond, every pair takes minutes
            more["separation"] = asdict(prototypes.separation())
        show_prototypes(prototypes, self.output, more, as_json=self.json)
        if self.page is not None:
            from hyperproto.report import write_placement_page

            title = f"{prototypes.num_classes} classes in {prototypes.dim} dimensions"
            write_placement_page(prototypes, self.page, title=title, prior=prior)
            if not self.json:
                print(f"Written: {self.page}")


def check_outputs(*files: Path | None) -> None:
    """Check that every file can be written."""
    for path in files:
        if path is not None:
            check_can_write(path)


def read_classes(given: str, *, several: bool = True) -> int | tuple[str, ...]:
    """Return the number of classes, or their names from a file with one per line or from a list
    with commas.

    One name alone is a list where there need not be several.

    >>> read_classes("10"), read_classes("cat, dog,bird")
    (10, ('cat', 'dog', 'bird'))
    """
    if given.strip().lstrip("+-").isdecimal():
        return int(given)
    if os.path.isfile(given):  # Path.is_file raises where a list is longer than a file name may be
        return tuple(line.strip() for line in read_text(given).splitlines() if line.strip())
    if several and "," not in given:
        rule = "be a number, a file with one name per line, or a list of names with commas"
        raise InputError("classes", rule, f'"{given}"')
    return tuple(name.strip() for name in given.split(",") if name.strip())


def read_weight(given: str) -> float | Literal["auto"]:
    """Return the weight of the prior as a number, or "auto"."""
    if given == "auto":
        return "auto"
    try:
        return float(given)
    except ValueError:
        raise InputError("prior_weight", "be a number or auto", given) from None


def show_prototypes(
    prototypes: "Prototypes", output: Path | None, more: Plain, *, as_json: bool
) -> None:
    """Write prototypes where asked to, and print their certificate."""
    if output is not None:
        prototypes.save(output)
    report = (
        {"classes": prototypes.num_classes, "dim": prototypes.dim}
        | prototypes.certificate.to_dict()
        | more
    )
    if as_json:
        print(json.dumps(report))
        return
    from hyperproto.report.pages import certificate_rows

    rows = certificate_rows(prototypes.certificate)
    if (used := prototypes.used_axes) < prototypes.dim:
        rows["axes"] = f"{used} of {prototypes.dim} in use, the others empty"
    if "separation" in more:
        rows["cosine distance"] = "min {min:.4f}, mean {mean:.4f}, max {max:.4f}".format(
            **more["separation"]
        )
    if output is not None:
        rows["written to"] = str(output)
    print(f"{prototypes.num_classes} prototypes in {prototypes.dim} dimensions")
    print_table(rows.items())
