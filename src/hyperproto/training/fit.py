"""Training as one call."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from typing import Literal

import torch
from torch import Tensor, nn

from hyperproto._core.checks import (
    check_finite_number,
    check_finite_rows,
    check_output_width,
)
from hyperproto._core.errors import InputError, InputTypeError, arg
from hyperproto._core.files import Plain
from hyperproto._core.progress import progress_bar
from hyperproto.data import Batches, Examples, as_examples
from hyperproto.data.examples import Values
from hyperproto.data.preprocessing import Preprocessing, is_sparse
from hyperproto.defaults import (
    SCHEDULE,
    WIDE,
    InputKind,
    choose_rate,
    choose_steps,
    choose_weight_decay,
)
from hyperproto.spaces import OutputSpace
from hyperproto.spec import ResolvedSettings, TrainSettings
from hyperproto.training.checkpoint import TrainState
from hyperproto.training.folder import RunFolder
from hyperproto.training.keeper import Keeper
from hyperproto.training.loop import Callback, EpochLog, Loop
from hyperproto.training.optional import (
    MakeOptimizer,
    check_loader,
    check_monitor,
    check_optimizer,
    check_scored,
    check_weight,
    describe_optimizer,
)
from hyperproto.training.run import Run, describe_run
from hyperproto.training.steps import AnyOptimizer, GradientDescent, Machine, move

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def fit(
    network: nn.Module,
    space: OutputSpace,
    train: object,
    settings: TrainSettings | None = None,
    *,
    valid: object = None,
    sample_weight: object = None,
    folder: str | PathLike[str] | None = None,
    resume: bool = False,
    restore_best: bool = False,
    optimizer: MakeOptimizer | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = 300.0,
    preprocessing: Preprocessing | Plain | None = None,
    progress: bool | Literal["lines"] | None = None,
    **keywords: object,
) -> Run:
    """Train a network to point where the space says, by default by stochastic gradient descent.

    Parameters
    ----------
    network : nn.Module
        Maps inputs to outputs of shape (n, space.dim). Seed its weights before. It is trained in place
        and left in evaluation mode, ready to predict.
    space : OutputSpace
        Gives the loss; its parameters, where it has any, are trained too.
    train, valid : pair (inputs, targets), Arrays, ImageData, torch Dataset or DataLoader
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
    check_finite_number(checkpoint_seconds, "checkpoint_seconds", at_least=0)
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        rule = "be a list of functions of an epoch's record"
        raise InputTypeError("callbacks", rule, type(callbacks).__name__)
    if not all((isinstance(network, nn.Module), isinstance(space, OutputSpace))):
        got = f"{type(network).__name__} and {type(space).__name__}"
        raise InputTypeError(f"`fit` takes a network, then a space; got {got}.")
    if resume and folder is None:
        rule = f"be that of the run to continue with {arg('resume', True)}"
        raise InputError("folder", rule, "none")
    given = (settings or TrainSettings()).but(**keywords)
    examples = as_examples(train, name="train")
    scored = None if valid is None else as_examples(valid, name="valid")
    _check_targets(space, examples)
    if scored is not None:
        check_scored(space, scored)
    weight = None if sample_weight is None else check_weight(sample_weight, examples)
    with torch.random.fork_rng():  # from which data may draw
        first = examples.first()
    if examples.loader is not None:
        check_loader(examples.loader, given, stored=folder is not None)
        given = replace(given, batch_size=examples.loader.batch_size or len(first))
        first = first[:1]
    chosen = resolve_settings(given, space, len(examples), kind_of(first, preprocessing))
    machine = Machine.here(chosen.mixed_precision)
    with torch.random.fork_rng(), ExitStack() as opened:
        network.to(machine.device)
        space.to(machine.device)
        z = _check_outputs(network, space, move(first, machine.device))
        if chosen.patience is not None or chosen.monitor is not None or restore_best:
            check_monitor(chosen, space, z, restore_best=restore_best, scored=scored)
        parameters = [*network.parameters(), *space.parameters()]
        descent: AnyOptimizer = GradientDescent(parameters, chosen)
        if optimizer is not None:
            descent = check_optimizer(optimizer, parameters, given)
            chosen = replace(chosen, lr=float(descent.param_groups[0]["lr"]))
        batches = Batches(
            examples,
            chosen.batch_size,
            shuffle=True,
            seed=chosen.seed,
            rank=machine.rank,
            world=machine.processes,
            least=_least_rows(chosen, network, examples, machine),
        )
        run = Run(network, space, monitor=chosen.monitor)
        keeper = None
        if folder is not None:
            more = {} if optimizer is None else {"optimizer": describe_optimizer(descent)}
            data = {"train": len(examples), "valid": None if scored is None else len(scored)}
            prepared = getattr(preprocessing, "to_dict", lambda: preprocessing)()
            about = {"settings": chosen.to_dict(), **more, "data": data, "preprocessing": prepared}
            state = TrainState(network, space, descent, machine, chosen.seed)
            keeper = Keeper(RunFolder.at(folder), state, checkpoint_seconds)
            config = describe_run(network, space, **about)
            opened.enter_context(keeper.opened(run, config, resume=resume))
        show = progress if machine.rank == 0 else False
        total = chosen.epochs * len(batches)
        bar = opened.enter_context(
            progress_bar("training", total, show=None if show == "lines" else show)
        )
        loop = Loop(
            run,
            chosen,
            machine,
            batches,
            scored,
            descent,
            EpochLog(bar, chosen.epochs) if bar.shown or show == "lines" else None,
            sample_weight=weight,
            callbacks=callbacks,
            keeper=keeper,
            restore_best=restore_best,
        )
        for epoch in loop.epochs():
            loop.train_epoch(epoch)
            loop.end_epoch(epoch)
        loop.finish()
    return run


