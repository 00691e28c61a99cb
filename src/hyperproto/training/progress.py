"""What people see of training while it runs: a bar, one line per epoch, or TensorBoard."""

import time
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from hyperproto._core.errors import InputError, arg
from hyperproto._core.extras import require
from hyperproto._core.progress import ProgressBar
from hyperproto._core.registry import choose

__all__ = ["EpochLog", "check_log", "describe_measures"]


def describe_measures(measures: dict[str, float]) -> str:
    """Write measures as people read them: accuracies in percent, errors in their own unit.

    >>> describe_measures({"digit/accuracy": 0.951, "angle/mae": 5.5})
    'digit/accuracy 95.1 %  angle/mae 5.5'
    """
    return "  ".join(
        f"{name} {100 * value:.1f} %" if name.endswith("accuracy") else f"{name} {value:.3g}"
        for name, value in measures.items()
    )


def check_log(log: str | None, folder: object) -> None:
    """Say before the first step that a log cannot be written."""
    if log is None:
        return
    choose(log, {"tensorboard": 0}, what="log")
    require("tensorboard", extra="tensorboard", purpose=arg("log", '"tensorboard"'))
    if folder is None:
        raise InputError("folder", f"be given to write {arg('log', log)} into")


class EpochLog:
    """Reports each epoch: a line above the bar or alone, and a point in TensorBoard where that is asked for.

    Parameters
    ----------
    bar : ProgressBar
        Where the line goes, if it is shown.
    epochs : int
        Of how many.
    show : bool or "lines" or None
        "lines" prints where there is no bar.
    tensorboard : Path, optional
        The folder of its log; ``tensorboard --logdir RUN`` shows it.
    first_epoch : int
        Points of epochs from here on are taken back: they are trained again.
    """

    def __init__(
        self,
        bar: ProgressBar,
        epochs: int,
        show: bool | Literal["lines"] | None,
        *,
        tensorboard: Path | None,
        first_epoch: int,
    ) -> None:
        self.bar, self.epochs, self.lines = bar, epochs, show == "lines"
        self._started = time.monotonic()
        self._writer = None if tensorboard is None else summary_writer(tensorboard, first_epoch)

    def add(self, record: dict[str, Any]) -> None:
        """Report one epoch of the history."""
        described = describe_measures(record["valid"])
        line = f"epoch {record['epoch'] + 1}/{self.epochs}  loss {record['loss']:.4f}  {described}".rstrip()
        if self.bar.shown:
            self.bar.print(line)
        elif self.lines:
            print(f"{line}  ({time.monotonic() - self._started:.0f} s)", flush=True)
        if self._writer is not None:
            values = {"loss": record["loss"], "lr": record["lr"]}
            values |= {f"valid/{name}": value for name, value in record["valid"].items()}
            for name, value in values.items():
                self._writer.add_scalar(name, value, record["epoch"])
            self._writer.flush()

    def close(self) -> None:
        """Close the files of TensorBoard."""
        if self._writer is not None:
            self._writer.close()


def summary_writer(folder: Path, first_epoch: int) -> Any:
    """Return TensorBoard's writer."""
    return import_module("torch.utils.tensorboard").SummaryWriter(log_dir=str(folder), purge_step=first_epoch)
