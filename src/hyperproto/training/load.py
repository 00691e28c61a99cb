"""What a run's folder says, and its network and space read back from it; a folder is not to be
trusted.

A config comes from wherever the folder came from. It can name a network of ours and give it
numbers, no more; numbers that ask for more memory than the weights next to them account for are
refused before any is taken.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from hyperproto._core.checks import choose
from hyperproto._core.errors import HyperprotoError, InputError, MissingDataError
from hyperproto._core.files import as_path, read_json, read_records
from hyperproto._core.schema import read_plain, typed
from hyperproto.baselines import space_from_dict
from hyperproto.losses import LOSSES
from hyperproto.models import create_backbone
from hyperproto.prototypes import Prototypes
from hyperproto.runtime.model import is_model
from hyperproto.spaces import OutputSpace
from hyperproto.spec import RunSpec
from hyperproto.training.checkpoint import fill_weights, read_tensors
from hyperproto.training.distributed import use_channels_last
from hyperproto.training.run import FORMAT, EpochRecord, RunConfig, best_epoch

CALIBRATION = "calibration.json"
MOST = 2**24  # of any whole number: classes, columns, dimensions
MOST_LAYERS = 2000
WEIGHTS = ("last.safetensors", "best.safetensors", "checkpoint.safetensors")


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
        """The description from which data and network can be built again; None for a run of ``fit``
        alone.
        """
        stored = self.config.get("spec")
        if stored is None:
            return None
        try:
            return RunSpec.from_dict(stored)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f'The description of the run in "{self.folder}"', "be complete", error
            ) from None

    @property
    def finished(self) -> bool:
        """Whether training has ended."""
        return self.metrics is not None

    @property
    def best(self) -> dict[str, Any] | None:
        """The record of the best epoch; None where there was no validation."""
        index = best_epoch(self.history, self.settings.get("monitor"))
        return None if index is None else self.history[index]


def read_run(folder: str | Path) -> RunRecord:
    """Read what a run's folder says: its config, its epochs so far and, where it is finished, its
    measures.
    """
    folder = as_path(folder)
    metrics = folder / "metrics.json"
    return RunRecord(
        folder,
        read_config(folder),
        read_records(EpochRecord, folder / "epochs.jsonl"),
        typed(read_json(metrics), dict[str, Real | None], f'"{metrics}"')
        if metrics.is_file()
        else None,
    )


def read_config(folder: Path) -> dict[str, Any]:
    """Read the config of a run."""
    if not (folder / "config.json").is_file():
        got, advice = 'no "config.json"', "fit(folder=...) makes one, hyperproto train another."
        if is_model(folder):
            got = "an exported model"
            advice = "hyperproto predict takes it, and hyperproto.runtime.Predictor in Python."
        elif (folder / "estimator.json").is_file():
            got, advice = (
                "a saved estimator",
                "hyperproto export takes it, and hyperproto.load in Python.",
            )
        raise MissingDataError(f'"{folder}"', "hold a run", got, advice)
    config = read_json(folder / "config.json")
    found = config.get("format") if isinstance(config, dict) else None
    if found != FORMAT:
        got = found or "a config without a format"
        raise InputError(f'"{folder}"', f"be a run of format {FORMAT}", got)
    read_plain(RunConfig, config, f'"{folder / "config.json"}"')
    return dict(config)


class Loaded(NamedTuple):
    """A network and the space its outputs live in: ``network, space = hp.load(...)``."""

    network: nn.Module
    space: OutputSpace


def load(
    folder: str | Path,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Loaded:
    """Give back a run's network and space: ``network, space = hp.load("runs/digits")``. Nothing is
    placed again.

    Parameters
    ----------
    folder : path
        A folder that :func:`~hyperproto.training.fit.fit` wrote.
    which : {"last", "best"}
        The weights after the last epoch, or after the best one on validation data.
    network : nn.Module, optional
        Needed only for a network that is not of this library: build it as for training; its weights
        are filled in.
    space : OutputSpace, optional
        Needed only for a space that is not of this library.
    """
    folder = as_path(folder)
    choose(which, {"last": 0, "best": 0}, what="weights")
    read_config(folder)  # where there is no run at all, that is what to say
    path = folder / f"{which}.safetensors"
    if not path.is_file():
        reason = (
            "stopped before its first epoch ended" if which == "last" else "had no validation data"
        )
        raise MissingDataError(
            f'"{path}"', "hold weights", "no such file", f"The run may have {reason}."
        )
    built = rebuild(folder, network=network, space=space)
    fill_weights(built.network, built.space, read_tensors(path))
    return Loaded(built.network.eval(), built.space)


def rebuild(
    folder: str | Path, *, network: nn.Module | None = None, space: OutputSpace | None = None
) -> Loaded:
    """Build a run's network and space as :func:`load` does, with fresh weights: what resuming a run
    starts from.
    """
    folder = as_path(folder)
    config = read_config(folder)
    if network is None:
        if config["network"] is None:
            raise InputError(
                "network", f'be given for "{folder}", whose network is not one of hyperproto.models'
            )
        network = stored_network(config["network"], folder)
    if space is None:
        if config["space"] is None:
            raise InputError(
                "space", f'be given for "{folder}", whose space is not one of hyperproto'
            )
        _check_losses(config["space"], folder)
        space = stored_space(config["space"], folder)
    use_channels_last(network)
    return Loaded(network, space)


def stored_network(described: Any, folder: Path) -> nn.Module:
    """Build a network of ours, with fresh weights, from its name and numbers."""
    with _explained(folder, "network"):
        _check_numbers(described, "network")
        for layers in (described.get("depth", 0), *described.get("blocks", ())):
            if layers > MOST_LAYERS:
                raise InputError("A stored network", f"have at most {MOST_LAYERS} layers", layers)
        _check_size(described, folder)
        return create_backbone(**described)


def stored_space(described: Any, folder: Path) -> OutputSpace:
    """Build a space of ours around the prototypes that are stored: nothing is placed again."""
    with _explained(folder, "space"):
        _check_numbers(described, "space")
        return space_from_dict(described, stored_prototypes(folder, described))


def _check_losses(described: Any, folder: Path) -> None:
    """Raise where the loss of a task is a user's own."""
    with _explained(folder, "space"):
        names = [task["loss"]["name"] for task in described["tasks"] if task["task"] == "classes"]
    for name in names:
        if name not in (*LOSSES, "auto"):  # which baselines keep
            raise InputError(
                "space", f'be given for "{folder}", whose loss "{name}" is not one of hyperproto'
            )


