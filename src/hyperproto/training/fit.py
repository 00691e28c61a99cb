"""Training as one call."""

from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Literal

import torch
from accelerate import Accelerator
from torch import nn

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.data import Batches, as_dataset
from hyperproto.data.arrays import AnyDataset
from hyperproto.spaces import OutputSpace
from hyperproto.training.checkpoint import Checkpoint, Parts, machine_of, share
from hyperproto.training.checks import (
    check_batches,
    check_data,
    check_keep,
    check_monitor,
    check_outputs,
    check_settings,
)
from hyperproto.training.engine import accelerator_for, prepare
from hyperproto.training.gradients import Gradients
from hyperproto.training.layout import lay_out
from hyperproto.training.logs import TensorBoardLog, check_log
from hyperproto.training.loop import Loop
from hyperproto.training.pauses import Pauses
from hyperproto.training.progress import TrainingProgress
from hyperproto.training.resume import find_checkpoint, remark_on
from hyperproto.training.run import Run, RunFolder, describe_run
from hyperproto.training.schedule import SCHEDULES

__all__ = ["fit"]


def fit(
    network: nn.Module,
    space: OutputSpace,
    train: Any,
    *,
    valid: Any = None,
    epochs: int,
    batch_size: int = 128,
    lr: float = 0.01,
    momentum: float = 0.9,
    weight_decay: float = 1e-4,
    schedule: str = "one-cycle",
    reduction: str = "sum",
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    accumulate: int = 1,
    patience: int | None = None,
    monitor: str | None = None,
    keep: Literal["last", "best"] = "last",
    mixed_precision: str | None = None,
    checkpoint_seconds: float = 300.0,
    log: str | None = None,
    preprocessing: Any = None,
    recipe: dict[str, Any] | None = None,
    progress: bool | Literal["lines"] | None = None,
) -> Run:
    """Train a network to point where the space says, by stochastic gradient descent.

    Parameters
    ----------
    network : nn.Module
        Maps inputs to outputs of shape (n, space.dim). Trained in place.
    space : OutputSpace
        Gives the loss; its parameters, where it has any, are trained too.
    train, valid : pair (inputs, targets), Arrays, or torch Dataset
        Targets in the form the space takes. Their values are checked once: before the first step where they are held
        in memory, else batch by batch in the first epoch.
    epochs : int
        Passes over the training data.
    batch_size : int, default 128
        Of all processes together: the number of processes does not change what is learned.
    lr, momentum, weight_decay : float
        paper: 0.01, 0.9 and 1e-4.
    schedule : {"one-cycle", "paper", "constant"}
        How the rate changes; "paper" divides by ten at 40 % and 80 %.
    reduction : {"sum", "mean"}, default "sum"
        How the losses of a batch become one; the paper's rate assumes "sum".
    seed : int, default 0
        Fixes the order of examples and all chance within the network. Weights are initialised before: seed those too.
    folder : path, optional
        Where to store the run; must not exist or be empty. None writes nothing.
    resume : bool, default False
        Continue the run in ``folder`` from its last checkpoint, to the same bits as if it had never stopped, given
        the same number of processes and threads. Weights of ``network`` and ``space`` are overwritten; everything
        else must be as it was. Where the folder holds no run yet, one begins.
    accumulate : int, default 1
        Compute a batch in so many parts, one after the other, for want of memory; the step taken is the same, except
        that batch normalisation sees the parts.
    patience : int, optional
        Stop after so many epochs that brought nothing better on validation data.
    monitor : str, optional
        The validation measure by which epochs are compared, such as "digit/accuracy"; by default the first.
    keep : {"last", "best"}, default "last"
        Which weights the network ends with. A run that is stored has both in its folder, so "best" goes without one.
    mixed_precision : {"no", "bf16", "fp16"}, optional
        As in Accelerate; what ``accelerate launch`` was told unless given.
    checkpoint_seconds : float, default 300
        How often to write a checkpoint within an epoch; there is one at the end of each. Results do not depend on it.
    log : {"tensorboard"}, optional
        A log in ``folder`` besides its JSON.
    preprocessing : Preprocessing or dict, optional
        What is done to each input; stored with the run.
    recipe : dict, optional
        Whatever the caller needs to build data and network again, in plain values; stored with the run.
    progress : bool or "lines", optional
        Whether to show a progress bar; by default where standard error is a terminal. "lines" prints a line an epoch
        where it is none.

    Returns
    -------
    Run
    """
    settings = check_settings(locals())
    if not isinstance(space, OutputSpace) or not isinstance(network, nn.Module):
        raise InputTypeError(
            f"`fit` takes a network, then a space; got {type(network).__name__} and {type(space).__name__}."
        )
    if resume and folder is None:
        raise InputError("resume=True needs the folder of the run to continue. Pass folder=...")
    check_log(log, folder)
    check_keep(keep, folder, valid)
    train_data = as_dataset(train, name="train")
    valid_data = None if valid is None else as_dataset(valid, name="valid")
    check_data(space, train_data)
    check_data(space, valid_data, scored=True)
    with accelerator_for(mixed_precision) as accelerator:
        network.to(accelerator.device)
        space.to(accelerator.device)
        check_outputs(network, space, train_data, accelerator)
        check_monitor(settings, network, space, valid_data, accelerator)
        config = describe_run(
            network,
            space,
            settings=settings,
            data={"train": _length(train_data), "valid": _length(valid_data)},
            preprocessing=preprocessing.to_dict() if hasattr(preprocessing, "to_dict") else preprocessing,
            recipe=recipe,
        )
        run = Run(network, space, monitor=monitor)
        place = None if folder is None else Path(folder)
        return _fit(
            run, train_data, valid_data, config, place, accelerator, resume, checkpoint_seconds, log, progress, keep
        )


