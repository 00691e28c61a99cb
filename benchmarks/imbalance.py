"""Digits thinned to between 2 and 100 examples a class: balanced accuracy against softmax with the
same network.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

import hyperproto as hp
from hyperproto.data.preprocessing import Standardizer
from hyperproto.defaults import ROW_RATE, choose_steps
from hyperproto.models import create_backbone

SEEDS = range(10)
COUNTS = np.geomspace(2, 100, 10).round().astype(int)  # 2, 3, 5, 7, 11, 18, 27, 42, 65, 100
SOFTMAX = hp.losses.CosineSoftmax(16.0)
SPACES = {
    "sphere, cosine softmax": lambda: hp.Space(9, hp.Classes(10, loss=SOFTMAX)),
    "sphere, Eq. 1": lambda: hp.Space(9, hp.Classes(10, loss="paper")),
    "softmax cross-entropy": lambda: hp.baselines.ConventionalSpace(hp.Classes(10)),
}
SPACES_BALANCED = {
    "sphere, cosine softmax": lambda w: hp.Space(9, hp.Classes(10, loss=SOFTMAX, class_weight=w)),
    "sphere, Eq. 1": lambda w: hp.Space(9, hp.Classes(10, "paper", class_weight=w)),
    "softmax cross-entropy": lambda w: hp.baselines.ConventionalSpace(
        hp.Classes(10, class_weight=w)
    ),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [describe(name, weighed) for weighed in (False, True) for name in SPACES]
    finally:
        torch.set_num_threads(threads)
    title = f"Digits thinned to {', '.join(map(str, COUNTS))} a class, which class gets which by the seed"
    return title, rows


def describe(name: str, weighed: bool) -> dict[str, object]:
    scores = [balanced_accuracy(name, weighed, seed) for seed in SEEDS]
    against = [balanced_accuracy("softmax cross-entropy", weighed, seed) for seed in SEEDS]
    gaps = np.subtract(scores, against)
    return {
        "output space": name,
        "class weights": "balanced" if weighed else "none",
        "balanced accuracy, %": round(100 * float(np.mean(scores)), 2),
        "standard error": round(100 * float(np.std(scores, ddof=1) / np.sqrt(len(scores))), 2),
        "over softmax, %": round(100 * float(gaps.mean()), 2),
        "its standard error": round(100 * float(gaps.std(ddof=1) / np.sqrt(len(gaps))), 2),
        "seeds": len(scores),
    }


def thinned(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return few training rows of each class, and half of all rows to test on."""
    X, y = load_digits(return_X_y=True)
    X, test, y, true = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    counts = np.random.default_rng(seed).permutation(COUNTS)
    kept = np.concatenate(
        [np.flatnonzero(y == label)[:count] for label, count in enumerate(counts)]
    )
    return X[kept], y[kept], test, true


def balanced_accuracy(name: str, weighed: bool, seed: int) -> float:
    X, y, test, true = thinned(seed)
    weights = (len(y) / (10 * np.bincount(y, minlength=10))).tolist()
    space = SPACES_BALANCED[name](weights) if weighed else SPACES[name]()
    scale = Standardizer.fit(X)
    torch.manual_seed(seed)
    network = create_backbone(
        "mlp", out_dim=space.dim, in_features=64, hidden=[100], norm="layer"
    ).double()
    epochs, batch_size = choose_steps(len(y), "rows")
    settings = {"epochs": epochs, "batch_size": batch_size, "lr": ROW_RATE, "reduction": "mean"}
    hp.fit(network, space, (scale(X), torch.from_numpy(y)), seed=seed, progress=False, **settings)
    with torch.no_grad():
        found = space.predict(network.eval()(scale(test)))
    return float(balanced_accuracy_score(true, found.numpy()))
