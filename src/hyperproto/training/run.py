"""A run as an object and as a folder.

The folder holds

- ``recipe.json``: what was asked for, before data are read, where a run is trained from a recipe,
- ``starting.json``: which files are about to be written, from an empty folder until there is a config,
- ``config.json``: network, space, settings, sizes of the data, preprocessing, versions; once, before the first step,
- ``prototypes.N.safetensors``: once, one for each class task,
- ``epochs.jsonl``: a line an epoch; ``times.jsonl``: wall-clock seconds, apart, since everything else is the same
  when made again,
- ``last.safetensors``, ``best.safetensors``: weights after the last epoch, and after the best on validation data,
- ``checkpoint.safetensors``: the one file that resuming needs, replaced at the end of every epoch and from time to
  time within one; weights, momentum, random numbers, position and history from the same moment,
- ``metrics.json``: the last measures, when training is over,
- ``calibration.json``: how sure its answers are, where it was calibrated,
- ``failed_batch.safetensors``: where a loss was not finite.

Every file is written beside and renamed, except that lines are appended; resuming writes those anew from the
checkpoint's history. Numbers and text only: loading one never runs or imports anything a file names.
"""

import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from hyperproto._core.errors import InputError, StorageError
from hyperproto._core.files import (
    append_json_line,
    new_folder,
    read_json,
    read_json_lines,
    remove_unfinished,
    replacing,
    unfinished,
    write_json,
    write_json_lines,
)
from hyperproto._version import __version__
from hyperproto.baselines import space_to_dict
from hyperproto.models import Backbone
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace, Sphere
from hyperproto.training.best import best_epoch
from hyperproto.training.checkpoint import Checkpoint
from hyperproto.training.weights import weights_of

__all__ = [
    "CHECKPOINT",
    "FORMAT",
    "RECIPE",
    "Run",
    "RunFolder",
    "class_prototypes",
    "clear_false_start",
    "clear_note_of_start",
    "describe_run",
]

FORMAT = "hyperproto.run/1"
CHECKPOINT = "checkpoint.safetensors"
RECIPE = "recipe.json"
STARTING = "starting.json"
PROTOTYPES = r"prototypes\.\d+\.safetensors"
# every file of a run that is written beside and renamed, apart from prototypes.N.safetensors
REPLACED = (
    RECIPE,
    STARTING,
    CHECKPOINT,
    "config.json",
    "epochs.jsonl",
    "times.jsonl",
    "last.safetensors",
    "best.safetensors",
    "metrics.json",
    "calibration.json",
)


