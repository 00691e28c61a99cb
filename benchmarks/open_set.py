"""Digits of which three were never seen: how well are they told from the seven known ones?

Five seeds, each with other digits held out, the same network, rate and order for every row. Cross-entropy is scored
by the largest softmax probability and by the energy of its logits, the sphere by the largest cosine alone and by
`outlier_score`'s default, which looks at the length of the output as well; its form and power were chosen on
validation parts (`part="valid"`), and everything here is measured on the test part. The last column rejects at a
stated 5 %: a threshold from one half of the known test digits, applied to the other, over 20 random halves per seed.
"""

import statistics
from collections.abc import Callable

import numpy as np
import torch

import hyperproto as hp
from benchmarks.digits import digit_network
from hyperproto.data import Arrays, load_digits
from hyperproto.evaluation.confidence import Rejection, outlier_score
from hyperproto.metrics import measure_open_set

EPOCHS, SEEDS, HALVES, RATE = 10, range(5), 20, 0.05
KNOWN = 7
SPHERE = {"largest cosine": "cosine", "cosine and length": "length"}
ROWS: dict[str, tuple[Callable[[], hp.OutputSpace], dict[str, str]]] = {
    "sphere, D = 10 (Eq. 1)": (lambda: hp.Space(10, hp.Classes(KNOWN)), SPHERE),
    "sphere, D = 10, cosine softmax": (
        lambda: hp.Space(10, hp.Classes(KNOWN, loss=hp.losses.CosineSoftmax(16.0))),
        SPHERE,
    ),
    "softmax cross-entropy": (
        lambda: hp.baselines.ConventionalSpace(hp.Classes(KNOWN)),
        {"largest probability": "probability", "energy": "energy"},
    ),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for name, (build, kinds) in ROWS.items():
        found: dict[str, list[dict[str, float]]] = {label: [] for label in kinds}
        for seed in SEEDS:
            scores, norms, labels = outputs(build(), seed)
            for label, kind in kinds.items():
                found[label].append(measures(outlier_score(scores, norms, kind=kind), scores, labels))
        rows += [{"output space": name, "score": label, **summarize(measured)} for label, measured in found.items()]
    return f"Seven known digits, three unknown, five seeds, {EPOCHS} epochs, %", rows


def outputs(space: hp.OutputSpace, seed: int) -> tuple[np.ndarray, ...]:
    """Return scores, lengths and labels of the test part, -1 for unknown digits."""
    train, held_out = load_digits(seed=seed)
    unknown = np.random.default_rng(seed).choice(10, 10 - KNOWN, replace=False)
    lookup = torch.full((10,), -1)
    lookup[[digit for digit in range(10) if digit not in unknown]] = torch.arange(KNOWN)
    kept = lookup[train.targets] >= 0
    torch.manual_seed(seed)
    network = digit_network(space, size=8, seed=seed)
    data = Arrays(train.inputs[kept], lookup[train.targets[kept]])
    hp.fit(network, space, data, epochs=EPOCHS, lr=0.2, reduction="mean", seed=seed)
    with torch.no_grad():
        z = network.eval()(held_out.inputs)
        scores = space.scores(z)  # type: ignore[attr-defined]
    return scores.numpy(), z.norm(dim=1).numpy(), lookup[held_out.targets].numpy()


def measures(outliers: np.ndarray, scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    known, right = labels >= 0, scores.argmax(axis=1) == labels
    found = measure_open_set(outliers[known], outliers[~known], right[known])
    rejected = []
    for half in range(HALVES):
        fit, test = np.array_split(np.random.default_rng(half).permutation(outliers[known]), 2)
        rejected.append(1 - Rejection.fit(fit, RATE).accept(test).mean())
    return {
        "accuracy": float(right[known].mean()),
        "AUROC": found["auroc"],
        "FPR at 95 %": found["fpr_at_95"],
        "AUPR": found["aupr"],
        "OSCR": found["oscr"],
        "known rejected at 5 %": float(np.mean(rejected)),
    }


def summarize(measured: list[dict[str, float]]) -> dict[str, object]:
    def told(key: str) -> str:
        values = [100 * row[key] for row in measured]
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"

    return {key: told(key) for key in measured[0]} | {
        "AUROC by seed": " ".join(f"{100 * r['AUROC']:.1f}" for r in measured)
    }
