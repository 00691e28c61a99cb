"""Table 1: accuracy of prototypes on CIFAR-100 and ImageNet-200, ResNet-32."""

from collections.abc import Sequence
from dataclasses import replace

from reproduction import table4
from reproduction.cell import NUM_CLASSES, TUNED, Cell, at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, Printed
from reproduction.rates import with_cosine_softmax

CIFAR, IMAGENET = "CIFAR-100", "ImageNet-200"
Table = dict[
    tuple[str, str], dict[int, tuple[float, float | None]]
]  # row and data set, dim, mean and spread
READERS = {CIFAR: "cifar-100", IMAGENET: "imagenet-200"}

ROWS = {"One-hot": "one-hot", "Word2vec": "word2vec", "This paper": "paper"}
# beyond the paper: our placement, theirs as published, and our placement with cross-entropy over
# cosines
BEYOND = {
    "Our placement": "ours",
    "Authors' prototypes": "authors",
    "Our placement, cosine softmax": "ours",
}
COSINES, SOFTMAX = "Our placement, cosine softmax", "Softmax CE (Table 4)"

PAPER: Table = {
    ("One-hot", CIFAR): {100: (62.1, 0.1)},
    ("Word2vec", CIFAR): {10: (29.0, 0.0), 25: (44.5, 0.5), 50: (54.3, 0.1), 100: (57.6, 0.6)},
    ("This paper", CIFAR): {10: (51.1, 0.7), 25: (63.0, 0.1), 50: (64.7, 0.2), 100: (65.0, 0.3)},
    ("One-hot", IMAGENET): {200: (33.1, 0.6)},
    ("Word2vec", IMAGENET): {25: (20.7, 0.4), 50: (27.6, 0.3), 100: (29.8, 0.3), 200: (30.0, 0.4)},
    ("This paper", IMAGENET): {
        25: (38.6, 0.2),
        50: (44.7, 0.2),
        100: (44.6, 0.0),
        200: (44.7, 0.3),
    },
}
DIMS: dict[str, dict[str, tuple[int, ...]]] = {
    "full": {CIFAR: (10, 25, 50, 100), IMAGENET: (25, 50, 100, 200)},
    "medium": {CIFAR: (100,)},
    "head": {CIFAR: (3, 5, 10, 25, 100)},
    "cpu": {CIFAR: (25, 100), IMAGENET: (50, 200)},
    "smoke": {CIFAR: (100,), IMAGENET: (200,)},
}
# at scale "head" not every row is asked for in every dimension; the authors have word vectors of 10
# and more
HEAD = {"Word2vec": (10, 25, 100), "Our placement": (10, 25, 100), "Authors' prototypes": (25, 100)}


def entries(scale: str) -> list[Entry]:
    """Return the table, row by row; at scale "cpu", 22 cells of 31 s x 2 seeds on 2 cores: 11
    minutes.

    At scale "medium" 6 cells of 5 minutes x 3 seeds: with softmax, without cosine softmax. At scale
    "head" 15 of 35 s x 5 seeds.
    """
    table = prototype_entries(scale, DIMS.get(scale, {}), PAPER, backbone="resnet-32")
    if scale not in TUNED:
        return table
    table = [entry for entry in table if entry.row != COSINES]
    if scale == "head":
        table = [
            entry
            for entry in table
            if entry.cell.run.space.dim in HEAD.get(entry.row, DIMS[scale][CIFAR])
        ]
    # one run of softmax is shown in every column
    softmax, columns = table4.entries(scale)[0], dict.fromkeys(entry.column for entry in table)
    return [
        *(replace(softmax, row=SOFTMAX, column=column, paper=None) for column in columns),
        *table,
    ]


def prototype_entries(
    scale: str, dims: dict[str, tuple[int, ...]], printed: Table, *, backbone: str
) -> list[Entry]:
    """Return Table 1 for a network; Table 7 is the same with another."""
    return [
        Entry(
            row,
            f"{data} {dim}",
            cell,
            "class/accuracy",
            Printed.find(printed, (row, data), dim),
            beyond=row in BEYOND,
        )
        for row, kind in (ROWS | BEYOND).items()
        for data in dims
        for dim, cell in _cells(row, kind, data, dims[data], backbone, scale)
    ]


def _cells(
    row: str, kind: str, data: str, dims: Sequence[int], backbone: str, scale: str
) -> list[tuple[int, Cell]]:
    """Return a row's cells of one data set: one-hot prototypes need an axis for every class."""
    cells = []
    for dim in dims:
        cell = paper_cell(reader=READERS[data], backbone=backbone, dim=dim, prototypes=kind)
        cell = with_cosine_softmax(cell) if row == COSINES else cell
        if kind != "one-hot" or dim >= NUM_CLASSES[READERS[data]]:
            cells.append((dim, at_scale(cell, scale)))
    return cells


EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: accuracy (%) of hyperspherical prototypes and baseline prototypes, by dimensions",
    entries=entries,
    compare=("This paper", SOFTMAX),
    notes=("One-hot prototypes need as many dimensions as classes.",),
)
