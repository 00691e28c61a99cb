"""A run as ``fit`` returns it, and which of its epochs is best: a pure function of the history,
nothing to store.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.checks import choose
from hyperproto._core.files import Plain, versions
from hyperproto.data.preprocessing import Preprocessing
from hyperproto.export import Exported, export_model
from hyperproto.models import Backbone
from hyperproto.spaces import OutputSpace
from hyperproto.tasks.task import higher_is_better

FORMAT = "hyperproto.run/3"
# errors of classes and of numbers that are told from none, where epochs are compared by several
LEAST_ERROR, TINY = 1e-3, 1e-300


@dataclass(frozen=True)
class RunConfig:
    """The parts of ``config.json``."""

    format: str
    network: Plain | None
    space: Plain | None
    settings: Plain = field(default_factory=dict)
    data: dict[str, int | None] = field(default_factory=dict)
    preprocessing: Plain | None = None
    spec: Plain | None = None


@dataclass(frozen=True)
class EpochRecord:
    """A line of ``epochs.jsonl``; files have null for NaN."""

    epoch: int
    loss: Real | None
    valid: dict[str, Real | None]
    lr: Real | None = None
    note: str = ""


@dataclass(frozen=True)
class EpochTime:
    """A line of ``times.jsonl``."""

    epoch: int
    seconds: Real
    steps: int = 0


@dataclass(repr=False)
class Run:
    """What :func:`~hyperproto.training.fit.fit` and ``hp.load`` return: what was trained, and how it
    went. ``network, space = hp.load(folder)`` takes the two apart.

    Attributes
    ----------
    network, space
        The objects that were trained, with the weights of the last epoch.
    history : list of dict
        One record per epoch: loss, learning rate, and the validation measures.
    folder : Path or None
        Where it is stored; None writes nothing.
    monitor : str or None
        The validation measure that decides which epoch is best; None is all of them.
    baseline : dict of float
        The measures of the baseline on the validation data (majority class, median); empty where ``fit`` was called
        directly.
    steps : int
        How many steps were taken.
    """

    network: nn.Module
    space: OutputSpace
    folder: Path | None = None
    history: list[Plain] = field(default_factory=list)
    monitor: str | None = None
    baseline: dict[str, float] = field(default_factory=dict)
    steps: int = 0

    def __repr__(self) -> str:
        """Say in a line what is worth knowing.

        >>> Run(nn.Identity(), OutputSpace, history=[{"valid": {"accuracy": 0.951}}])
        <Run: 1 epoch, accuracy 95.1 %, not stored>
        """
        epochs = f"{len(self.history)} epoch{'s' * (len(self.history) != 1)}"
        stored = "not stored" if self.folder is None else f'in "{self.folder}"'
        return (
            f"<Run: {', '.join(filter(None, (epochs, describe_measures(self.metrics), stored)))}>"
        )

    def __iter__(self) -> Iterator[Any]:
        return iter((self.network, self.space))

    def export(
        self,
        folder: str | Path,
        inputs: object,
        *,
        preprocessing: Preprocessing | None = None,
        calibration: Any = None,
        overwrite: bool = False,
    ) -> Exported:
        """Write a folder by which ``hyperproto.runtime.Predictor`` predicts without torch.

        A stored run that knows its data is exported from its folder by
        :func:`hyperproto.evaluation.export_run`.

        Parameters
        ----------
        folder : path
            Must be new or empty; with ``overwrite`` it may hold another exported model.
        inputs : array, tensor or ImageFiles
            Real inputs, on which torch and onnxruntime are compared: as ``fit`` took them, or with
            ``preprocessing`` as the :class:`~hyperproto.data.Source` has them.
        preprocessing : ImagePreprocessing or TablePreprocessing, optional
            That of the source: the model then takes image files, or rows as dicts.
        calibration : Calibration, optional
            What :func:`~hyperproto.evaluation.calibrate_run` returned.
        """
        return export_model(
            folder,
            self.network,
            self.space,
            inputs,
            preprocessing=preprocessing,
            about=calibration and calibration.about,
            measures=self.metrics,
            overwrite=overwrite,
        )

    @property
    def metrics(self) -> dict[str, float]:
        """The validation measures after the last epoch."""
        return dict(self.history[-1]["valid"]) if self.history else {}

    @property
    def best(self) -> Plain | None:
        """The record of the best epoch; None where there was no validation."""
        index = best_epoch(self.history, self.monitor)
        return None if index is None else self.history[index]


def describe_run(network: nn.Module, space: OutputSpace, **more: object) -> Plain:
    """Return a run's config: what is needed to build it again and to continue it."""
    return {
        "format": FORMAT,
        "network": {"name": network.name, **network.config}
        if isinstance(network, Backbone)
        else None,
        "space": space.to_dict(),
        **more,
        "versions": versions(),
    }


