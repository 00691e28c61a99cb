"""The records as tables in Markdown, for the documentation."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.own_data import STORE as RECORDS
from benchmarks.own_data import read
from benchmarks.own_data.ranks import (
    FAST,
    MEASURES,
    TITLES,
    fit_times,
    plain_ratios,
    ranks,
    scores,
)
from benchmarks.own_data.table_methods import ONLY_SQUARED
from benchmarks.own_data.tricks import STORE as TRICKS
from benchmarks.own_data.tricks import summarize

Rows = list[tuple[str, ...]]
SHOWN = {"accuracy": "accuracy, %", "auc": "AUC, %", "log loss": "log loss"} | {
    "mae": "MAE",
    "rmse": "RMSE",
}
ALL = tuple(method for method in TITLES if method not in ("real mlp", "tabm", "constant"))


def reported() -> list[dict[str, Any]]:
    """Return the records of tables that nothing was chosen on."""
    return [record for record in read(RECORDS) if record["group"] == "report"]


def title(method: str) -> str:
    return TITLES[method] + (" ¹" if method in ONLY_SQUARED else "")


def rank_rows(methods: Sequence[str], folds: int) -> Rows:
    """Return for each method its mean rank and (ahead / level / behind), by measure."""
    found = {(line["method"], line["measure"]): line for line in ranks(reported(), methods, folds)}
    rows: Rows = [("method", *SHOWN.values())]
    for method in methods:
        cells = [_cell(found.get((method, measure))) for measure in MEASURES]
        rows.append((title(method), *cells))
    return rows


def _cell(line: Mapping[str, object] | None) -> str:
    if line is None:
        return ""
    return f"{float(str(line['mean rank'])):.1f} ({line['ahead']}/{line['level']}/{line['behind']})"


def fast_ranks() -> Rows:
    return rank_rows((*FAST, "lightgbm"), 3)


def all_ranks() -> Rows:
    return rank_rows(ALL, 1)


def tables_of(first: str, second: str) -> Rows:
    """Return ours, the best of the others and the baseline for two measures, by table."""
    rows: Rows = [("table: target; rows",)]
    rows[0] += tuple(
        f"{SHOWN[measure]}: {who}"
        for measure in (first, second)
        for who in ("ours", "best of the others", "baseline")
    )
    records = reported()
    sizes = {record["row"]: record["rows"] * 3 // 2 for record in records}
    found = {measure: scores(records, measure, 3) for measure in (first, second)}
    complete = [row for row, of in found[first].items() if "ours" in of]
    for row in sorted(complete, key=lambda name: sizes[name]):
        cells = [cell for measure in found for cell in _three(measure, found[measure][row])]
        rows.append((f"{row}; {sizes[row]:,}", *cells))
    return rows


def _three(measure: str, of: Mapping[str, Any]) -> tuple[str, str, str]:
    sign = MEASURES[measure]
    means = {method: float(values.mean()) for method, values in of.items()}
    others = [m for m in (*FAST, "lightgbm") if m != "ours" and m in means]
    best = max(others, key=lambda method: sign * means[method])
    shown = [f"{means[method]:.4g}" for method in ("ours", best, "constant")]
    return shown[0], f"{TITLES[best]} {shown[1]}", shown[2]


def plain_rows() -> Rows:
    rows: Rows = [("tables", "MAE, ours / same network", "tables of that size")]
    for line in plain_ratios(reported()):
        rows.append(tuple(str(value) for value in line.values()))
    return rows


def time_rows() -> Rows:
    """Return fit times as shares of the perceptron's: the median, and where they are above twice
    that.
    """
    rows: Rows = [("method", "median over tables", "tables above 2")]
    for method, shares in fit_times(reported()).items():
        above = f"{(shares > 2).sum()} of {len(shares)}"
        rows.append((TITLES[method], f"{np.median(shares):.2g}", above))
    return rows


def trick_rows() -> Rows:
    records = [json.loads(line) for line in TRICKS.read_text().splitlines()]
    lines = [line for line in summarize(records) if line["trick"] != "defaults"]
    heads = list(max(lines, key=len))
    return [tuple(heads), *(tuple(str(line.get(head, "")) for head in heads) for line in lines)]


def in_short(*measures: str) -> tuple[str, str]:
    """Return the mean rank of ours by some measures, in how many tables it is behind, and whether
    that is "better" than all peers, "level" (second) or "worse".
    """
    lines, said, places = ranks(reported()), [], []
    for measure in measures:
        means = {
            str(line["method"]): float(str(line["mean rank"]))
            for line in lines
            if line["measure"] == measure
        }
        (ours,) = [
            line for line in lines if line["measure"] == measure and line["method"] == "ours"
        ]
        place = sorted(means.values()).index(means["ours"]) + 1
        behind = f"behind in {ours['behind'] or 'none'} of {ours['tables']} tables"
        said.append(
            f"{SHOWN[measure].removesuffix(', %')}: mean rank {means['ours']:.1f}, "
            f"place {place} of {len(means)}, {behind}"
        )
        places.append(place)
    word = "better" if max(places) == 1 else "level" if max(places) == 2 else "worse"
    return "; ".join(said), word
