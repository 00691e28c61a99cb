"""Training as one call."""

import copy
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from hyperproto._core.checks import (
    check_finite_number,
    check_finite_rows,
    check_output_width,
    choose,
)
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.files import as_path
from hyperproto._core.processes import from_first
from hyperproto._core.progress import progress_bar
from hyperproto.data import Examples, as_examples
from hyperproto.data.preprocessing import Standardizer, is_sparse
from hyperproto.defaults import SCHEDULE, InputKind, choose_rate, choose_steps, choose_weight_decay
from hyperproto.spaces import CompositeSpace, OutputSpace, Sphere, TaskSpace
from hyperproto.spec import ResolvedSettings, TrainSettings
from hyperproto.tasks.classes import BALANCED
from hyperproto.training.distributed import GracefulShutdown, Machine, move
from hyperproto.training.folder import RunFolder, saying_what_is_safe
from hyperproto.training.loop import Callback, EpochLog, Loop
from hyperproto.training.optimizer import (
    MakeOptimizer,
    build_optimizer,
    check_optimizer,
    describe_optimizer,
)
from hyperproto.training.outputs import measure
from hyperproto.training.run import Run, describe_run


def fit(
    network: nn.Module,
    space: OutputSpace,
    train: Any,
    settings: TrainSettings | None = None,
    *,
    valid: Any = None,
    sample_weight: Any = None,
    folder: str | PathLike[str] | None = None,
    resume: bool = False,
    restore_best: bool = False,
    optimizer: MakeOptimizer | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = 300.0,
    preprocessing: Any = None,
    progress: bool | Literal["lines"] | None = None,
    **keywords: Any,
) -> Run:
    """Train a network to point where the space says, by default by stochastic gradient descent.

    Parameters
    ----------
    network : nn.Module
        Maps inputs to outputs of shape (n, space.dim). Seed its weights before. It is trained in place
        and left in evaluation mode, ready to predict.
    space : OutputSpace
        Gives the loss; its parameters, where it has any, are trained too.
    train, valid : pair (inputs, targets), Arrays, torch Dataset or DataLoader
        Targets in the form the space takes. Their values are checked once: before the first step
        where they are in memory, else batch by batch in the first epoch. A DataLoader has its own
        batches and order, in one process; a stored run then goes on from the start of an epoch.
    sample_weight : array, shape (n,), optional
        Weight of each example of ``train``, as if it were there so many times; weights whose mean
        is 1 leave the length of steps as it is.
    settings : TrainSettings, optional
        How to train; what is None in it is chosen by :mod:`hyperproto.defaults`.
    folder : path, optional
        Where to store the run; must not exist or be empty. None writes nothing.
    resume : bool, default False
        Continue the run in ``folder`` from its last checkpoint, to the same bits as if it had never
        stopped, given the same number of processes and threads. Weights of ``network`` and
        ``space`` are overwritten; everything else must be as it was. Where the folder has no run
        yet, one is started.
    restore_best : bool, default False
        End with the weights of the best epoch on validation data, instead of the last.
    optimizer : callable from a list of parameters to a torch.optim.Optimizer, optional
        In place of the settings' gradient descent: ``lambda parameters:
        torch.optim.AdamW(parameters, lr=1e-3)``. The schedule multiplies the rates of its groups.
        It is resumed to the same bits, too, given the same function again; another is refused, and
        so is storing one whose state is not in tensors.
    callbacks : sequence of callables
        Each called with a copy of an epoch's record (``epoch``, ``loss``, ``lr``, ``valid``) after
        the epoch is stored, in every process. Resuming does not repeat calls; changes a callback
        makes to weights are not stored.
    checkpoint_seconds : float, default 300
        How often to write a checkpoint within an epoch; there is one at the end of each. Results do
        not depend on it.
    preprocessing : Preprocessing or dict, optional
        What is done to each input; stored with the run.
    progress : bool or "lines", optional
        Whether to show a progress bar; by default where standard error is a terminal. "lines"
        prints one line per epoch where it is not.
    **keywords
        Fields of :class:`~hyperproto.spec.TrainSettings`, in addition to ``settings`` or instead of
        it: ``fit(network, space, train, epochs=20, lr=0.01)``.

    Returns
    -------
    Run
    """
    given = settings or TrainSettings()
    if keywords:
        given = TrainSettings.from_dict({**given.to_dict(), **keywords})
    _check_arguments(network, space, callbacks, checkpoint_seconds)
    check_optimizer(optimizer, given)
    if resume and folder is None:
        raise InputError(
            "folder", f"be that of the run to continue with {arg('resume', True)}", "none"
        )
    train_data = as_examples(train, name="train")
    valid_data = None if valid is None else as_examples(valid, name="valid")
    _check_values(space, train_data)
    if valid_data is not None:
        _check_values(space, valid_data, scored=True)
    weight = None if sample_weight is None else _check_weight(sample_weight, train_data)
    path = None if folder is None else as_path(folder)
    given, example = _first_example(train_data, given, stored=path is not None)
    resolved = resolve_settings(given, space, len(train_data), kind_of(example, preprocessing))
    machine = Machine.here(resolved.mixed_precision)
    main, device = machine.is_first, machine.device
    with (
        torch.random.fork_rng(),
        saying_what_is_safe(path),
        ExitStack() as opened,
    ):
        network.to(device)
        space.to(device)
        z = _check_outputs(network, space, example, device)
        _check_monitor(resolved, space, z, restore_best=restore_best, has_valid=valid is not None)
        min_rows = _check_batches(resolved, network, example, train_data, machine)
        built = build_optimizer(optimizer, network, space, resolved)
        if optimizer is not None:
            resolved = replace(resolved, lr=float(built.param_groups[0]["lr"]))
        run = Run(network, space, path if main else None, monitor=resolved.monitor)
        store = checkpoint = None
        if path is not None:
            made: Any = {} if optimizer is None else {"optimizer": describe_optimizer(built)}
            sizes = [None if data is None else len(data) for data in (train_data, valid_data)]
            made["data"] = dict(zip(("train", "valid"), sizes, strict=True))
            made["preprocessing"] = getattr(preprocessing, "to_dict", lambda: preprocessing)()
            made["spec"] = None  # whoever writes the folder knows
            config = describe_run(network, space, settings=resolved.to_dict(), **made)
            store = folder if isinstance(folder, RunFolder) else RunFolder(path)
            opened.callback(store.close)
            # the other processes may have no such disk
            checkpoint = from_first(partial(store.open, config, space, resume=resume))
        loop = Loop(
            run,
            resolved,
            machine,
            train_data,
            valid_data,
            built,
            sample_weight=weight,
            callbacks=callbacks,
            min_rows=min_rows,
            folder=path,
            store=store if main else None,
            restore_best=restore_best,
        )
        show = progress if main else False
        total = resolved.epochs * len(loop.batches)
        first = 0 if checkpoint is None else checkpoint.position[0]
        with progress_bar("training", total, show=None if show == "lines" else show) as bar:
            if path is not None:
                shutdown = GracefulShutdown(checkpoint_seconds, machine)
                loop.shutdown = opened.enter_context(shutdown)
            epoch_log = EpochLog(bar, resolved.epochs, lines=show == "lines")
            epoch_log.begin(first)
            loop.train(checkpoint, bar, epoch_log)
    return run


