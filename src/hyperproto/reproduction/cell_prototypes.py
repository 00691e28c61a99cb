"""From a cell to its prototypes: placed once, then read from a file by every other cell that needs them."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyperproto._core.errors import MissingDataError
from hyperproto.priors import Prior
from hyperproto.prototypes import Prototypes, place, word_vector_prototypes
from hyperproto.reproduction.interrupts import all_or_nothing
from hyperproto.reproduction.places import Places, what_is_missing
from hyperproto.reproduction.spec import Spec

__all__ = ["cell_prototypes", "describe_prototypes"]

METHODS = {
    "paper": "paper",
    "ours": "auto",
    "optimised": "optimise",
    "paper-prior": "paper",
    "ours-prior": "auto",
    "examples": "auto",
    "projected": "project",
}
LOOKS = ("examples", "projected")
FILES = {"authors": "sgd", "authors-prior": "sgd-sem"}


def cell_prototypes(
    spec: Spec,
    num_classes: int,
    axes: int,
    names: Sequence[str] | None,
    places: Places,
    look: Callable[[], Prior | None] | None = None,
) -> Prototypes:
    """Return the prototypes of a cell's class task, shape (num_classes, axes).

    Placements do not depend on the cell's seed: the paper's tables vary the training, not the prototypes. ``look``
    looks at the training examples, for prototypes that know them.
    """
    lacks = what_is_missing(spec, places, num_classes, axes)
    if lacks is not None:
        raise MissingDataError(f'Prototypes "{spec.prototypes}" cannot be had: {lacks}.')
    kind = str(spec.prototypes)
    if kind == "one-hot":
        made = Prototypes.one_hot(num_classes, axes)
    elif kind == "random":
        made = Prototypes.random(num_classes, axes, seed=0)
    elif kind in FILES:
        made = Prototypes.from_npy(_existing(places.authors_file(FILES[kind], spec, num_classes, axes)))
    elif kind == "word2vec":
        made = _word2vec(spec, num_classes, axes, names, places)
    else:
        made = _placed(kind, spec, num_classes, axes, names, places, look)
    return Prototypes(made.vectors, made.certificate, None if names is None else tuple(names))


def describe_prototypes(prototypes: Prototypes) -> dict[str, Any]:
    """Return what a record says about prototypes: where they come from, how far apart, and a hash of their bits."""
    separation = prototypes.separation()
    return {
        "method": prototypes.certificate.method,
        "separation": {"min": separation.min, "mean": separation.mean, "max": separation.max},
        "sha256": hashlib.sha256(prototypes.vectors.double().numpy(force=True).tobytes()).hexdigest(),
    }


def _word2vec(spec: Spec, num_classes: int, axes: int, names: Sequence[str] | None, places: Places) -> Prototypes:
    if places.words is not None:
        return word_vector_prototypes(places.words, names, axes, progress=False)
    return Prototypes.from_npy(_existing(places.authors_file("sem", spec, num_classes, axes)))


def _placed(
    kind: str,
    spec: Spec,
    num_classes: int,
    axes: int,
    names: Sequence[str] | None,
    places: Places,
    look: Callable[[], Prior | None] | None,
) -> Prototypes:
    """Place, or read what was placed before."""
    prior, source = _prior(spec, num_classes, names, places) if kind.endswith("-prior") else (None, "")
    if kind in LOOKS:
        assert look is not None, "a cell that is trained has examples"
        prior, source = look(), f"{spec.data} {spec.options} {spec.classes} {spec.train_images} {spec.held_out}"
    asked = json.dumps([kind, num_classes, axes, list(names or ()) if prior is not None else [], source])
    digest = hashlib.sha256(asked.encode()).hexdigest()[:12]
    path = places.runs / "prototypes" / f"{kind}-{axes}d-{num_classes}c-{digest}.safetensors"
    if path.is_file():
        return Prototypes.load(path)
    classes = num_classes if prior is None else list(names or map(str, range(num_classes)))
    # workers: cells are spread over the cores already
    with all_or_nothing():  # an interrupted placement must not pass for the one that every later cell reads
        made = place(classes, axes, prior=prior, seed=0, workers=1, progress=False, method=METHODS[kind])
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(path)
    return made


def _prior(spec: Spec, num_classes: int, names: Sequence[str] | None, places: Places) -> tuple[Any, str]:
    """Return word vectors, and what to know them by."""
    if places.words is not None:
        return places.words, f"{places.words.name}, {places.words.stat().st_size} bytes"
    path = _existing(places.author_words(spec, num_classes))
    vectors = np.load(path, allow_pickle=False)
    return dict(zip(names or map(str, range(num_classes)), vectors, strict=True)), path.name


def _existing(path: Path | None) -> Path:
    assert path is not None, "looked for by what_is_missing"
    return path
