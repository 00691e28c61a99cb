"""Training as one call."""

from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Literal

import torch
from accelerate import Accelerator
from torch import nn

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.data import Batches, as_dataset
from hyperproto.data.batches import AnyDataset
from hyperproto.defaults import InputKind
from hyperproto.spaces import Classes, CompositeSpace, OutputSpace, Sphere, TaskSpace
from hyperproto.spec import SCHEDULES, ResolvedSettings, TrainSettings
from hyperproto.training.checkpoint import Checkpoint, Parts, machine_of, share
from hyperproto.training.checks import (
    check_batches,
    check_data,
    check_keep,
    check_monitor,
    check_outputs,
)
from hyperproto.training.engine import accelerator_for, prepare
from hyperproto.training.gradients import Gradients
from hyperproto.training.logs import TensorBoardLog, check_log
from hyperproto.training.loop import Loop
from hyperproto.training.outputs import use_channels_last
from hyperproto.training.pauses import Pauses
from hyperproto.training.progress import TrainingProgress
from hyperproto.training.resume import find_checkpoint, remark_on
from hyperproto.training.run import Run, RunFolder, describe_run

__all__ = ["fit"]


def fit(
    network: nn.Module,
    space: OutputSpace,
    train: Any,
    settings: TrainSettings | None = None,
    *,
    valid: Any = None,
    folder: str | Path | None = None,
    resume: bool = False,
    keep: Literal["last", "best"] = "last",
    checkpoint_seconds: float = 300.0,
    log: str | None = None,
    preprocessing: Any = None,
    recipe: dict[str, Any] | None = None,
    progress: bool | Literal["lines"] | None = None,
    **keywords: Any,
) -> Run:
    """Train a network to point where the space says, by stochastic gradient descent.

    Parameters
    ----------
    network : nn.Module
        Maps inputs to outputs of shape (n, space.dim). Trained in place. Seed its weights before.
    space : OutputSpace
        Gives the loss; its parameters, where it has any, are trained too.
    train, valid : pair (inputs, targets), Arrays, or torch Dataset
        Targets in the form the space takes. Their values are checked once: before the first step where they are
        in memory, else batch by batch in the first epoch.
    settings : TrainSettings, optional
        How to train; what is None in it is chosen by :mod:`hyperproto.defaults`.
    folder : path, optional
        Where to store the run; must not exist or be empty. None writes nothing.
    resume : bool, default False
        Continue the run in ``folder`` from its last checkpoint, to the same bits as if it had never stopped, given
        the same number of processes and threads. Weights of ``network`` and ``space`` are overwritten; everything
        else must be as it was. Where the folder has no run yet, one is started.
    keep : {"last", "best"}, default "last"
        Which weights the network ends with. A run that is stored has both in its folder, so "best" goes without one.
    checkpoint_seconds : float, default 300
        How often to write a checkpoint within an epoch; there is one at the end of each. Results do not depend on it.
    log : {"tensorboard"}, optional
        A log in ``folder`` in addition to its JSON.
    preprocessing : Preprocessing or dict, optional
        What is done to each input; stored with the run.
    recipe : dict, optional
        Whatever the caller needs to build data and network again, in plain values; stored with the run.
    progress : bool or "lines", optional
        Whether to show a progress bar; by default where standard error is a terminal. "lines" prints one line per
        epoch where it is not.
    **keywords
        Fields of :class:`~hyperproto.spec.TrainSettings`, in addition to ``settings`` or instead of it:
        ``fit(network, space, train, epochs=20, lr=0.01)``.

    Returns
    -------
    Run
    """
    given = {} if settings is None else settings.to_dict()
    asked = TrainSettings.from_dict(given | keywords)
    check_finite_number(checkpoint_seconds, "checkpoint_seconds", at_least=0)
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
    with accelerator_for(asked.mixed_precision) as accelerator:
        network.to(accelerator.device)
        space.to(accelerator.device)
        inputs = check_outputs(network, space, train_data, accelerator)
        check_monitor(asked, network, space, valid_data, accelerator)
        resolved = _resolve(asked, space, _length(train_data) or 1, inputs)
        config = describe_run(
            network,
            space,
            settings=resolved.to_dict(),
            data={"train": _length(train_data), "valid": _length(valid_data)},
            preprocessing=preprocessing.to_dict() if hasattr(preprocessing, "to_dict") else preprocessing,
            recipe=recipe,
        )
        run = Run(network, space, monitor=resolved.monitor)
        place = None if folder is None else Path(folder)
        return _fit(
            run,
            train_data,
            valid_data,
            resolved,
            config,
            place,
            accelerator,
            resume,
            checkpoint_seconds,
            log,
            progress,
            keep,
        )


def _fit(
    run: Run,
    train: AnyDataset,
    valid: AnyDataset | None,
    settings: ResolvedSettings,
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
    main = accelerator.is_main_process
    least = check_batches(settings, run.network, train, accelerator)
    store = RunFolder(folder) if folder is not None and main else None
    run.folder = folder if main else None
    checkpoint = share(_open(store, run, config, resume), accelerator)
    if checkpoint is not None:
        run.history[:] = checkpoint.state["history"]
    channels_last = use_channels_last(run.network)
    objective, optimizer = prepare(run.network, run.space, settings, accelerator)
    processes, rank = accelerator.num_processes, accelerator.process_index
    shared_out = {"rank": rank, "world": processes, "least": least}
    batches = Batches(train, settings.batch_size, shuffle=True, seed=settings.seed, **shared_out)
    part = -(-settings.batch_size // (processes * settings.accumulate)) if settings.accumulate > 1 else None
    gradients = Gradients(objective, run.space, settings.reduction, accelerator, part=part)
    first = 0 if checkpoint is None else checkpoint.position[0]
    writer = TensorBoardLog(folder, first_epoch=first) if log and folder is not None and main else None
    bar = TrainingProgress(settings.epochs * len(batches), settings.epochs, show=progress if main else False)
    pauses = Pauses(checkpoint_seconds, accelerator, active=folder is not None)
    with torch.random.fork_rng(), bar, pauses, closing(writer) if writer else nullcontext():
        Loop(
            run=run,
            parts=Parts(run.network, run.space, optimizer, accelerator, settings.seed),
            batches=batches,
            valid=valid,
            gradients=gradients,
            rate=SCHEDULES[settings.schedule],
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


def _resolve(settings: TrainSettings, space: OutputSpace, examples: int, inputs: InputKind) -> ResolvedSettings:
    """Choose what the settings leave open, by what the space is trained with."""
    tasks = list(space.tasks.values()) if isinstance(space, TaskSpace) else []
    counts = [task.num_classes for task in tasks if isinstance(task, Classes)]
    loss = "conventional"
    if isinstance(space, CompositeSpace):
        loss = "composite"
    elif isinstance(space, Sphere):
        names = {task.loss.name for task in tasks if isinstance(task, Classes)}
        loss = names.pop() if len(names) == 1 else "squared_cosine"
    largest, numbers = max(counts, default=0), len(tasks) - len(counts)
    return settings.resolve(loss, examples, inputs, num_classes=largest, num_ranges=numbers)
