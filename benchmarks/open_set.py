"""Digits of which three were never seen: how well are they told from the seven known ones?

Five seeds, each with other digits held out, the same network, rate and order for every row.
Cross-entropy is scored by the largest softmax probability and by the energy of its logits, the
sphere by the largest cosine alone and by `outlier_score`'s default, which looks at the length of
the output as well; its form and power were chosen on validation parts (`part="valid"`), and
everything here is measured on the test part. The last column rejects at a stated 5 %: a threshold
from one half of the known test digits, applied to the other, over 20 random halves per seed; and to
the known digits times ten, which are far outside of everything seen.

Then rows of tables and texts with classes held out, three seeds, the perceptron and everything else
by default: Banking77 without 17 of its intents and penguins without one species (where ``--data``
has them), wine without one cultivar, digits as rows without three. And photographs as ``hyperproto
train`` learns a folder of few of them: features of a frozen network, of 40 of CIFAR-100's classes
50 to 99, 100 training images each, the other ten unknown. They are those of ``python -m reproduction
--scale head``, from ``runs/features`` or computed there in half an hour.
"""

import os
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

import hyperproto as hp
from benchmarks.digits import digit_network
from hyperproto.data import Arrays, load_digits
from hyperproto.data.preprocessing import from_scipy, take_rows
from hyperproto.defaults import HEAD, choose_dim, choose_rate, choose_steps
from hyperproto.evaluation.confidence import Rejection, outlier_score
from hyperproto.metrics import measure_open_set
from hyperproto.models import create_backbone, default_backbone
from hyperproto.training.fit import kind_of
from reproduction.cell import at_scale, paper_cell
from reproduction.placements import Places
from reproduction.run_cell import read_cell_data

