"""A trained model in whatever form it is at hand, and a changed one written down as a run's folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from hyperproto._core.errors import InputTypeError
from hyperproto._core.files import replacing, write_json, write_json_lines
from hyperproto.evaluation.new_classes.report import ClassChange
from hyperproto.spaces import OutputSpace
from hyperproto.training import Run, load, read_run
from hyperproto.training.run import FORMAT, RunFolder, describe_run
from hyperproto.training.weights import weights_of

__all__ = ["REPORT", "AnyModel", "Model", "open_model", "store_model", "store_report"]

REPORT = "new_classes.json"
AnyModel = Run | tuple[nn.Module, OutputSpace] | str | Path


@dataclass(frozen=True)
class Model:
    """A network, its space, and what the folder of its run says, where it has one."""

    network: nn.Module
    space: OutputSpace
    config: Mapping[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    monitor: str | None = None


def open_model(run: AnyModel, *, which: str = "last") -> Model:
    """Take a run, a network with its space, or the folder of a run."""
    if isinstance(run, str | Path):
        record = read_run(run)
        return Model(*load(run, which=which), record.config, record.history, record.settings.get("monitor"))
    if isinstance(run, Run):
        config = {} if run.folder is None else read_run(run.folder).config
        return Model(run.network, run.space, config, run.history, run.monitor)
    if isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], nn.Module):
        return Model(*run)
    raise InputTypeError(
        f"A trained model must be a run, its folder, or a pair (network, space); got {type(run).__name__}."
    )


def store_model(model: Model, space: OutputSpace, folder: str | Path | None) -> Run:
    """Return a run of the same network with another space, and write its folder where one is given."""
    history = list(model.history)
    if folder is None:
        return Run(model.network, space, None, history, model.monitor)
    run = Run(model.network, space, Path(folder), history, model.monitor)
    held = {
        key: value for key, value in model.config.items() if key not in ("format", "network", "space", "versions")
    }
    unknown = {"settings": {"epochs": len(history)}, "data": {"train": 0, "valid": None}}
    blank: dict[str, Any] = unknown | {"preprocessing": None, "recipe": None}
    RunFolder(Path(folder)).begin(describe_run(model.network, space, **(blank | held)), space)
    with replacing(Path(folder) / "last.safetensors") as beside:
        save_file(weights_of(model.network, space), beside, metadata={"format": FORMAT})
    write_json_lines(Path(folder) / "epochs.jsonl", history)
    write_json(Path(folder) / "metrics.json", run.metrics)
    return run


def store_report(run: Run, report: ClassChange) -> None:
    """Write the report into the folder of a run, where it has one."""
    if run.folder is not None:
        write_json(run.folder / REPORT, report.to_dict())
