"""A run: as ``fit`` returns it, and as its folder tells of it."""

import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json, read_json_lines
from hyperproto._version import __version__
from hyperproto.baselines import space_to_dict
from hyperproto.models import Backbone
from hyperproto.spaces import OutputSpace
from hyperproto.spec import RunSpec
from hyperproto.training.stopping import best_epoch

__all__ = ["FORMAT", "FORMATS", "Run", "RunRecord", "describe_run", "read_config", "read_run"]

FORMAT = "hyperproto.run/2"
FORMATS = ("hyperproto.run/1", FORMAT)  # that can be read


@dataclass
class Run:
    """What :func:`~hyperproto.training.fit.fit` returns: what was trained, and how it went.

    Attributes
    ----------
    network, space
        The objects that were trained, with the weights of the last epoch.
    history : list of dict
        One record per epoch: loss, learning rate, and the validation measures.
    folder : Path or None
        Where it is stored; None writes nothing.
    monitor : str or None
        The validation measure that decides which epoch is best; None is the first one.
    """

    network: nn.Module
    space: OutputSpace
    folder: Path | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    monitor: str | None = None

    @property
    def metrics(self) -> dict[str, float]:
        """The validation measures after the last epoch."""
        return dict(self.history[-1]["valid"]) if self.history else {}

    @property
    def best(self) -> dict[str, Any] | None:
        """The record of the best epoch; None where there was no validation."""
        index = best_epoch(self.history, self.monitor)
        return None if index is None else self.history[index]


@dataclass(frozen=True)
class RunRecord:
    """What a run's folder says, without its weights.

    Attributes
    ----------
    folder : Path
    config : dict
        Network, space, settings, data, versions, as plain values.
    history : list of dict
        One record per epoch that has ended.
    metrics : dict or None
        The last measures; None where training is not finished.
    """

    folder: Path
    config: dict[str, Any]
    history: list[dict[str, Any]]
    metrics: dict[str, Any] | None

    @property
    def settings(self) -> dict[str, Any]:
        """Fields of :class:`~hyperproto.spec.TrainSettings`, as it was trained."""
        return dict(self.config.get("settings") or {})

    @property
    def preprocessing(self) -> dict[str, Any] | None:
        """What was done to each input, as ``preprocessing.to_dict()`` put it."""
        return self.config.get("preprocessing")

    @property
    def spec(self) -> RunSpec | None:
        """The description from which data and network can be built again; None for a run of ``fit`` alone."""
        stored = self.config.get("spec")
        if stored is None:
            return None
        try:
            return RunSpec.from_dict(stored)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f'The description of the run in "{self.folder}" is damaged ({error}).') from None

    @property
    def finished(self) -> bool:
        """Whether training has ended."""
        return self.metrics is not None

    @property
    def best(self) -> dict[str, Any] | None:
        """The record of the best epoch; None where there was no validation."""
        index = best_epoch(self.history, self.settings.get("monitor"))
        return None if index is None else self.history[index]


def describe_run(network: nn.Module, space: OutputSpace, **more: Any) -> dict[str, Any]:
    """Return a run's config: what is needed to build it again and to continue it."""
    return {
        "format": FORMAT,
        "network": {"name": network.name, **network.config} if isinstance(network, Backbone) else None,
        "space": space_to_dict(space),
        **more,
        "versions": {"hyperproto": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }


def read_run(folder: str | Path) -> RunRecord:
    """Read what a run's folder says: its config, its epochs so far and, where it is finished, its measures."""
    folder = Path(folder)
    metrics = folder / "metrics.json"
    return RunRecord(
        folder,
        read_config(folder),
        read_json_lines(folder / "epochs.jsonl"),
        read_json(metrics) if metrics.is_file() else None,
    )


def read_config(folder: Path) -> dict[str, Any]:
    """Read the config of a run, in its present form: runs of format hyperproto.run/1 had a flat "recipe"."""
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f'No run in "{folder}": expected "config.json". fit(folder=...) makes one.')
    config = read_json(folder / "config.json")
    found = config.get("format") if isinstance(config, dict) else None
    if found not in FORMATS:
        raise InputError(f'"{folder}"', f"be a run of format {FORMAT}", found or "a config without a format")
    if not {"network", "space"} <= set(config):
        raise InputError(f'"{folder / "config.json"}" lacks its network or its space. It may have been edited.')
    recipe = config.pop("recipe", None)
    if isinstance(recipe, dict) and "data" in recipe:
        config["spec"] = recipe
    return dict(config)
