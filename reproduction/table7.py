"""Table 7 (appendix A): Table 1 with DenseNet-121."""

from reproduction.experiment import Entry, Experiment
from reproduction.table1 import CIFAR, IMAGENET, Table, prototype_entries

PAPER: Table = {
    ("One-hot", CIFAR): {100: (72.2, None)},
    ("Word2vec", CIFAR): {10: (36.6, None), 25: (61.0, None), 100: (71.9, None)},
    ("This paper", CIFAR): {10: (60.5, None), 25: (69.1, None), 100: (73.4, None)},
    ("One-hot", IMAGENET): {200: (60.4, None)},
    ("Word2vec", IMAGENET): {25: (35.9, None), 50: (46.0, None), 200: (56.6, None)},
    ("This paper", IMAGENET): {25: (56.0, None), 50: (60.6, None), 200: (62.6, None)},
}
DIMS: dict[str, dict[str, tuple[int, ...]]] = {
    "full": {CIFAR: (10, 25, 100), IMAGENET: (25, 50, 200)},
    "cpu": {CIFAR: (100,)},
    "smoke": {CIFAR: (100,), IMAGENET: (200,)},
}


def entries(scale: str) -> list[Entry]:
    """Return the table, row by row; at scale "cpu", 6 cells of 57 s x 2 seeds on 2 cores: 6
    minutes.
    """
    return prototype_entries(scale, DIMS.get(scale, {}), PAPER, backbone="densenet-121")


EXPERIMENT = Experiment(
    name="table7",
    title="Table 7: accuracy (%) of hyperspherical prototypes and baseline prototypes, DenseNet-121, by dimensions",
    entries=entries,
    compare=("This paper",),
)
