"""Logs for other people's viewers; a run's own are JSON and always there."""

from importlib import import_module
from pathlib import Path
from typing import Any

from hyperproto._core.errors import InputError
from hyperproto._core.extras import require
from hyperproto._core.registry import choose

__all__ = ["TensorBoardLog", "check_log"]


def check_log(log: str | None, folder: object) -> None:
    """Say before the first step that a log cannot be written."""
    if log is None:
        return
    choose(log, {"tensorboard": 0}, what="log")
    require("tensorboard", extra="tensorboard", purpose='log="tensorboard"')
    if folder is None:
        raise InputError(f'log="{log}" needs a folder to write into. Pass folder=...')


class TensorBoardLog:
    """Loss, learning rate and validation measures, one point an epoch; ``tensorboard --logdir RUN`` shows them."""

    def __init__(self, folder: Path, *, first_epoch: int) -> None:
        # points of epochs that are trained again are taken back
        self._writer = summary_writer(folder / "tensorboard", first_epoch)

    def epoch(self, record: dict[str, Any]) -> None:
        """Add one epoch of the history."""
        values = {"loss": record["loss"], "lr": record["lr"]}
        values |= {f"valid/{name}": value for name, value in record["valid"].items()}
        for name, value in values.items():
            self._writer.add_scalar(name, value, record["epoch"])
        self._writer.flush()

    def close(self) -> None:
        """Close its files."""
        self._writer.close()


def summary_writer(folder: Path, first_epoch: int) -> Any:
    """Return TensorBoard's writer."""
    return import_module("torch.utils.tensorboard").SummaryWriter(log_dir=str(folder), purge_step=first_epoch)