def monitored(record: Plain, monitor: str | None) -> float:
    """Return how good an epoch was, larger is better: an accuracy as it is, an error with its sign
    reversed.

    Parameters
    ----------
    record : dict
        One epoch of a run's history.
    monitor : str, optional
        The name of a validation measure (default: all of them). NaN where nothing was measured.

    Of several measures it is the mean of the logarithms of their errors, with its sign reversed:
    whatever the baseline reaches, the order of epochs is the same relative to it.

    >>> monitored({"valid": {"kind/accuracy": 0.9, "size/mae": 0.25}}, "size/mae")
    -0.25
    """
    measures = record["valid"]
    if not measures:
        return math.nan
    if monitor is None and len(measures) > 1:
        each = [monitored({"valid": {name: value}}, name) for name, value in measures.items()]
        errors = [
            max(1 - value, LEAST_ERROR) if higher_is_better(name) else max(-value, TINY)
            for name, value in zip(measures, each, strict=True)
            if not math.isnan(value)
        ]
        return -math.fsum(map(math.log, errors)) / len(errors) if errors else math.nan
    name = next(iter(measures)) if monitor is None else monitor
    value = choose(name, measures, what="measure to monitor")
    if value is None:  # how files write NaN
        return math.nan
    return float(value) if higher_is_better(name) else -float(value)


def best_epoch(history: list[Plain], monitor: str | None = None) -> int | None:
    """Return the index of the first epoch that no other surpasses; None where nothing was measured.

    >>> best_epoch([{"valid": {"accuracy": value}} for value in (0.5, 0.8, 0.7, 0.8)])
    1
    """
    best, where = -math.inf, None
    for index, record in enumerate(history):
        value = monitored(record, monitor)
        if value > best:
            best, where = value, index
    return where


def out_of_patience(history: list[Plain], monitor: str | None, patience: int | None) -> bool:
    """Return whether the last ``patience`` epochs brought nothing better."""
    if patience is None or not history:
        return False
    where = best_epoch(history, monitor)
    return len(history) - (0 if where is None else where + 1) >= patience


def describe_measures(
    measures: Mapping[str, float], baseline: Mapping[str, float] | None = None
) -> str:
    """Write measures as people read them: accuracies in percent, errors in their own unit.

    Next to each may stand what the baseline reaches.

    >>> describe_measures({"digit/accuracy": 0.951, "angle/mae": 5.5}, {"digit/accuracy": 0.1})
    'digit/accuracy 95.1 % (baseline 10.0 %)  angle/mae 5.5'
    """
    compared = {
        name: f" (baseline {_written(name, value)})" for name, value in (baseline or {}).items()
    }
    return "  ".join(
        f"{name} {_written(name, value)}{compared.get(name, '')}"
        for name, value in measures.items()
    )


def _written(name: str, value: float) -> str:
    return f"{100 * value:.1f} %" if higher_is_better(name) else f"{value:.3g}"
