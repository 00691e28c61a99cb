"""The training loop."""

import time
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from hyperproto._core.errors import InputTypeError
from hyperproto._core.seeding import derive_seed
from hyperproto.data import Arrays, Batches, as_dataset
from hyperproto.data.arrays import AnyDataset
from hyperproto.spaces import OutputSpace
from hyperproto.training.checks import check_data, check_outputs, check_settings
from hyperproto.training.engine import accelerator_for, prepare, take_step, whole_batch_loss
from hyperproto.training.evaluate import evaluate, to_device
from hyperproto.training.progress import TrainingProgress
from hyperproto.training.run import Run
from hyperproto.training.schedule import SCHEDULES
from hyperproto.training.watch import LossWatch

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
    mixed_precision: str | None = None,
    progress: bool | None = None,
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
    mixed_precision : {"no", "bf16", "fp16"}, optional
        As in Accelerate; what ``accelerate launch`` was told unless given.
    progress : bool, optional
        Whether to show a progress bar; by default where standard error is a terminal.

    Returns
    -------
    Run
    """
    settings = check_settings(locals())
    if not isinstance(space, OutputSpace) or not isinstance(network, nn.Module):
        raise InputTypeError(
            f"`fit` takes a network, then a space; got {type(network).__name__} and {type(space).__name__}."
        )
    train_data = as_dataset(train, name="train")
    valid_data = None if valid is None else as_dataset(valid, name="valid")
    for data in (train_data, valid_data):
        check_data(space, data)
    with accelerator_for(mixed_precision) as accelerator:
        network.to(accelerator.device)
        space.to(accelerator.device)
        check_outputs(network, space, train_data, accelerator)
        return _fit(network, space, train_data, valid_data, settings, folder, progress, accelerator)


def _fit(
    network: nn.Module,
    space: OutputSpace,
    train: AnyDataset,
    valid: AnyDataset | None,
    settings: dict[str, Any],
    folder: str | Path | None,
    progress: bool | None,
    accelerator: Accelerator,
) -> Run:
    """Train: everything is checked by now."""
    epochs, seed, lr, reduction = (settings[name] for name in ("epochs", "seed", "lr", "reduction"))
    run = Run(network, space, Path(folder) if folder is not None and accelerator.is_main_process else None)
    run.begin(settings)
    objective, optimizer = prepare(network, space, settings, accelerator)
    batches = Batches(
        train,
        settings["batch_size"],
        shuffle=True,
        seed=seed,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
    )
    rate = SCHEDULES[settings["schedule"]]
    total, step = epochs * len(batches), 0

    with torch.random.fork_rng(), TrainingProgress(total, epochs, show=_shows(progress, accelerator)) as bar:
        for epoch in range(epochs):
            torch.manual_seed(derive_seed(seed, "epoch", epoch, accelerator.process_index))
            started = time.perf_counter()
            space.begin_epoch(epoch)
            network.train()
            watch = LossWatch(epoch, every=1 if accelerator.device.type == "cpu" else 50)
            for inputs, targets in batches.epoch(epoch):
                for group in optimizer.param_groups:
                    group["lr"] = lr * rate(step / total)
                if epoch == 0 and not isinstance(train, Arrays):
                    space.check(targets)
                inputs, targets = (to_device(part, accelerator.device) for part in (inputs, targets))
                z, losses = objective(inputs, targets)
                loss = whole_batch_loss(losses, targets, space, reduction, accelerator)
                watch.see(loss)
                take_step(loss, optimizer, accelerator)
                space.observe(z.detach(), targets)
                step += 1
                bar.update(epoch, step, watch.last, run.metrics)
            record = {"epoch": epoch, "loss": watch.mean(accelerator), "lr": optimizer.param_groups[0]["lr"]}
            record["valid"] = {}
            if valid is not None:
                record["valid"] = evaluate(network, space, valid, accelerator=accelerator)
            run.end_epoch(record, time.perf_counter() - started)
    run.finish()
    return run


def _shows(progress: bool | None, accelerator: Accelerator) -> bool | None:
    return progress if accelerator.is_main_process else False
