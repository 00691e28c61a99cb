"""Table 2: how far apart 100 prototypes lie in 100 dimensions. No training."""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, Printed

ROWS = {"One-hot": "one-hot", "Word2vec": "word2vec", "This paper": "paper"}
BEYOND = {"Our placement": "ours", "Authors' prototypes": "authors"}
COLUMNS = ("min", "mean", "max")

PAPER = {
    "One-hot": (1.00, 1.00, 1.00),
    "Word2vec": (0.26, 1.01, 1.32),
    "This paper": (0.95, 1.01, 1.39),
}
WHY = (
    "The mean cannot exceed K/(K-1) = 100/99 = 1.0101, which the paper rounds to 1.01: the K unit vectors have "
    "|p_1 + ... + p_K|² >= 0, so the K(K-1) cosines of ordered pairs sum to -K at least, and the mean of 1 - cos is "
    "1 + 1/(K-1) at most, whatever the placement. The minimum cannot exceed the mean; ours reaches it, for all pairs "
    "of a regular simplex are equally far apart. That is also why its maximum is no larger: to push one pair farther "
    "apart brings others nearer."
)
ANEW = (
    'Row "This paper" is Equation 5 placed anew, by descent as in the authors\' script. Their published file '
    "comes out at the values that the paper prints."
)


def entries(scale: str) -> list[Entry]:
    """Return the table, row by row."""
    table = []
    for row, kind in (ROWS | BEYOND).items():
        cell = at_scale(
            paper_cell(job="separation", first_classes=100, dim=100, prototypes=kind), scale
        )
        for index, column in enumerate(COLUMNS):
            printed = Printed(PAPER[row][index]) if row in PAPER else None
            table.append(
                Entry(row, column, cell, f"separation/{column}", printed, beyond=row in BEYOND)
            )
    return table


EXPERIMENT = Experiment(
    name="table2",
    title="Table 2: separation, 1 - cos over pairs of 100 prototypes in 100 dimensions (more is better)",
    entries=entries,
    decimals=4,
    notes=(WHY, ANEW),
    num_seeds=1,
)
