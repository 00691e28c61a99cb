"""A run's folder read back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json, read_json_lines
from hyperproto._core.registry import choose
from hyperproto.spaces import OutputSpace
from hyperproto.training.best import best_epoch
from hyperproto.training.building import build_network, build_space
from hyperproto.training.outputs import use_channels_last
from hyperproto.training.run import FORMAT
from hyperproto.training.weights import fill, read_tensors

__all__ = ["CALIBRATION", "Loaded", "RunRecord", "load", "read_run", "rebuild"]


CALIBRATION = "calibration.json"


class _Pair(NamedTuple):
    network: nn.Module
    space: OutputSpace


class Loaded(_Pair):
    """A network and the space its outputs live in: ``network, space = ...``.

    ``calibration`` is what ``calibration.json`` says, as plain values for
    ``hyperproto.evaluation.Calibration.from_dict``; None where the run is not calibrated.
    """

    calibration: dict[str, Any] | None = None


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
        The last measures; None where training is not over.
    """

    folder: Path
    config: dict[str, Any]
    history: list[dict[str, Any]]
    metrics: dict[str, Any] | None

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords of :func:`~hyperproto.training.fit.fit`, as it was called."""
        return dict(self.config.get("settings") or {})

    @property
    def preprocessing(self) -> dict[str, Any] | None:
        """What was done to each input, as ``preprocessing.to_dict()`` put it."""
        return self.config.get("preprocessing")

    @property
    def recipe(self) -> dict[str, Any] | None:
        """What whoever called ``fit`` stored in order to build data and network again."""
        return self.config.get("recipe")

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return self.metrics is not None

    @property
    def best(self) -> dict[str, Any] | None:
        """The record of the best epoch; None where there was no validation."""
        index = best_epoch(self.history, self.settings.get("monitor"))
        return None if index is None else self.history[index]


def read_run(folder: str | Path) -> RunRecord:
    """Read what a run's folder says: its config, its epochs so far and, when it is over, its measures."""
    folder = Path(folder)
    metrics = folder / "metrics.json"
    return RunRecord(
        folder,
        _read_config(folder),
        read_json_lines(folder / "epochs.jsonl"),
        read_json(metrics) if metrics.is_file() else None,
    )


def load(
    folder: str | Path,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Loaded:
    """Give back a run's network and space: ``network, space = hp.load("runs/digits")``. Nothing is placed again.

    Parameters
    ----------
    folder : path
        A folder that :func:`~hyperproto.training.fit.fit` wrote.
    which : {"last", "best"}
        The weights after the last epoch, or after the best one on validation data.
    network : nn.Module, optional
        Needed only for a network that is not one of ours: build it as for training, and its weights are filled in.
    space : OutputSpace, optional
        Needed only for a space that is not one of ours.
    """
    folder = Path(folder)
    choose(which, {"last": 0, "best": 0}, what="weights")
    _read_config(folder)  # where there is no run at all, that is what to say
    path = folder / f"{which}.safetensors"
    if not path.is_file():
        reason = "stopped before its first epoch ended" if which == "last" else "had no validation data"
        raise FileNotFoundError(f'No weights at "{path}". The run may have {reason}.')
    network, space = rebuild(folder, network=network, space=space)
    fill(network, space, read_tensors(path))
    loaded = Loaded(network.eval(), space)
    if (folder / CALIBRATION).is_file():
        loaded.calibration = read_json(folder / CALIBRATION)
    return loaded


def rebuild(folder: str | Path, *, network: nn.Module | None = None, space: OutputSpace | None = None) -> Loaded:
    """Build a run's network and space as :func:`load` does, with fresh weights: what resuming a run starts from."""
    folder = Path(folder)
    config = _read_config(folder)
    if network is None:
        if config["network"] is None:
            raise InputError(f'The network of "{folder}" is not one of ours. Build it and pass network=...')
        network = build_network(config["network"], folder)
    if space is None:
        if config["space"] is None:
            raise InputError(f'The space of "{folder}" is not one of ours. Build it and pass space=...')
        space = build_space(config["space"], folder)
    use_channels_last(network)
    return Loaded(network, space)


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f'No run in "{folder}": expected "config.json". fit(folder=...) makes one.')
    config = read_json(folder / "config.json")
    found = config.get("format") if isinstance(config, dict) else None
    if found != FORMAT:
        raise InputError(f'"{folder}" must be a run of format {FORMAT}; it says {found}.')
    if not {"network", "space"} <= set(config):
        raise InputError(f'"{folder / "config.json"}" lacks its network or its space. It may have been edited.')
    return dict(config)
