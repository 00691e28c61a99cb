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

import torch
from torch import nn

from hyperproto import models
from hyperproto._core.checks import MOST, choose
from hyperproto._core.errors import HyperprotoError, InputError, MissingDataError
from hyperproto._core.files import Plain, as_path, read_json, read_records
from hyperproto._core.schema import check_format, read_plain, typed
from hyperproto.baselines import space_from_dict
from hyperproto.losses import LOSSES
from hyperproto.prototypes import Prototypes
from hyperproto.runtime.model import is_model
from hyperproto.spaces import OutputSpace, TaskSpace
from hyperproto.spec import RunSpec
from hyperproto.tasks import task_kind
from hyperproto.training.checkpoint import fill_weights, read_tensors
from hyperproto.training.run import FORMAT, EpochRecord, Run, RunConfig, best_epoch
from hyperproto.training.steps import use_channels_last

CALIBRATION = "calibration.json"
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
    config: Plain
    history: list[Plain]
    metrics: Plain | None

    @property
    def settings(self) -> Plain:
        """Fields of :class:`~hyperproto.spec.TrainSettings`, as it was trained."""
        return dict(self.config.get("settings") or {})

    @property
    def preprocessing(self) -> Plain | None:
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
    def best(self) -> Plain | None:
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


def read_config(folder: Path) -> Plain:
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
    check_format(config, FORMAT, f'"{folder}"', "a run")
    read_plain(RunConfig, config, f'"{folder / "config.json"}"')
    return dict(config)


def load(
    folder: str | Path,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Run:
    """Give back a stored run, with its network ready to predict. Nothing is placed again.

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
    record = read_run(folder)
    choose(which, {"last": 0, "best": 0}, what="weights")
    path = record.folder / f"{which}.safetensors"
    if not path.is_file():
        reason = "stopped before its first epoch ended"
        if which == "best":
            reason = "had no validation data"
        advice = f"The run may have {reason}."
        raise MissingDataError(f'"{path}"', "hold weights", "no such file", advice)
    run = rebuild(folder, network=network, space=space)
    run.history, run.monitor = record.history, record.settings.get("monitor")
    fill_weights(run.network, run.space, read_tensors(path))
    run.network.eval()
    return run


def rebuild(
    folder: str | Path, *, network: nn.Module | None = None, space: OutputSpace | None = None
) -> Run:
    """Build a run's network and space as :func:`load` does, with fresh weights: what resuming a run
    starts from.
    """
    folder = as_path(folder)
    config = read_config(folder)
    for name, given in (("network", network), ("space", space)):
        if given is None and config[name] is None:
            raise InputError(name, f'be given for "{folder}", whose {name} is not of hyperproto')
    network = network or stored_network(config["network"], folder)
    space = space or stored_space(config["space"], folder)
    use_channels_last(network)
    return Run(network, space, folder)


def stored_network(described: Plain, folder: Path) -> models.Backbone:
    """Build a network of ours, with fresh weights, from its name and numbers."""
    with _explained(folder, "network"):
        _check_numbers(described, "network")
        for layers in (described.get("depth", 0), *described.get("blocks", ())):
            if layers > MOST_LAYERS:
                raise InputError("A stored network", f"have at most {MOST_LAYERS} layers", layers)
        _check_size(described, folder)
        return models.create_backbone(**described)


def stored_space(described: Plain, folder: Path) -> TaskSpace:
    """Build a space of ours around the prototypes that are stored: nothing is placed again."""
    with _explained(folder, "space"):
        _check_numbers(described, "space")
        tasks = described["tasks"]
        named = [task["loss"] for task in tasks if isinstance(task.get("loss"), dict)]
        losses = {loss["name"] for loss in named} - {*LOSSES, "auto"}
        if not losses:
            on_sphere = described["kind"] == "sphere"
            with_prototypes = [t["name"] for t in tasks if task_kind(t["task"]).has_prototypes]
            placed = {
                name: _stored_prototypes(folder, index, name)
                for index, name in enumerate(with_prototypes)
                if on_sphere
            }
            return space_from_dict(described, placed)
    rule = f'be given for "{folder}", whose loss "{losses.pop()}" is not one of hyperproto'
    raise InputError("space", rule)


def _stored_prototypes(folder: Path, index: int, name: str) -> Prototypes:
    file = folder / f"prototypes.{index}.safetensors"
    if not file.is_file():
        raise MissingDataError(f'"{file}"', f'hold the prototypes of "{name}"', "no such file")
    return Prototypes.load(file)


def _check_numbers(value: object, what: str) -> None:
    """Refuse whole numbers that no run of ours has."""
    match value:
        case dict():
            _check_numbers([*value.values()], what)
        case list():
            for item in value:
                _check_numbers(item, what)
        case int() if abs(value) > MOST:
            raise InputError(f"Numbers of a stored {what}", f"be at most {MOST}", f"{value:.3g}")


def _check_size(described: Plain, folder: Path) -> None:
    """Build the network without memory first, and compare it with the weights that are to be filled
    in.
    """
    files = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    # some of timm's and torchvision's need real numbers
    with torch.device("meta"), suppress(NotImplementedError):
        skeleton = models.create_backbone(**described)
        needed = sum(weights.numel() for weights in skeleton.parameters())
        stored = max((path.stat().st_size for path in files), default=needed)
        if needed > stored:  # a number takes a byte at the very least
            rule = f"have fewer weights than the {stored:,} bytes of its files"
            raise InputError("The network", rule, f"{needed:,}")


@contextmanager
def _explained(folder: Path, what: str) -> Iterator[None]:
    """Turn whatever a damaged config leads to into a sentence that names the file."""
    try:
        yield
    except (HyperprotoError, OSError) as error:
        raise type(error)(f'The {what} of "{folder}" cannot be built. {error}') from None
    except Exception as error:
        got = f"{type(error).__name__}: {str(error).partition(chr(10))[0] or 'no reason given'}"
        rule, advice = "be what its config.json can build", "It may have been edited."
        raise InputError(f'The {what} of "{folder}"', rule, got, advice) from None
