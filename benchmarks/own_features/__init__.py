"""Texts, images, and tables with a class and a number, with the defaults: ours beside what people
pick instead. Tables with one target are in ``own_data``.

``python -m benchmarks own_features --data FOLDER``, or ``HYPERPROTO_DATA``. The folder holds
``tables/NAME.csv``, ``text/banking77/{train,test}.csv``, and as their publishers lay them out
``cifar-100-python``, ``CUB_200_2011`` and ``omniart``; rows whose files are missing are left out.

Each method runs in a process of its own on one thread, and its measures are kept as lines in
``results/own_features.jsonl``, so a run can be stopped at any time and goes on where it was: ``--only
ours --again`` measures one method again, ``--group choose`` only the rows that defaults may be
chosen on, ``--rows mpg`` those with that in their name, and ``--report-only`` prints the table from
what there is. Features of images are computed at first need, 20 ms an image, and kept in
``FOLDER/features``.
"""

import argparse
import json
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from benchmarks.own_features.job import Result, run
from benchmarks.own_features.methods import METHODS, NEED_TORCH
from benchmarks.own_features.rows import ROWS, Row
from benchmarks.own_features.verdict import markdown, summary, table

STORE = Path(__file__).parents[2] / "results" / "own_features.jsonl"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def measure(arguments: list[str] | None = None) -> tuple[str, list[dict[str, object]]]:
    options = parse(arguments or [])
    folder = None if options.data is None else Path(options.data)
    rows = [row for row in ROWS if options.group in (None, row.group) and options.rows in row.name]
    if not options.report_only:
        fill(rows, options.only or list(METHODS), folder, again=options.again, store=options.store)
    lines = table([result for row in ROWS for result in read(row, options.store)])
    asked = [line for line in lines if line["data"] in {row.name for row in rows}]
    print(markdown(asked) if asked else "Nothing was measured yet.", flush=True)
    return f"With its defaults ours is {summary(lines)}", lines or [{"nothing": "measured"}]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks own_features", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("HYPERPROTO_DATA"), metavar="FOLDER")
    parser.add_argument("--group", choices=("choose", "report"))
    parser.add_argument("--rows", default="", metavar="PART_OF_NAME")
    parser.add_argument("--only", nargs="+", choices=tuple(METHODS))
    parser.add_argument(
        "--again", action="store_true", help="measure again what was measured before"
    )
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--store", type=Path, default=STORE, metavar="FILE")
    return parser.parse_args(arguments)


def fill(
    rows: Iterable[Row], methods: list[str], folder: Path | None, *, again: bool, store: Path
) -> None:
    """Measure what is missing, each method in a new process that has loaded only what it needs."""
    os.environ.update(ONE_THREAD)
    if folder is None:
        raise SystemExit("own_features needs --data FOLDER, or HYPERPROTO_DATA")
    with (
        base_process("benchmarks.own_features.job") as light,
        base_process("hyperproto.estimators") as heavy,
    ):
        for row in rows:
            kept = {(result["method"], result["fold"]): result for result in read(row, store)}
            jobs = {
                m: [i for i in range(row.repeats) if again or (m, i) not in kept] for m in methods
            }
            if any(jobs.values()) and row.reader:
                heavy.submit(compute_features, row.reader, folder).result()
            for method, numbers in jobs.items():
                base = heavy if method in NEED_TORCH else light
                try:
                    results = base.submit(run_forked, row, method, numbers, folder).result()
                except FileNotFoundError as missing:
                    print(f"{row.name}: left out, no {missing.filename}", flush=True)
                    break
                for result in results:
                    print(json.dumps(result), flush=True)
                    kept[method, result["fold"]] = result
                write(row, kept.values(), store)


def compute_features(reader: str, folder: Path) -> None:
    """Compute the features of all images of a data set, as ``hyperproto train`` does, where they
    are missing.
    """
    from hyperproto.spec import DataSpec, NetworkSpec
    from hyperproto.training.build import build_network, build_source, choose_network
    from hyperproto.training.features import freeze

    place = folder / "features" / reader
    if (place / "features.safetensors").exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    data = DataSpec(reader=reader, path=str(folder), workers=0)
    spec, source = choose_network(NetworkSpec(), build_source(data))
    freeze(
        build_network(spec, source.preprocessing.input_shape, "images", 1, seed=0),
        source,
        data,
        place,
    )


def base_process(module: str) -> ProcessPoolExecutor:
    """Start a process that loads a module once, for others to be forked from."""
    return ProcessPoolExecutor(1, get_context("spawn"), import_module, (module,))


def run_forked(row: Row, method: str, numbers: list[int], folder: Path) -> list[Result]:
    with get_context("fork").Pool(1) as child:
        return [child.apply(run, (row, method, number, folder)) for number in numbers]


def read(row: Row, store: Path = STORE) -> list[Result]:
    return [line for line in _lines(store) if line["row"] == row.name]


def _lines(store: Path) -> list[Result]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def write(row: Row, results: Iterable[Result], store: Path) -> None:
    """Write the lines of a row between those of others, by row, method and fold, so that only what
    changed differs; never half of them.
    """
    rows, methods = [known.name for known in ROWS], list(METHODS)
    kept = [line for line in _lines(store) if line["row"] != row.name]

    def place(line: Result) -> tuple[int, int, int]:
        name = line["row"]
        return (
            rows.index(name) if name in rows else len(rows),
            methods.index(line["method"]),
            line["fold"],
        )

    store.parent.mkdir(parents=True, exist_ok=True)
    new = store.with_suffix(".new")
    new.write_text(
        "".join(json.dumps(line) + "\n" for line in sorted([*kept, *results], key=place))
    )
    new.replace(store)
