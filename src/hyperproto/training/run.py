"""A run as an object and as a folder.

The folder holds ``config.json`` (network, space, settings, versions), ``prototypes.N.safetensors`` (once, one for
each class task), ``epochs.jsonl`` (a line an epoch), ``times.jsonl`` (wall-clock seconds, apart, since everything
else is the same when made again), ``last.safetensors`` (weights) and, at the end, ``metrics.json``. Numbers and text
only: loading one never runs or imports anything a file names.
"""

import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hyperproto._core.errors import InputError
from hyperproto._core.files import append_json_line, new_folder, read_json, replacing, write_json
from hyperproto._version import __version__
from hyperproto.models import Backbone, create_backbone
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace, Space
from hyperproto.spaces.config import space_from_dict, space_to_dict

__all__ = ["Loaded", "Run", "load"]

FORMAT = "hyperproto.run/1"


@dataclass
class Run:
    """What :func:`~hyperproto.training.fit.fit` returns: the trained parts, and how it went.

    Attributes
    ----------
    network, space
        The objects that were trained.
    history : list of dict
        One record per epoch: loss, learning rate, and the validation measures.
    metrics : dict
        The last validation measures.
    folder : Path or None
        Where it is stored; None writes nothing.
    """

    network: nn.Module
    space: OutputSpace
    folder: Path | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    _settings: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def metrics(self) -> dict[str, float]:
        """The validation measures after the last epoch."""
        return dict(self.history[-1]["valid"]) if self.history else {}

    def begin(self, settings: dict[str, Any]) -> None:
        """Make sure of the folder; what goes into it waits for the first epoch, so a failed start leaves none."""
        self._settings = settings
        if self.folder is not None:
            new_folder(self.folder)

    def _write_config(self) -> None:
        """Write config and prototypes, once."""
        assert self.folder is not None
        network = self.network
        config = {
            "format": FORMAT,
            "network": {"name": network.name, **network.config} if isinstance(network, Backbone) else None,
            "space": space_to_dict(self.space),
            "settings": self._settings,
            "versions": {
                "hyperproto": __version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
        }
        for index, prototypes in enumerate(_class_prototypes(self.space).values()):
            prototypes.save(self.folder / f"prototypes.{index}.safetensors")
        write_json(self.folder / "config.json", config)

    def end_epoch(self, record: dict[str, Any], seconds: float) -> None:
        """Remember an epoch, and where there is a folder, write it down with the weights."""
        self.history.append(record)
        if self.folder is not None:
            if len(self.history) == 1:
                self._write_config()
            self.save_weights()
            append_json_line(self.folder / "epochs.jsonl", record)
            append_json_line(self.folder / "times.jsonl", {"epoch": record["epoch"], "seconds": seconds})

    def finish(self) -> None:
        """Write the final measures."""
        if self.folder is not None:
            write_json(self.folder / "metrics.json", self.metrics)

    def save_weights(self) -> None:
        """Write the weights of network and space beside the old ones, then put them in their place."""
        assert self.folder is not None
        with replacing(self.folder / "last.safetensors") as beside:
            save_file(_weights(self.network, self.space), beside, metadata={"format": FORMAT})


class Loaded(NamedTuple):
    """A trained network, in evaluation mode, and the space its outputs live in."""

    network: nn.Module
    space: OutputSpace


def load(folder: str | Path, *, network: nn.Module | None = None, space: OutputSpace | None = None) -> Loaded:
    """Give back a run's network and space: ``network, space = hp.load("runs/digits")``. Nothing is placed again.

    Parameters
    ----------
    folder : path
        A folder that :func:`~hyperproto.training.fit.fit` wrote.
    network : nn.Module, optional
        Needed only for a network that is not one of ours: build it as for training, and its weights are filled in.
    space : OutputSpace, optional
        Needed only for a space that is not one of ours.
    """
    folder = Path(folder)
    config = _read_config(folder)
    if network is None:
        if config["network"] is None:
            raise InputError(f'The network of "{folder}" is not one of ours. Build it and pass network=...')
        network = create_backbone(**config["network"])
    if space is None:
        if config["space"] is None:
            raise InputError(f'The space of "{folder}" is not one of ours. Build it and pass space=...')
        named = [task["name"] for task in config["space"]["tasks"] if task["task"] == "classes"]
        if config["space"]["kind"] != "sphere":
            named = []
        files = {name: folder / f"prototypes.{index}.safetensors" for index, name in enumerate(named)}
        space = space_from_dict(config["space"], {name: Prototypes.load(file) for name, file in files.items()})
    _fill(network, space, folder / "last.safetensors")
    return Loaded(network.eval(), space)


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


def _class_prototypes(space: OutputSpace) -> dict[str, Prototypes]:
    if not isinstance(space, Space):
        return {}
    held = space.prototypes
    return {space.names[0]: held} if isinstance(held, Prototypes) else held


def _weights(network: nn.Module, space: OutputSpace) -> dict[str, Tensor]:
    """Return every tensor that training changed, by name; prototypes have a file of their own."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    if not isinstance(space, Space):
        tensors |= {f"space.{name}": tensor for name, tensor in space.state_dict().items()}
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}


def _fill(network: nn.Module, space: OutputSpace, path: Path) -> None:
    """Read weights into a network and a space that were built to match."""
    if not path.is_file():
        raise FileNotFoundError(f'No weights at "{path}". The run may have stopped before its first epoch ended.')
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise InputError(f'"{path}" is not a readable safetensors file ({error}).') from None
    for prefix, module in (("network.", network), ("space.", space)):
        own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        if prefix == "space." and not own:
            continue
        try:
            module.load_state_dict(own)
        except RuntimeError as error:
            first = str(error).splitlines()[-1].strip()
            raise InputError(f"The weights do not fit the {prefix[:-1]} given ({first}).") from None