def _check_arguments(network: Any, space: Any, callbacks: Any, checkpoint_seconds: Any) -> None:
    """Say what has the wrong type before anything is read or built."""
    check_finite_number(checkpoint_seconds, "checkpoint_seconds", at_least=0)
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise InputTypeError(
            "callbacks", "be a list of functions of an epoch's record", type(callbacks).__name__
        )
    if not isinstance(space, OutputSpace) or not isinstance(network, nn.Module):
        given = f"{type(network).__name__} and {type(space).__name__}"
        raise InputTypeError(f"`fit` takes a network, then a space; got {given}.")


def kind_of(inputs: Any, preprocessing: Any = None) -> InputKind:
    """Return what inputs are, for the defaults, by how they are or were prepared."""
    if not isinstance(inputs, Tensor) or inputs.ndim != 4:
        if isinstance(inputs, Tensor) and is_sparse(inputs):
            return "sparse rows"
        scaling = getattr(preprocessing, "scaling", preprocessing)
        return "binned rows" if isinstance(scaling, Standardizer) and scaling.knots else "rows"
    return "images"


def resolve_settings(
    settings: TrainSettings, space: OutputSpace, num_examples: int, inputs: InputKind
) -> ResolvedSettings:
    """Return the settings with everything chosen: what they leave open follows from the space and
    the data.
    """
    tasks = list(space.tasks.values()) if isinstance(space, TaskSpace) else []
    classes = sorted(
        (task for task in tasks if task.reads == "index"), key=lambda task: task.num_classes
    )
    loss = "absolute" if any(task.loss == "absolute" for task in tasks) else "squared"
    if isinstance(space, CompositeSpace):
        loss = "composite"
    elif isinstance(space, Sphere) and (classes or loss == "squared"):
        loss = classes[-1].loss.name if classes else "squared_cosine"
    counts: Any = {
        "on_sphere": isinstance(space, Sphere),
        "num_classes": classes[-1].num_classes if classes else 0,
        "num_ranges": len(tasks) - len(classes),
    }
    reduction, lr = choose_rate(loss, inputs, settings.reduction, **counts)
    epochs, batch_size = choose_steps(num_examples, inputs)
    # on a CPU bf16 is slower, and emulated on old graphics cards
    has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return settings.resolve(
        epochs=epochs,
        batch_size=batch_size,
        lr=lr,
        weight_decay=choose_weight_decay(num_examples, inputs, counts["num_classes"]),
        schedule=SCHEDULE,
        reduction=reduction,
        mixed_precision="bf16" if has_bf16 else None,
    )


