"""Several labels at once: ``hp.Labels`` beside what people would use instead, with many and with few
examples.

``--data DIR`` or ``HYPERPROTO_DATA`` must name the folder with ``text/nlupp``: 3,080 sentences with
62 intents, 2.0 of them in a sentence and none in an eighth, in twenty folds that are taken in pairs.
With many examples all pairs but one are trained on, with few one alone. Words and pairs of words
are weighted by TF-IDF. Thresholds, rates and the strength of regularization are chosen on the first
two pairs by micro F1, each method with as many choices; the table is the mean over the next five,
trained and tested anew.
"""

import json
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multioutput import ClassifierChain
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

import hyperproto as hp
from hyperproto.data import Standardizer
from hyperproto.models import create_backbone

CHOSEN_ON, REPORTED_ON = range(2), range(2, 7)
THRESHOLDS = (0.1, 0.2, 0.3, 0.5)
Scores = Callable[[Any, np.ndarray, Any, float], np.ndarray]


def measure() -> tuple[str, list[dict[str, object]]]:
    data = os.environ.get("HYPERPROTO_DATA")
    title = "NLU++: several intents at once"
    if not data:
        return title, [{"skipped": "set HYPERPROTO_DATA to the folder that holds text/nlupp"}]
    texts, sets, folds = read_nlupp(Path(data) / "text" / "nlupp")
    rows: list[dict[str, object]] = []
    for many, (name, (score, settings)) in product((True, False), METHODS.items()):
        splits = {fold: split(texts, sets, folds // 2 == fold, many) for fold in range(7)}
        chosen, threshold = choose(score, settings, [splits[fold] for fold in CHOSEN_ON])
        found = [
            measures(test_sets, score(*train, test, chosen) > threshold)
            for *train, test, test_sets in (splits[fold] for fold in REPORTED_ON)
        ]
        rows.append(
            {
                "examples": "many" if many else "few",
                "method": name,
                "setting": f"{chosen:g}",
                "threshold": threshold,
                **dict(zip(("micro F1", "macro F1", "exact set"), mean(found), strict=True)),
            }
        )
        print(*rows[-1].values(), flush=True)
    return title, rows


def read_nlupp(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sentences, masks over the intents, and the fold of each."""
    found = [
        (row["text"], row.get("intents", []), fold)
        for domain, fold in product(("banking", "hotels"), range(20))
        for row in json.loads((folder / domain / f"fold{fold}.json").read_text(encoding="utf-8"))
    ]
    texts, sets, folds = zip(*found, strict=True)
    masks = hp.Labels.fit(sets, "intents").encode(sets)
    return np.array(texts, dtype=object), masks, np.array(folds)


def split(texts: np.ndarray, sets: np.ndarray, part: np.ndarray, many: bool) -> tuple[Any, ...]:
    """Return inputs and masks to train on, and those to test on."""
    train = ~part if many else part
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(texts[train])
    inputs = (csr_array(words.transform(texts[rows])) for rows in (train, ~train))
    (seen, new), masks = inputs, (sets[train], sets[~train])
    return seen, masks[0], new, masks[1]


def choose(score: Scores, settings: tuple[float, ...], splits: list[Any]) -> tuple[float, float]:
    """Return the setting and the threshold with the best mean micro F1."""
    best: dict[tuple[float, float], list[float]] = {}
    for setting, (*train, test, test_sets) in product(settings, splits):
        found = score(*train, test, setting)
        for threshold in THRESHOLDS:
            micro = measures(test_sets, found > threshold)[0]
            best.setdefault((setting, threshold), []).append(micro)
    return max(best, key=lambda pair: float(np.mean(best[pair])))


def measures(true: np.ndarray, told: np.ndarray) -> list[float]:
    """Return micro F1, macro F1 and how often the set is right, in %."""
    kinds = ("micro", "macro")
    found = [f1_score(true, told, average=kind, zero_division=0) for kind in kinds]
    return [100 * value for value in (*found, (true == told).all(axis=1).mean())]


def mean(found: list[list[float]]) -> Iterator[str]:
    """Yield the mean and the standard error of each measure over the folds."""
    for column in zip(*found, strict=True):
        yield f"{np.mean(column):.1f} ± {np.std(column, ddof=1) / len(column) ** 0.5:.1f}"


def most_frequent(inputs: Any, sets: np.ndarray, new: Any, setting: float) -> np.ndarray:
    """Return the most frequent set for every example."""
    kinds, counts = np.unique(sets, axis=0, return_counts=True)
    return np.repeat(kinds[[counts.argmax()]], new.shape[0], axis=0)


def one_vs_rest(inputs: Any, sets: np.ndarray, new: Any, strength: float) -> np.ndarray:
    """Return the probability of each label by a logistic regression of its own."""
    shares = np.zeros((new.shape[0], sets.shape[1]))
    for label in np.flatnonzero(sets.any(axis=0)):
        model = LogisticRegression(C=strength, solver="liblinear")
        shares[:, label] = model.fit(inputs, sets[:, label]).predict_proba(new)[:, 1]
    return shares


def chain(inputs: Any, sets: np.ndarray, new: Any, strength: float) -> np.ndarray:
    """Return the probability of each label by logistic regressions that see the labels before."""
    known, shares = np.flatnonzero(sets.any(axis=0)), np.zeros((new.shape[0], sets.shape[1]))
    model = ClassifierChain(LogisticRegression(C=strength, solver="liblinear"), random_state=0)
    shares[:, known] = model.fit(inputs, sets[:, known]).predict_proba(new)
    return shares


class CrossEntropy(hp.OutputSpace):
    """A binary cross-entropy for each label, on outputs that are logits."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def losses(self, z: Tensor, targets: Any, *, reduction: Any = "mean", **options: Any) -> Any:
        rows = binary_cross_entropy_with_logits(z, targets, reduction="none").sum(dim=1)
        return rows if reduction == "none" else getattr(rows, reduction)()

    def predict(self, z: Tensor) -> Tensor:
        return (z > 0).long()


def network(space: hp.OutputSpace, inputs: Any, sets: np.ndarray, new: Any, rate: float) -> Tensor:
    """Return the outputs for new rows, of the network that texts get by default."""
    scaling = Standardizer.fit(inputs, None, "global")
    seen, unseen = (scaling(rows.astype(np.float32)).float() for rows in (inputs, new))
    torch.manual_seed(0)
    mlp = create_backbone("mlp", out_dim=space.dim, in_features=inputs.shape[1], dropout=0.5)
    settings = hp.TrainSettings(lr=rate, weight_decay=1e-3)
    hp.fit(mlp, space, (seen, torch.from_numpy(sets)), settings, progress=False)
    with torch.no_grad():
        return mlp.eval()(unseen)


def cross_entropy(inputs: Any, sets: np.ndarray, new: Any, rate: float) -> np.ndarray:
    """Return the probability of each label by a network with a binary cross-entropy."""
    z = network(CrossEntropy(sets.shape[1]), inputs, sets, new, rate)
    return z.sigmoid().numpy()


def sphere(inputs: Any, sets: np.ndarray, new: Any, rate: float) -> np.ndarray:
    """Return the probability of each label by ``hp.Labels`` as it is by default."""
    space = hp.Space(sets.shape[1] + 1, hp.Labels(sets.shape[1]))
    found: Any = space.probabilities(network(space, inputs, sets, new, rate))
    return found.numpy()


def equation_1(inputs: Any, sets: np.ndarray, new: Any, rate: float) -> np.ndarray:
    """Return the nearest set by Equation 1, as 0 and 1."""
    space = hp.Space(sets.shape[1] + 1, hp.Labels(sets.shape[1], loss="paper"))
    found: Any = space.predict(network(space, inputs, sets, new, rate))
    return found.numpy()


METHODS: dict[str, tuple[Scores, tuple[float, ...]]] = {
    "the most frequent set": (most_frequent, (0,)),
    "one logistic regression per label": (one_vs_rest, (30, 300, 3000)),
    "a chain of logistic regressions": (chain, (30, 300, 3000)),
    "network, binary cross-entropy": (cross_entropy, (0.01, 0.03, 0.1)),
    "network, hp.Labels": (sphere, (0.1, 0.3, 0.5)),
    'network, hp.Labels(loss="paper"), nearest set': (equation_1, (0.1, 0.3, 1.0)),
}