@dataclass
class Run:
    """What :func:`~hyperproto.training.fit.fit` returns: the trained parts, and how it went.

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


def describe_run(network: nn.Module, space: OutputSpace, **more: Any) -> dict[str, Any]:
    """Return a run's config: what is needed to build it again and to continue it."""
    return {
        "format": FORMAT,
        "network": {"name": network.name, **network.config} if isinstance(network, Backbone) else None,
        "space": space_to_dict(space),
        **more,
        "versions": {"hyperproto": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }


class RunFolder:
    """Writes a run down, such that it can be cut off anywhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._safe = "Nothing can be resumed yet"

    def begin(self, config: dict[str, Any], space: OutputSpace) -> None:
        """Write prototypes, then the config: where there is a config, there are prototypes."""
        if (self.path / RECIPE).exists():
            _check_recipe(self.path)
        new_folder(self.path, except_for=[RECIPE])
        with self._explained("config.json", 10_000):
            every = class_prototypes(space).values()
            placed = {f"prototypes.{index}.safetensors": prototypes for index, prototypes in enumerate(every)}
            # the folder was empty, so from here on files of these names are ours to remove
            write_json(self.path / STARTING, {"format": FORMAT, "files": list(placed)})
            for name, prototypes in placed.items():
                prototypes.save(self.path / name)
            write_json(self.path / "config.json", config)
            (self.path / STARTING).unlink()

    def go_back(self, checkpoint: Checkpoint) -> None:
        """Forget lines about epochs after a checkpoint, and files that were never finished."""
        epoch, _ = checkpoint.position
        self._remember(checkpoint)
        remove_unfinished(self.path, REPLACED)
        times = [line for line in read_json_lines(self.path / "times.jsonl") if line["epoch"] < epoch]
        with self._explained("epochs.jsonl", 10_000):
            write_json_lines(self.path / "epochs.jsonl", checkpoint.state["history"])
            write_json_lines(self.path / "times.jsonl", times)

    def end_epoch(self, run: Run, times: dict[str, Any]) -> None:
        """Write down an epoch and its weights; the checkpoint that makes it final comes after."""
        last = len(run.history) - 1
        for name in ["last", "best"] if best_epoch(run.history, run.monitor) == last else ["last"]:
            self._write_weights(f"{name}.safetensors", run)
        with self._explained("epochs.jsonl", 1000):
            append_json_line(self.path / "epochs.jsonl", run.history[-1])
            append_json_line(self.path / "times.jsonl", times)

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint in the place of the last one."""
        with self._explained(CHECKPOINT, checkpoint.size), replacing(self.path / CHECKPOINT) as beside:
            checkpoint.save(beside)
        self._remember(checkpoint)

    def finish(self, run: Run) -> None:
        """Write the final measures."""
        with self._explained("metrics.json", 1000):
            write_json(self.path / "metrics.json", run.metrics)

    def _write_weights(self, name: str, run: Run) -> None:
        weights = weights_of(run.network, run.space)
        size = sum(tensor.numel() * tensor.element_size() for tensor in weights.values())
        with self._explained(name, size), replacing(self.path / name) as beside:
            save_file(weights, beside, metadata={"format": FORMAT})

    def _remember(self, checkpoint: Checkpoint) -> None:
        epoch, step = checkpoint.position
        self._safe = (
            f"The last checkpoint (epoch {epoch + 1}, {step} steps done) is intact: make room, then resume the run"
        )

    @contextmanager
    def _explained(self, name: str, needed: int) -> Iterator[None]:
        """Turn a failure to write, of whatever kind, into a sentence."""
        try:
            yield
        except (OSError, SafetensorError) as error:
            reason = getattr(error, "strerror", None) or re.sub(r"^.*error: | \(os error \d+\)$", "", str(error))
            free = shutil.disk_usage(self.path).free
            raise StorageError(
                f'"{self.path / name}" could not be written: {reason}. It needs {needed / 1e6:.3f} MB; the disk has '
                f"{free / 1e6:.3f} MB free. {self._safe}."
            ) from error


def class_prototypes(space: OutputSpace) -> dict[str, Prototypes]:
    """Return the prototypes of each class task of a sphere; of other spaces, none."""
    if not isinstance(space, Sphere):
        return {}
    held = space.prototypes
    return {space.names[0]: held} if isinstance(held, Prototypes) else held


def clear_note_of_start(folder: Path) -> None:
    """Remove the note of a run that was killed between writing its config and removing the note."""
    if _written_before_config(folder):
        (folder / STARTING).unlink()


def clear_false_start(folder: Path) -> None:
    """Remove what a run that was killed before its config was written left behind.

    Looks first: where anything else is in the folder, it is refused and nothing is removed.
    """
    if not folder.is_dir():
        new_folder(folder)
        return
    ours = _written_before_config(folder)
    leftovers = unfinished(folder, [RECIPE, STARTING, "config.json", *ours])
    if (folder / RECIPE).exists():
        _check_recipe(folder)
    new_folder(folder, except_for=[RECIPE, *ours, *(path.name for path in leftovers)])
    for path in [*leftovers, *(folder / name for name in ours if name != STARTING), folder / STARTING]:
        path.unlink(missing_ok=True)


def _written_before_config(folder: Path) -> list[str]:
    """Return the files that a run noted before it wrote them; none where no run was killed at its start."""
    if not (folder / STARTING).is_file():
        return []
    noted = read_json(folder / STARTING)
    files = noted.get("files") if isinstance(noted, dict) and noted.get("format") == FORMAT else None
    if not isinstance(files, list):
        return []
    return [STARTING, *(name for name in files if isinstance(name, str) and re.fullmatch(PROTOTYPES, name))]


def _check_recipe(folder: Path) -> None:
    """Raise where a file called like a recipe is not one that a run wrote."""
    try:
        found = read_json(folder / RECIPE)
    except (InputError, OSError):
        found = None
    if not (isinstance(found, dict) and {"data", "protocol", "space"} <= set(found)):
        raise InputError(
            f'"{folder / RECIPE}" is not the recipe of a run, and would be overwritten. Choose another folder.'
        )