def _fit(
    run: Run,
    train: AnyDataset,
    valid: AnyDataset | None,
    config: dict[str, Any],
    folder: Path | None,
    accelerator: Accelerator,
    resume: bool,
    checkpoint_seconds: float,
    log: str | None,
    progress: bool | Literal["lines"] | None,
    keep: str,
) -> Run:
    """Open the folder, set up the machine, and train."""
    settings, main = config["settings"], accelerator.is_main_process
    least = check_batches(settings, run.network, train, accelerator)
    store = RunFolder(folder) if folder is not None and main else None
    run.folder = folder if main else None
    checkpoint = share(_open(store, run, config, resume), accelerator)
    if checkpoint is not None:
        run.history[:] = checkpoint.state["history"]
    channels_last = lay_out(run.network)
    objective, optimizer = prepare(run.network, run.space, settings, accelerator)
    processes, rank = accelerator.num_processes, accelerator.process_index
    shared_out = {"rank": rank, "world": processes, "least": least}
    batches = Batches(train, settings["batch_size"], shuffle=True, seed=settings["seed"], **shared_out)
    part = -(-settings["batch_size"] // (processes * settings["accumulate"])) if settings["accumulate"] > 1 else None
    gradients = Gradients(objective, run.space, settings["reduction"], accelerator, part=part)
    first = 0 if checkpoint is None else checkpoint.position[0]
    writer = TensorBoardLog(folder, first_epoch=first) if log and folder is not None and main else None
    bar = TrainingProgress(settings["epochs"] * len(batches), settings["epochs"], show=progress if main else False)
    pauses = Pauses(checkpoint_seconds, accelerator, active=folder is not None)
    with torch.random.fork_rng(), bar, pauses, closing(writer) if writer else nullcontext():
        Loop(
            run=run,
            parts=Parts(run.network, run.space, optimizer, accelerator, settings["seed"]),
            batches=batches,
            valid=valid,
            gradients=gradients,
            rate=SCHEDULES[settings["schedule"]],
            settings=settings,
            folder=folder,
            store=store,
            log=writer,
            bar=bar,
            pauses=pauses,
            channels_last=channels_last,
            keep_best=keep == "best",
            remark=None if checkpoint is None else remark_on(checkpoint, machine_of(accelerator)),
        ).train(checkpoint)
    return run


def _open(store: RunFolder | None, run: Run, config: dict[str, Any], resume: bool) -> Checkpoint | None:
    """Begin a folder, or return the checkpoint in it to continue from."""
    if store is None:
        return None
    checkpoint = find_checkpoint(store.path, config, run.space) if resume else None
    if checkpoint is not None:
        store.go_back(checkpoint)
    elif not (resume and (store.path / "config.json").is_file()):
        store.begin(config, run.space)
    return checkpoint


def _length(data: AnyDataset | None) -> int | None:
    return None if data is None else len(data)  # type: ignore[arg-type]  # map-style data sets have a length
