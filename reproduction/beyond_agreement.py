"""Beyond the paper: how much privileged information there is in prototypes that were given it."""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment

ROWS = {
    "Equations 5 and 6 summed, as printed": "paper-prior",
    "Equation 6 five times": "paper-prior-5",
    "Authors' prototypes": "authors-prior",
}
DIMS = {"cpu": (3, 5, 10, 25)}


def entries(scale: str) -> list[Entry]:
    """Return a row for each kind of prototypes, at scale "cpu" alone: nothing is trained."""
    made = []
    for row, kind in ROWS.items():
        for dim in DIMS.get(scale, ()):
            cell = paper_cell(
                job="separation", reader="cifar-100", first_classes=100, dim=dim, prototypes=kind
            )
            cell = at_scale(cell, scale)
            made.append(Entry(row, f"D = {dim}", cell, "agreement/spearman", beyond=True))
    return made


EXPERIMENT = Experiment(
    name="beyond-agreement",
    title="Rank correlation of the cosines between prototypes with those between word vectors, CIFAR-100",
    entries=entries,
    decimals=2,
    num_seeds=1,
    notes=(
        "The word vectors are the authors' file of 100 components; every pair of classes counts.",
    ),
)
