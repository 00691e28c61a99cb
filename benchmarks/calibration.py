"""Whether promises hold: calibration error on digits before and after, and coverage over random
splits.

Five networks for each row, each trained on half of the digits (or of scikit-learn's diabetes, for
numbers); the other half is split at random twenty times into examples to fit on and examples to
measure. Coverage is that of sets that may be empty, which is what the promise is about, with its
standard error over the 100 splits; next to it the one that the number of examples gives exactly.
"Never empty" is what `predict` gives, and can only hold the truth more often.
"""

import math
import statistics
from collections.abc import Callable

import numpy as np
import torch
from sklearn.metrics import log_loss

import hyperproto as hp
from benchmarks.digits import TEN_DIGITS, digit_network
from hyperproto.data import load_digits
from hyperproto.evaluation.confidence import ConformalInterval, ConformalSets, Temperature
from hyperproto.metrics import calibration_error

EPOCHS, SEEDS, SPLITS, COVERAGES = 10, range(5), 20, (0.9, 0.95)
SOFTMAX = hp.losses.CosineSoftmax(16.0)
SPACES: dict[str, Callable[[], hp.OutputSpace]] = {
    "sphere, D = 10 (Eq. 1)": lambda: hp.Space(10, hp.Classes(TEN_DIGITS, loss="paper")),
    "sphere, D = 10, cosine softmax": lambda: hp.Space(10, hp.Classes(TEN_DIGITS, loss=SOFTMAX)),
    "softmax cross-entropy": lambda: hp.baselines.ConventionalSpace(hp.Classes(TEN_DIGITS)),
}
BEFORE = {"sphere, D = 10, cosine softmax": SOFTMAX.cosine_scale(10)}  # otherwise 1

Row = dict[str, float]


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for name, build in SPACES.items():
        found = [row for seed in SEEDS for row in splits_of(*outputs(build(), seed), name, seed)]
        rows.append({"output": name, "fitted": "temperature", **summarize(found)})
    found = [row for seed in SEEDS for row in splits_of_numbers(seed)]
    rows.append(
        {"output": "sphere, D = 3, diabetes (Eq. 7)", "fitted": "interval", **summarize(found)}
    )
    return (
        "Calibration error, %, and coverage, %, over 20 random splits for each of 5 networks",
        rows,
    )


def outputs(space: hp.OutputSpace, seed: int) -> tuple[np.ndarray, ...]:
    """Return scores and labels of the half of the digits that was not trained on."""
    parts = load_digits(seed=seed)
    inputs, labels = (
        torch.cat([getattr(part, key) for part in parts]) for key in ("inputs", "targets")
    )
    train, held_out = torch.randperm(
        len(inputs), generator=torch.Generator().manual_seed(seed)
    ).tensor_split(2)
    torch.manual_seed(seed)
    network = digit_network(space, size=8, seed=seed)
    hp.fit(
        network,
        space,
        (inputs[train], labels[train]),
        epochs=EPOCHS,
        lr=0.2,
        reduction="mean",
        seed=seed,
    )
    with torch.no_grad():
        scores = space.scores(network.eval()(inputs[held_out]))  # type: ignore[attr-defined]
    return scores.numpy(), labels[held_out].numpy()


def error_of(probabilities: np.ndarray, labels: np.ndarray) -> float:
    return calibration_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == labels)


def splits_of(scores: np.ndarray, labels: np.ndarray, name: str, seed: int) -> list[Row]:
    before, rows = Temperature(BEFORE.get(name, 1.0)), []
    for split in range(SPLITS):
        fit, test = np.array_split(np.random.default_rng([seed, split]).permutation(len(labels)), 2)
        model = Temperature.fit(scores[fit], labels[fit])
        sure, unsure = (m.probabilities(scores[test]) for m in (model, before))
        row = {
            "accuracy": float((scores[test].argmax(axis=1) == labels[test]).mean()),
            "ECE before": error_of(unsure, labels[test]),
            "ECE": error_of(sure, labels[test]),
            "NLL": log_loss(labels[test], sure, labels=np.arange(sure.shape[1])),
        }
        for coverage in COVERAGES:
            for empty in (True, False):
                sets = ConformalSets.fit(
                    model.probabilities(scores[fit]), labels[fit], coverage, empty=empty
                )
                inside = sets.sets(sure)
                key = f"{coverage}" if empty else f"{coverage} never empty"
                row[key] = float(inside[np.arange(len(test)), labels[test]].mean())
            row[f"{coverage} size"] = float(inside.sum(axis=1).mean())
            row[f"{coverage} promised"] = promised(coverage, len(fit))
        rows.append(row)
    return rows


def splits_of_numbers(seed: int) -> list[Row]:
    from sklearn.datasets import load_diabetes

    table = load_diabetes()
    inputs = torch.from_numpy(table.data / table.data.std(axis=0)).float()
    values, rows = torch.from_numpy(table.target).float(), []
    low, high = float(values.min()), float(values.max())
    train, held_out = torch.randperm(
        len(inputs), generator=torch.Generator().manual_seed(seed)
    ).tensor_split(2)
    torch.manual_seed(seed)
    space, network = (
        hp.Space(3, hp.Range(low, high, loss="paper")),
        hp.models.MLP(3, 10, (32,), norm="batch"),
    )
    hp.fit(
        network,
        space,
        (inputs[train], values[train]),
        epochs=20,
        lr=0.02,
        reduction="mean",
        seed=seed,
    )
    with torch.no_grad():
        found = space.predict(network.eval()(inputs[held_out])).numpy()  # type: ignore[union-attr]
    truth = values[held_out].numpy()
    for split in range(SPLITS):
        fit, test = np.array_split(np.random.default_rng([seed, split]).permutation(len(truth)), 2)
        row: Row = {}
        for coverage in COVERAGES:
            interval = ConformalInterval.fit(found[fit], truth[fit], coverage, low=low, high=high)
            ends = interval.intervals(found[test])
            row[f"{coverage}"] = float(
                ((ends[:, 0] <= truth[test]) & (truth[test] <= ends[:, 1])).mean()
            )
            row[f"{coverage} size"] = float((ends[:, 1] - ends[:, 0]).mean())
            row[f"{coverage} promised"] = promised(coverage, len(fit))
        rows.append(row)
    return rows


def promised(coverage: float, n: int) -> float:
    """The coverage that n examples give exactly, where no two scores are equal."""
    return math.ceil((n + 1) * coverage - 1e-9) / (n + 1)


def summarize(found: list[Row]) -> dict[str, object]:
    def mean(key: str, factor: float = 100) -> float | str:
        return (
            round(factor * statistics.mean(row[key] for row in found), 2) if key in found[0] else ""
        )

    row: dict[str, object] = {key: mean(key) for key in ("accuracy", "ECE before", "ECE")}
    row["worst ECE"] = round(100 * max(r["ECE"] for r in found), 2) if "ECE" in found[0] else ""
    row["NLL"] = mean("NLL", 1)
    for coverage in COVERAGES:
        error = 100 * statistics.stdev(r[f"{coverage}"] for r in found) / len(found) ** 0.5
        row[f"{100 * coverage:g} %"] = f"{mean(f'{coverage}')} ± {error:.2f}"
        row[f"{100 * coverage:g} % exactly"] = mean(f"{coverage} promised")
        row[f"{100 * coverage:g} % never empty"] = mean(f"{coverage} never empty")
        row[f"{100 * coverage:g} % size"] = mean(f"{coverage} size", 1)
    return row