def stored_prototypes(folder: Path, space: dict[str, Any]) -> dict[str, Prototypes]:
    """Read the prototypes of each class task of a stored sphere."""
    named = [task["name"] for task in space["tasks"] if task["task"] == "classes"]
    if space["kind"] != "sphere":
        named = []
    files = {name: folder / f"prototypes.{index}.safetensors" for index, name in enumerate(named)}
    for name, file in files.items():
        if not file.is_file():
            raise MissingDataError(f'"{file}"', f'hold the prototypes of "{name}"', "no such file")
    return {name: Prototypes.load(file) for name, file in files.items()}


def _check_numbers(value: Any, what: str) -> None:
    """Refuse whole numbers that no run of ours has."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_numbers(item, what)
    elif isinstance(value, int) and abs(value) > MOST:
        raise InputError(f"Numbers of a stored {what}", f"be at most {MOST}", f"{value:.3g}")


def _check_size(described: dict[str, Any], folder: Path) -> None:
    """Build the network without memory first, and compare it with the weights that are to be filled
    in.
    """
    stored = max(
        (path.stat().st_size for name in WEIGHTS if (path := folder / name).is_file()), default=None
    )
    if stored is None:
        return
    skeleton: nn.Module | None = None
    with (
        torch.device("meta"),
        suppress(NotImplementedError),
    ):  # some of timm's and torchvision's need real numbers
        skeleton = create_backbone(**described)
    needed = 0 if skeleton is None else sum(weights.numel() for weights in skeleton.parameters())
    if needed > stored:  # a number takes a byte at the very least
        raise InputError(
            "The network",
            f"have fewer weights than the {stored:,} bytes of its files",
            f"{needed:,}",
        )


@contextmanager
def _explained(folder: Path, what: str) -> Iterator[None]:
    """Turn whatever a damaged config leads to into a sentence that names the file."""
    try:
        yield
    except (HyperprotoError, OSError) as error:
        raise type(error)(f'The {what} of "{folder}" cannot be built. {error}') from None
    except (
        AttributeError,
        ArithmeticError,
        LookupError,
        MemoryError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        got, advice = f"{type(error).__name__}: {reason}", "It may have been edited."
        raise InputError(
            f'The {what} of "{folder}"', "be what its config.json can build", got, advice
        ) from None
