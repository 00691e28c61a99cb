"""Measure, print, and write down: ``python -m benchmarks [NAME ...] [--data DIR]``; without a name,
all of them.

Speeds are ratios against a named peer, both timed in turn in one run. Each benchmark writes a CSV
to ``results/`` whose name says which machine and which torch it was measured with.
"""

import csv
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

NAMES = (
    "loss",
    "loop",
    "backbones",
    "startup",
    "runtime",
    "serve",
    "image_bounds",
    "augmentation",
    "streaming_memory",
    "digits",
    "rotated_digits",
    "placement",
    "placement_against_paper",
    "authors_prototypes",
    "cifar100",
    "cifar_loop",
    "prior",
    "prior_share",
    "ranking",
    "gaps",
    "word_vectors",
    "deep_ncm",
    "calibration",
    "open_set",
    "joint",
    "negatives",
    "million_classes",
    "new_classes",
    "new_intents",
    "own_data",
    "own_data.tricks",
    "own_features",
    "imbalance",
    "pretrained",
    "targets",
    "labels",
    "label_points",
    "tree",
)
RESULTS = Path(__file__).parents[1] / "results"


def machine() -> str:
    return f"{platform.machine()}-{os.cpu_count()}cores-torch{torch.__version__.partition('+')[0]}"


def report(name: str, title: str, rows: list[dict[str, object]]) -> None:
    table = Table(title=title)
    for heading in rows[0]:
        table.add_column(heading)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console(width=max(120, 15 * len(rows[0]))).print(table)
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name.replace('.', '_')}-{machine()}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main(names: list[str]) -> None:
    if {"-h", "--help"} & set(names[:1]):
        sys.exit(f"{__doc__}\nNames: {', '.join(NAMES)}.")
    arguments: list[list[str]] = []
    if names and names[0].startswith("own_"):  # those that take options
        names, arguments = names[:1], [names[1:]]
    elif "--data" in names[:-1]:
        at = names.index("--data")
        os.environ["HYPERPROTO_DATA"] = names[at + 1]
        names = names[:at] + names[at + 2 :]
    unknown = set(names) - set(NAMES)
    if unknown:
        sys.exit(f"Unknown benchmark {sorted(unknown)}. Choose from: {', '.join(NAMES)}.")
    for name in names or NAMES:
        title, rows = import_module(f"benchmarks.{name}").measure(*arguments)
        report(name, title, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
