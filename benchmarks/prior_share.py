"""How much of a fit on Banking77's words is the data-driven prior, in seconds of one processor, by
dimensions.

``--data DIR`` or ``HYPERPROTO_DATA`` must name the folder with ``text/banking77``. By default the
77 intents form a simplex, for which no prior is made.
"""

import os
import statistics
import time
from pathlib import Path
from unittest import mock

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from hyperproto.estimators import HypersphericalClassifier
from hyperproto.training import build

DIMS = (None, 40, 20, 10)
ROUNDS = 3


def measure() -> tuple[str, list[dict[str, object]]]:
    title, folder = "The prior's share of a fit on Banking77", os.environ.get("HYPERPROTO_DATA")
    if not folder:
        return title, [{"skipped": "set HYPERPROTO_DATA to the folder that holds text/banking77"}]
    train = pd.read_csv(Path(folder) / "text" / "banking77" / "train.csv")
    words = TfidfVectorizer(sublinear_tf=True).fit_transform(train["text"])
    return title, [_row(words, train["category"], dim) for dim in DIMS]


def _row(words: object, names: object, dim: int | None) -> dict[str, object]:
    found = [_seconds(words, names, dim) for _ in range(ROUNDS)]
    prior, fit = (statistics.median(times) for times in zip(*found, strict=True))
    share = statistics.median(100 * made / whole for made, whole in found)
    row = {"dim": dim or "default, 76", "prior, s": f"{prior:.2f}", "fit, s": f"{fit:.2f}"}
    return {**row, "share, %": f"{share:.1f}"}


def _seconds(words: object, names: object, dim: int | None) -> tuple[float, float]:
    """Return the time of making the prior and of the whole fit, which makes it."""
    spent, make = [0.0], build.prior_from_data

    def timed(*args: object) -> object:
        started = time.process_time()
        prior = make(*args)  # type: ignore[arg-type]
        spent.append(time.process_time() - started)
        return prior

    with mock.patch.object(build, "prior_from_data", timed):
        started = time.process_time()
        HypersphericalClassifier(dim=dim, random_state=0).fit(words, names)
        return sum(spent), time.process_time() - started
