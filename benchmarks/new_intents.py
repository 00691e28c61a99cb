"""Ten intents of Banking77 added to sixty-seven by ten sentences each, with 20 examples of each old
class kept, beside a balanced logistic regression that is fitted again to all sentences.

``--data FOLDER`` or ``HYPERPROTO_DATA`` must name the folder with ``text/banking77``. Each draw has
other new intents and other sentences of them.
"""

import os
import statistics
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from hyperproto.estimators import HypersphericalClassifier

DRAWS, NEW, EACH, REPLAY = 5, 10, 10, 20


def measure() -> tuple[str, list[dict[str, object]]]:
    title, folder = (
        f"{NEW} new intents of Banking77, {DRAWS} draws",
        os.environ.get("HYPERPROTO_DATA"),
    )
    if folder is None:
        return title, [{"skipped": "set HYPERPROTO_DATA to the folder that holds text/banking77"}]
    parts = [
        pd.read_csv(Path(folder) / "text" / "banking77" / f"{p}.csv") for p in ("train", "test")
    ]
    found: dict[str, list[dict[str, float]]] = {}
    for draw in range(DRAWS):
        for way, measures in compare(*parts, draw).items():
            found.setdefault(way, []).append(measures)
    return title, [{"way": way} | spread(each) for way, each in found.items()]


def compare(train: Any, test: Any, draw: int) -> dict[str, dict[str, float]]:
    """Return the accuracies of old and new classes, in percent, for each way."""
    random = np.random.default_rng(draw)
    names = np.unique(train["category"])
    new = random.choice(names, NEW, replace=False)
    is_new = train["category"].isin(new).to_numpy()
    few = np.concatenate(
        [
            random.choice(np.flatnonzero(train["category"] == name), EACH, replace=False)
            for name in new
        ]
    )
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)).fit(train["text"][~is_new])
    X, y = words.transform(train["text"]), train["category"].to_numpy(dtype=str)
    asked, wanted = words.transform(test["text"]), test["category"].to_numpy(dtype=str)
    of_new = np.isin(wanted, new)

    model = HypersphericalClassifier(random_state=draw, replay=REPLAY).fit(X[~is_new], y[~is_new])
    before = 100 * model.score(asked[~of_new], wanted[~of_new])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of losses, which the table shows
        model.add_classes(X[few], y[few])
    rows = np.concatenate([np.flatnonzero(~is_new), few])
    refit = LogisticRegression(C=10, class_weight="balanced", max_iter=200).fit(X[rows], y[rows])
    found = {}
    for way, answers in (
        (f"add_classes with {REPLAY} examples of each old class", model.predict(asked)),
        ("balanced logistic regression, fitted again to all", refit.predict(asked)),
    ):
        right = 100 * (answers == wanted)
        old, added = right[~of_new].mean(), right[of_new].mean()
        found[way] = {"old, %": old, "new, %": added, "harmonic mean": 2 / (1 / old + 1 / added)}
    found["the sphere before"] = {"old, %": before}
    return found


def spread(each: list[dict[str, float]]) -> dict[str, object]:
    """Return means and standard deviations over the draws."""
    lines: dict[str, object] = {}
    for name in ("old, %", "new, %", "harmonic mean"):
        values = [measures[name] for measures in each if name in measures]
        text = f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}" if values else ""
        lines[name] = text
    return lines