def _check_values(space: OutputSpace, data: Examples, *, scored: bool = False) -> None:
    """Check all values once, where they are in memory; count the classes of tasks that weigh them
    by how rare they are. Numbers that are only scored may be out of bounds.
    """
    tasks = space.tasks.values() if isinstance(space, TaskSpace) else ()
    balances = not scored and any(task.class_weight == BALANCED for task in tasks)
    if data.targets is None:
        if balances:
            rule, advice = (
                "be numbers for data that are not in memory",
                "Call space.balance(targets) with all targets first.",
            )
            raise InputError("class_weight", rule, '"balanced"', advice)
        return
    if scored and isinstance(space, TaskSpace):
        for name, target in space.by_task(data.targets).items():
            space.tasks[name].check_scored(target, name)
    else:
        space.check(data.targets)
    data.check_inputs()
    if balances and isinstance(space, TaskSpace):
        space.balance(data.targets)


def _check_weight(given: Any, data: Examples) -> Tensor:
    if data.loader is not None:
        rule = "be left out with a DataLoader, whose order nobody else knows"
        raise InputError("sample_weight", rule, advice="Pass its Dataset.")
    weight = torch.as_tensor(given)
    if weight.shape != (len(data),):
        raise InputError("sample_weight", f"have shape ({len(data)},)", tuple(weight.shape))
    if not (weight.isfinite().all() and weight.min() >= 0 and weight.max() > 0):
        spread = f"{weight.min():g} to {weight.max():g}"
        raise InputError("sample_weight", "be at least 0, and one of them greater", spread)
    return weight


def _first_example(
    data: Examples, settings: TrainSettings, *, stored: bool
) -> tuple[TrainSettings, Any]:
    """Return the settings, with the size of the batches that a loader has, and the first inputs.
    Shape (1, ...).
    """
    with torch.random.fork_rng():  # from which data may draw
        first = data.first()
    if data.loader is None:
        return settings, first
    _check_loader(data.loader, settings, stored=stored)
    return replace(settings, batch_size=data.loader.batch_size or len(first)), first[:1]