EPOCHS, SEEDS, HALVES, RATE = 10, range(5), 20, 0.05
KNOWN, FEATURES = 7, 1280
Parts = tuple[
    Tensor, NDArray[np.int64], Tensor, NDArray[np.int64]
]  # rows and class ids, to train on and to test
Answers = tuple[np.ndarray, np.ndarray]  # logits, shape (n, num_classes), and strengths, shape (n,)
SPHERE = {"entropy": "entropy", "strength": "strength"}
ROWS: dict[str, tuple[Callable[[], hp.OutputSpace], dict[str, str]]] = {
    "sphere, D = 10 (Eq. 1)": (lambda: hp.Space(10, hp.Classes(KNOWN, loss="paper")), SPHERE),
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
            answers = outputs(build(), seed)
            for label, kind in kinds.items():
                found[label].append(measures(kind, *answers))
        rows += [
            {"output space": name, "score": label, **summarize(measured)}
            for label, measured in found.items()
        ]
    for data, (load, unknown) in own_data().items():
        for name, kinds in (("sphere", SPHERE), ("softmax", ROWS["softmax cross-entropy"][1])):
            found = {label: [] for label in kinds}
            for seed in range(3):
                answers = default_outputs(name, load(seed), unknown, seed)
                for label, kind in kinds.items():
                    found[label].append(measures(kind, *answers))
            title = f"{data}: {name}, by default"
            rows += [
                {"output space": title, "score": label, **summarize(all_)}
                for label, all_ in found.items()
            ]
    return (
        f"Seven known digits, three unknown, five seeds, {EPOCHS} epochs; then other data, three seeds, %",
        rows,
    )


def own_data() -> dict[str, tuple[Callable[[int], Parts], int]]:
    """Return data by name: how to read them for a seed, and how many classes are held out."""
    found: dict[str, tuple[Callable[[int], Parts], int]] = {
        "digits as rows": (
            lambda seed: split_table(*datasets.load_digits(return_X_y=True), seed),
            3,
        ),
        "wine": (lambda seed: split_table(*datasets.load_wine(return_X_y=True), seed), 1),
    }
    folder = Path(os.environ.get("HYPERPROTO_DATA", "."))
    if (folder / "tables" / "penguins.csv").is_file():
        table = pd.read_csv(folder / "tables" / "penguins.csv").dropna()
        ids = pd.factorize(table["species"])[0]
        found["penguins"] = (
            lambda seed: split_table(table.select_dtypes("number").to_numpy(), ids, seed),
            1,
        )
    if (folder / "text" / "banking77").is_dir():
        found["Banking77"] = lambda seed: read_banking77(folder / "text" / "banking77"), 17
    if (folder / "cifar-100-binary").is_dir():
        found["CIFAR-100, frozen features"] = lambda seed: read_features(folder), 10
    return found


def split_table(inputs: NDArray[np.float64], ids: NDArray[np.int64], seed: int) -> Parts:
    train, test, known, asked = train_test_split(
        inputs, ids, test_size=0.4, random_state=seed, stratify=ids
    )
    scaler = StandardScaler().fit(train)
    first, second = (torch.from_numpy(scaler.transform(part)).float() for part in (train, test))
    return first, known, second, asked


def read_banking77(folder: Path) -> Parts:
    train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
    words, names = TfidfVectorizer(sublinear_tf=True), sorted(set(train["category"]))
    first, second = words.fit_transform(train["text"]), words.transform(test["text"])
    scale = 1 / np.sqrt(first.multiply(first).mean())
    rows = [from_scipy((part * scale).astype(np.float32)) for part in (first, second)]
    ids = [np.searchsorted(names, part["category"]) for part in (train, test)]
    return rows[0], ids[0], rows[1], ids[1]


def read_features(folder: Path) -> Parts:
    """Return features of CIFAR-100's classes 50 to 99: the first 100 training images of each, all
    test images.
    """
    cell = at_scale(paper_cell(reader="cifar-100", kind="conventional"), "head")
    source = read_cell_data(cell, Places(data=folder))
    assert source.test is not None
    parts: list[tuple[Tensor, NDArray[np.int64]]] = []
    for split, each in ((source.train, 100), (source.test, None)):
        labels = split.targets["class"]
        rows = torch.cat([(labels == k).nonzero().flatten()[:each] for k in range(50, 100)])
        assert isinstance(split.inputs, Tensor)
        parts.append((split.inputs[rows], labels[rows].numpy() - 50))
    return *parts[0], *parts[1]


def default_outputs(
    name: str, parts: Parts, unknown: int, seed: int
) -> tuple[np.ndarray, Answers, Answers]:
    """Return labels of the test rows, -1 for classes held out, and the answers to them and to ten
    times them.
    """
    train, ids, test, asked = parts
    count = int(ids.max()) + 1
    lookup = np.full(count, -1)
    held_out = np.random.default_rng(seed).choice(count, unknown, replace=False)
    lookup[np.setdiff1d(np.arange(count), held_out)] = np.arange(known := count - unknown)
    kept = lookup[ids] >= 0
    classes = hp.Classes(known)
    space = (
        hp.Space(choose_dim([known]), classes)
        if name == "sphere"
        else hp.baselines.ConventionalSpace(classes)
    )
    torch.manual_seed(seed)
    options, network = {}, default_backbone(space.dim, (train.shape[1],), kind_of(train))
    if train.shape[1] == FEATURES:  # as images: what learns on frozen features of them
        network = create_backbone("efficientnet-lite0", out_dim=space.dim, hidden=HEAD).output
        epochs, batch_size = choose_steps(int(kept.sum()), "images")
        reduction, lr = choose_rate("free_norm_softmax", "images")
        options = {"epochs": epochs, "batch_size": batch_size, "reduction": reduction, "lr": lr}
    rows = take_rows(train, torch.from_numpy(np.flatnonzero(kept)))
    hp.fit(
        network,
        space,
        (rows, torch.from_numpy(lookup[ids[kept]])),
        seed=seed,
        progress=False,
        **options,
    )
    return lookup[asked], answer(network, space, test), answer(network, space, 10 * test)


@torch.no_grad()
def answer(network: nn.Module, space: hp.OutputSpace, inputs: Tensor) -> Answers:
    """Return the logits of inputs, and how strongly they point at their class."""
    z, head = network.eval()(inputs), space.named_heads()["target"]  # type: ignore[attr-defined]
    return head.logits(z).numpy(), head.strength(z).numpy()


def outputs(space: hp.OutputSpace, seed: int) -> tuple[np.ndarray, Answers, Answers]:
    """Return labels of the test part, -1 for unknown digits, and the answers to it and to ten times
    it.
    """
    train, held_out = load_digits(seed=seed)
    unknown = np.random.default_rng(seed).choice(10, 10 - KNOWN, replace=False)
    lookup = torch.full((10,), -1)
    lookup[[digit for digit in range(10) if digit not in unknown]] = torch.arange(KNOWN)
    kept = lookup[train.targets] >= 0
    torch.manual_seed(seed)
    network = digit_network(space, size=8, seed=seed)
    data = Arrays(train.inputs[kept], lookup[train.targets[kept]])
    hp.fit(network, space, data, epochs=EPOCHS, lr=0.2, reduction="mean", seed=seed)
    answers = (answer(network, space, inputs) for inputs in (held_out.inputs, 10 * held_out.inputs))
    return lookup[held_out.targets].numpy(), *answers


def measures(kind: str, labels: np.ndarray, usual: Answers, far: Answers) -> dict[str, float]:
    known, right = labels >= 0, usual[0].argmax(axis=1) == labels
    rejected, rejected_far = [], []
    for half in range(HALVES):
        fit, test = np.array_split(
            np.random.default_rng(half).permutation(np.flatnonzero(known)), 2
        )
        longest = float(usual[1][fit].max())
        outliers, beyond = (
            outlier_score(*found, kind=kind, longest=longest) for found in (usual, far)
        )
        rejection = Rejection.fit(outliers[fit], RATE)
        rejected.append(1 - rejection.accept(outliers[test]).mean())
        rejected_far.append(1 - rejection.accept(beyond[known]).mean())
    found = measure_open_set(outliers[known], outliers[~known], right[known])
    return {
        "accuracy": float(right[known].mean()),
        "AUROC": found["auroc"],
        "FPR at 95 %": found["fpr_at_95"],
        "AUPR": found["aupr"],
        "OSCR": found["oscr"],
        "known rejected at 5 %": float(np.mean(rejected)),
        "times ten rejected": float(np.mean(rejected_far)),
    }


def summarize(measured: list[dict[str, float]]) -> dict[str, object]:
    def told(key: str) -> str:
        values = [100 * row[key] for row in measured]
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"

    return {key: told(key) for key in measured[0]} | {
        "AUROC by seed": " ".join(f"{100 * r['AUROC']:.1f}" for r in measured)
    }
