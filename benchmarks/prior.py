"""Agreement with a prior and separation against the authors' published prototypes with privileged
information.

``HYPERPROTO_AUTHORS`` must name the folder that holds their ``sgd-sem`` and ``sem`` folders. The
prior is their own file of word vectors, ``sem/cifar100-100d-100c.npy``; with
``HYPERPROTO_WORD_VECTORS`` and ``HYPERPROTO_NAMES`` (vectors such as GloVe's, and the class names,
one a line) a second prior is looked up by name.
"""

import os
from pathlib import Path

import numpy as np

import hyperproto as hp
from hyperproto.codes.measure import Array, max_cosine, unit_rows
from hyperproto.codes.ranking import agreement
from hyperproto.priors import Prior, as_prior, from_vectors

DIMS = (3, 5, 10, 25, 50, 100)
OURS = {"ours": {}, "assignment": {"method": "assign"}, "separation only": {"prior_weight": 0.0}}


def measure() -> tuple[str, list[dict[str, object]]]:
    folder = os.environ.get("HYPERPROTO_AUTHORS")
    if not folder:
        return "Priors", [
            {"skipped": "set HYPERPROTO_AUTHORS to the folder with the authors' sgd-sem and sem"}
        ]
    words = np.load(Path(folder) / "sem" / "cifar100-100d-100c.npy")
    prior = from_vectors(words)
    rows = _rows("their word2vec", Path(folder), prior) + _by_name(Path(folder))
    return (
        "Separation and agreement with the prior of CIFAR-100's classes: the authors' prototypes and ours",
        rows,
    )


def _rows(source: str, folder: Path, prior: Prior) -> list[dict[str, object]]:
    rows = []
    for dim in DIMS:
        theirs = unit_rows(
            np.load(folder / "sgd-sem" / f"cifar100-{dim}d-100c.npy").astype(np.float64)
        )
        rows.append(_row(source, dim, "authors", theirs, prior))
        rows += [
            _row(source, dim, name, _placed(100, dim, prior, **how), prior)
            for name, how in OURS.items()
        ]
    return rows


def _by_name(folder: Path) -> list[dict[str, object]]:
    vectors, listed = (os.environ.get(f"HYPERPROTO_{name}") for name in ("WORD_VECTORS", "NAMES"))
    if not vectors or not listed:
        return []
    names = tuple(Path(listed).read_text(encoding="utf-8").split())
    prior = as_prior(vectors, names, len(names))
    return _rows(prior.source, folder, prior)


def _placed(num_classes: int, dim: int, prior: Prior, **options: object) -> Array:
    classes = prior.names or num_classes
    points: Array = hp.place(classes, dim, prior=prior, **options).vectors.numpy()  # type: ignore[arg-type]
    return points


def _row(source: str, dim: int, name: str, points: Array, prior: Prior) -> dict[str, object]:
    found = agreement(points, prior.similarity, weight=0.0, prior=source)
    shares = {
        "ranked by .01": found.ranked_by_margin,
        "Spearman": found.spearman,
        "Eq. 6": found.loss,
    }
    largest = round(max_cosine(points), 4)
    return {"prior": source, "D": dim, "prototypes": name, "max cosine": largest} | {
        key: round(value, 4) for key, value in shares.items()
    }