def _check_loader(loader: DataLoader[object], settings: TrainSettings, *, stored: bool) -> None:
    if settings.batch_size is not None:
        raise InputError(
            "batch_size", "be left out with a DataLoader, which has its own", settings.batch_size
        )
    own = [
        part for part in (loader, loader.sampler) if getattr(part, "generator", None) is not None
    ]
    if stored and (own or loader.persistent_workers):
        raise InputError(
            "The DataLoader of a run that is stored",
            "draw from torch's global generator, which each epoch seeds, or it could not be "
            "resumed",
            "a generator of its own" if own else "persistent_workers=True",
        )


@torch.no_grad()
def _check_outputs(
    network: nn.Module, space: OutputSpace, inputs: Any, device: torch.device
) -> Tensor:
    """Try the network on one example, before anything is written; return its output."""
    weight = next(network.parameters(), None)
    if (
        weight is not None
        and inputs.is_floating_point()
        and inputs.dtype == torch.float64 != weight.dtype
    ):
        raise InputTypeError(
            "The inputs",
            f"have the dtype of the network's weights, {weight.dtype}",
            inputs.dtype,
            'Pass inputs.float(), or array.astype("float32").',
        )
    was_training = network.training
    try:
        z: Tensor = network.eval()(move(inputs, device))
    finally:
        network.train(was_training)
    check_output_width(z, space.dim)
    check_finite_rows(z, "The network's output", advice="Search its weights for NaN.")
    return z


def _check_batches(
    settings: ResolvedSettings,
    network: nn.Module,
    example: Any,
    data: Examples,
    machine: Machine,
) -> int:
    """Return how many examples each process must get in a step: 2 where the network cannot train on
    one, else 1.
    """
    size, processes, n = settings.batch_size, machine.processes, len(data)
    fewest, last = min(size, n) // processes, n % size // processes
    part = (
        min(fewest, -(-size // (processes * settings.accumulate)))
        if settings.accumulate > 1
        else fewest
    )
    started = f"{processes} process{'es' * (processes > 1)}"
    got = f"batch_size={size}, {started}, accumulate={settings.accumulate}, {n} examples"
    if fewest == 0:
        raise InputError("Each process", "get an example per step", got, "Start fewer processes.")
    if (part > 1 and last != 1) or not _needs_two(network, move(example, machine.device)):
        return 1
    if part == 1:
        raise InputError(
            "The network normalizes over the batch, so each process",
            "get two examples or more at a time",
            got,
            "Use a larger batch, or compute it in fewer parts.",
        )
    if data.loader is not None and not data.loader.drop_last:
        rule = "have no batch of one, over which a network cannot normalize"
        raise InputError("The DataLoader", rule, None, "Build it with drop_last=True.")
    return 2


@torch.no_grad()
def _needs_two(network: nn.Module, example: Any) -> bool:
    """Whether the network refuses to train on one example alone; asked of a copy, whose statistics
    may change.
    """
    with torch.random.fork_rng():
        try:
            copy.deepcopy(network).train()(example)
        except ValueError as error:
            return "more than 1 value per channel" in str(error)
        except (
            Exception
        ):  # a network that cannot be copied, or has trouble that training will meet and name
            return False
    return False


@torch.no_grad()
def _check_monitor(
    settings: TrainSettings, space: OutputSpace, z: Tensor, *, restore_best: bool, has_valid: bool
) -> None:
    """Say at once that a measure to monitor will not be there."""
    for name, value in {
        "patience": settings.patience,
        "monitor": settings.monitor,
        "restore_best": restore_best or None,
    }.items():
        if not has_valid and value is not None:
            raise InputError(
                name, "be left out where there is no validation data to compare epochs by", value
            )
    if settings.monitor is not None:
        predicted: dict[str, Tensor] = {}
        with suppress(
            InputError
        ):  # an untrained network may point nowhere; the first epoch will tell
            predicted = space.predict_by_task(z)
        if predicted:
            choose(
                settings.monitor, measure(space, predicted, predicted), what="measure to monitor"
            )