def kind_of(inputs: object, preprocessing: object = None) -> InputKind:
    """Return what inputs are, for the defaults, by how they are or were prepared."""
    if getattr(inputs, "ndim", 0) == 4:
        return "images"
    if is_sparse(inputs):
        return "sparse rows"
    scaling = getattr(preprocessing, "scaling", preprocessing)
    if getattr(scaling, "knots", ()):
        return "binned rows"
    shape: tuple[int, ...] = tuple(getattr(inputs, "shape", ()))
    return "wide rows" if len(shape) == 2 and shape[1] >= WIDE else "rows"


def resolve_settings(
    settings: TrainSettings, space: OutputSpace, num_examples: int, inputs: InputKind
) -> ResolvedSettings:
    """Return the settings with everything chosen: what they leave open follows from the space and
    the data.
    """
    loss, of_classes, num_classes, num_ranges = "squared", "", 0, 0
    for task in space.tasks.values():
        if task.reads != "index":
            num_ranges += 1
            if task.loss == "absolute":
                loss = "absolute"
            elif task.kind == "range" and space.on_sphere and loss == "squared":
                loss = "squared_cosine"
        elif task.num_classes > num_classes:
            num_classes = task.num_classes
            of_classes = task.loss.name if space.on_sphere else ""
    reduction, lr = choose_rate(
        of_classes or loss,
        inputs,
        settings.reduction,
        on_sphere=space.on_sphere,
        num_classes=num_classes,
        num_ranges=num_ranges,
    )
    epochs, batch_size = choose_steps(num_examples, inputs)
    # on a CPU bf16 is slower, and emulated on old graphics cards
    has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return settings.resolve(
        epochs=epochs,
        batch_size=batch_size,
        lr=lr,
        weight_decay=choose_weight_decay(num_examples, inputs, num_classes),
        schedule=SCHEDULE,
        reduction=reduction,
        mixed_precision="bf16" if has_bf16 else None,
    )


def _check_targets(space: OutputSpace, data: Examples) -> None:
    """Check all values once, where they are in memory; take from them what tasks leave open."""
    balances = any(task.is_open for task in space.tasks.values())
    if data.targets is None:
        if balances:
            rule = "leave nothing open for data that are not in memory"
            advice = "Call space.balance(targets) with all targets first."
            raise InputError("Tasks", rule, "weights or units to be found", advice)
        return
    space.check(data.targets)
    data.check_inputs()
    if balances:
        space.balance(data.targets)


@torch.no_grad()
def _check_outputs(network: nn.Module, space: OutputSpace, inputs: Values) -> Tensor:
    """Try the network on one example, before anything is written; return its output."""
    weight = next(network.parameters(), None)
    if weight is not None and weight.dtype != torch.float64 == getattr(inputs, "dtype", None):
        raise InputTypeError(
            "The inputs",
            f"have the dtype of the network's weights, {weight.dtype}",
            inputs.dtype,
            'Pass inputs.float(), or array.astype("float32").',
        )
    was_training = network.training
    try:
        z: Tensor = network.eval()(inputs)
    finally:
        network.train(was_training)
    check_output_width(z, space.dim)
    check_finite_rows(z, "The network's output", advice="Search its weights for NaN.")
    return z


def _least_rows(
    settings: ResolvedSettings, network: nn.Module, data: Examples, machine: Machine
) -> int:
    """Return how many examples each process must get in a step: 2 where the network normalizes over
    them, else 1.
    """
    size, processes = settings.batch_size, machine.processes
    fewest = min(size, len(data)) // processes
    got = f"batch_size={size}, {processes} process{'es' * (processes > 1)}, "
    got += f"accumulate={settings.accumulate}, {len(data)} examples"
    if fewest == 0:
        raise InputError("Each process", "get an example per step", got, "Start fewer processes.")
    if not any(isinstance(part, NORMS) for part in network.modules()):
        return 1
    if min(fewest, -(-size // (processes * settings.accumulate))) < 2:
        raise InputError(
            "The network normalizes over the batch, so each process",
            "get two examples or more at a time",
            got,
            "Use a larger batch, or compute it in fewer parts.",
        )
    if data.loader is not None and not data.loader.drop_last and len(data) % size == 1:
        rule = "have no batch of one, over which a network cannot normalize"
        raise InputError("The DataLoader", rule, None, "Build it with drop_last=True.")
    return 2
