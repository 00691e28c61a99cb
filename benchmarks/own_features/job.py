"""One fit in a process of its own: how good, how long, how much memory. One thread."""

import resource
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.own_data.loaded import Fold
from benchmarks.own_data.measures import judge
from benchmarks.own_features.methods import METHODS
from benchmarks.own_features.rows import Row, load_fold

Result = dict[str, Any]


def run(row: Row, method: str, number: int, folder: Path) -> Result:
    """Return the measures of a fold by name, seconds of the processor, and the peak of the whole
    process in MB.

    Where the method does not apply, there are no measures.
    """
    warnings.simplefilter("ignore")  # peers say that they did not converge in their iterations
    fold = load_fold(row, folder, number)
    result: Result = {"row": row.name, "method": method, "fold": number}
    model = METHODS[method](fold)
    if model is None:
        return result
    warm_up(method)
    started = time.process_time()
    model.fit(fold.train, fold.train_targets)
    fitted = time.process_time()
    answers = model.predict(fold.test)
    answered = time.process_time()
    return {
        **result,
        **judge(fold.test_targets, answers),
        "fit": round(fitted - started, 4),
        "predict": round(answered - fitted, 4),
        "memory": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


@cache
def warm_up(method: str) -> None:
    """Fit something tiny and ask it, so that what is loaded at first use is not counted."""
    table = pd.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})
    targets = {"class": np.arange(40) % 2}
    model = METHODS[method](Fold("table", table, targets, table, targets, seed=0))
    if model is not None:
        model.fit(table, targets)
        model.predict(table)
