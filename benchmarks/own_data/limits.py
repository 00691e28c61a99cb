"""What defaults must not do, however little there is to learn: ``python -m benchmarks
own_data.limits --data FOLDER``.

Inputs that say nothing about a number: the mean absolute error as a share of the median's. Intents
of Banking77, by words and pairs of words: how far probabilities are off, without a calibration.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from hyperproto.estimators import HypersphericalClassifier, HypersphericalRegressor
from hyperproto.metrics import calibration_error

SEEDS = 5
SHAPES = ((100, 5), (300, 10), (1000, 20), (6000, 20))


def measure(arguments: list[str] | None = None) -> tuple[str, list[dict[str, object]]]:
    parser = argparse.ArgumentParser("python -m benchmarks own_data.limits", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("HYPERPROTO_DATA"), metavar="FOLDER")
    folder = parser.parse_args(arguments or []).data
    lines = [noise(rows, columns) for rows, columns in SHAPES]
    if folder is not None:
        lines += banking(Path(folder) / "text" / "banking77")
    return "Numbers from noise, and probabilities of intents", lines


def noise(rows: int, columns: int) -> dict[str, object]:
    """Return the error for numbers that no input says anything about, as a share of the median's,
    for normal and for skewed numbers.
    """
    shares = []
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        inputs = random.normal(size=(rows + 2000, columns))
        normal = random.normal(size=rows + 2000)
        for numbers in (normal, np.exp(normal)):
            model = HypersphericalRegressor(random_state=seed).fit(inputs[:rows], numbers[:rows])
            error = np.abs(model.predict(inputs[rows:]) - numbers[rows:]).mean()
            median = np.abs(np.median(numbers[:rows]) - numbers[rows:]).mean()
            shares.append(error / median)
    error = np.std(shares, ddof=1) / len(shares) ** 0.5
    what = f"noise, {rows:,} rows of {columns} columns: MAE / the median's"
    return {"what": what, "measured": f"{np.mean(shares):.3f} ± {error:.3f}"}


def banking(folder: Path) -> list[dict[str, object]]:
    """Return how good probabilities are on the official test set, over the seeds."""
    parts = [pd.read_csv(folder / f"{part}.csv") for part in ("train", "test")]
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    inputs = words.fit_transform(parts[0]["text"]), words.transform(parts[1]["text"])
    found: dict[str, list[float]] = {}
    for seed in range(3):
        model = HypersphericalClassifier(random_state=seed)
        started = time.process_time()
        model.fit(inputs[0], parts[0]["category"])
        spent = time.process_time() - started
        shares = model.predict_proba(inputs[1])
        labels = np.searchsorted(model.classes_, parts[1]["category"].to_numpy(dtype=str))
        right = shares.argmax(1) == labels
        off = calibration_error(shares.max(axis=1), right)
        for name, value in (
            ("accuracy, %", 100 * right.mean()),
            ("calibration error, %", 100 * float(off)),
            ("fit, seconds of the processor", spent),
        ):
            found.setdefault(name, []).append(float(value))
    return [
        {"what": f"Banking77: {name}", "measured": f"{np.mean(v):.1f} ± {np.std(v, ddof=1):.1f}"}
        for name, v in found.items()
    ]
