"""Where things are: data, word vectors, the authors' prototypes, records and runs."""

from dataclasses import dataclass
from pathlib import Path

from hyperproto.data import READERS
from hyperproto.reproduction.spec import Spec

__all__ = ["AUTHORS_NAMES", "Places", "what_is_missing"]

AUTHORS_NAMES = {"cifar-100": "cifar100", "cifar-100-uneven": "cifar100", "imagenet-200": "imagenet200"}
WORDY = ("word2vec", "paper-prior", "ours-prior")


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
        Records go to ``results/cells/NAME/ADDRESS.json``.
    runs : Path
        What is trained goes to ``runs/cells/ADDRESS``, placements to ``runs/prototypes``.
    """

    data: Path | None = None
    words: Path | None = None
    authors: Path | None = None
    results: Path = Path("results")
    runs: Path = Path("runs")

    def authors_file(self, kind: str, spec: Spec, num_classes: int, dim: int) -> Path | None:
        """Return the authors' file of some prototypes, or None where they have none of that size."""
        prefix = "prototypes" if kind == "sgd" else AUTHORS_NAMES.get(spec.data)
        if self.authors is None or prefix is None:
            return None
        path = self.authors / kind / f"{prefix}-{dim}d-{num_classes}c.npy"
        return path if path.is_file() else None

    def author_words(self, spec: Spec, num_classes: int) -> Path | None:
        """Return the authors' word vectors of all classes: their file of as many dimensions as classes."""
        return self.authors_file("sem", spec, num_classes, num_classes)


def what_is_missing(spec: Spec, places: Places, num_classes: int, axes: int) -> str | None:
    """Return in a sentence what a cell lacks to be run here; None where it lacks nothing.

    Parameters
    ----------
    num_classes, axes : int
        Of the class task; used to look for a file of the authors'.
    """
    if spec.kind == "train" and not _has_data(spec.data, places):
        return f'"{spec.data}" is not in --data {places.data or "DIR"}: docs/data.md says where to get it'
    if spec.prototypes == "authors" and places.authors_file("sgd", spec, num_classes, axes) is None:
        return _no_file(places, "sgd", num_classes, axes)
    if spec.prototypes == "authors-prior" and places.authors_file("sgd-sem", spec, num_classes, axes) is None:
        return _no_file(places, "sgd-sem", num_classes, axes)
    if spec.prototypes not in WORDY:
        return None
    if places.words is not None:
        has_names = spec.kind == "train" or _has_data(spec.data, places)
        return None if has_names else f'the names of the classes are in "{spec.data}": give --data DIR'
    theirs = axes if spec.prototypes == "word2vec" else num_classes
    if places.authors_file("sem", spec, num_classes, theirs) is None:
        return "it needs word vectors: --words FILE, or the authors' with --authors DIR"
    return None


def _has_data(reader: str, places: Places) -> bool:
    return places.data is not None and places.data.exists() and bool(READERS[reader].is_at(places.data))


def _no_file(places: Places, kind: str, num_classes: int, axes: int) -> str:
    if places.authors is None:
        return "it needs the authors' prototypes: --authors DIR"
    return f'there are no {kind} prototypes of {num_classes} classes in {axes} dimensions in "{places.authors}"'
