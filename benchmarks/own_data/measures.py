"""How good answers are."""

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.own_data.loaded import Values

LEAST = 1e-6  # probability that a log loss counts: some methods give none at all to a class


def judge(wanted: Values, answers: Values) -> dict[str, float]:
    """Return the accuracy in percent, and with probabilities the log loss and the AUC; of numbers
    the mean absolute error, the root of the mean square, and R².

    The standard errors of the accuracy and of the absolute error, over the test examples, count
    where all repeats share one test set.
    """
    found: dict[str, float] = {}
    if "class" in wanted:
        right = 100.0 * (answers["class"] == wanted["class"])
        found |= {"accuracy": right.mean(), "accuracy error": right.std() / len(right) ** 0.5}
    if "probabilities" in answers:
        found |= judge_probabilities(wanted["class"], answers["probabilities"], answers["classes"])
    if "number" in wanted:
        off = np.abs(answers["number"] - wanted["number"])
        spread = wanted["number"] - wanted["number"].mean()
        found |= {"mae": off.mean(), "mae error": off.std() / len(off) ** 0.5}
        found["rmse"] = np.square(off).mean() ** 0.5
        found["r2"] = 1 - np.square(off).sum() / np.square(spread).sum()
    return {name: float(f"{value:.6g}") for name, value in found.items()}


def judge_probabilities(wanted: Values, shares: Values, classes: Values) -> dict[str, float]:
    """Return the log loss, and the AUC: of each class against all others, on average."""
    places = np.searchsorted(classes, wanted)
    of_truth = np.clip(shares[np.arange(len(wanted)), places], LEAST, 1)
    areas = [
        roc_auc_score(places == k, shares[:, k])
        for k in range(len(classes))
        if 0 < (places == k).sum() < len(places)
    ]
    return {"log loss": -np.log(of_truth).mean(), "auc": 100 * float(np.mean(areas))}
