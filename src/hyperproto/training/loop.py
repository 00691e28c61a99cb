"""The training loop, where everything is checked by now, and what people see of it while it
runs.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import Tensor

from hyperproto._core.errors import InputError, NonFiniteLossError, arg
from hyperproto._core.files import Plain
from hyperproto._core.processes import derive_seed
from hyperproto._core.progress import ProgressBar
from hyperproto.data import Batches, Examples
from hyperproto.data.examples import Values, index_targets
from hyperproto.spaces import OutputSpace
from hyperproto.spec import SCHEDULES, ResolvedSettings
from hyperproto.training.checkpoint import fill_weights, weights_of
from hyperproto.training.folder import explain_failure
from hyperproto.training.keeper import Keeper
from hyperproto.training.outputs import evaluate
from hyperproto.training.run import Run, best_epoch, describe_measures, out_of_patience
from hyperproto.training.steps import (
    AnyOptimizer,
    Gradients,
    LossSum,
    Machine,
    move,
    seed_draws,
    take_step,
    use_channels_last,
)

Callback: TypeAlias = Callable[[Plain], object]
Batch: TypeAlias = tuple[Values, Values]
LINES = 30  # about epochs, where there is no bar


@dataclass
class EpochLog:
    """Reports each epoch: a line above the bar, or alone where none is shown."""

    bar: ProgressBar
    epochs: int
    started: float = field(default_factory=time.monotonic)

    def begin(self, epoch: int) -> None:
        """Say that training begins, where nothing else would be seen until the end of an epoch."""
        if not self.bar.shown and epoch < self.epochs:
            print(f"epoch {epoch + 1}/{self.epochs} begins", flush=True)

    def step(self, epoch: int, done: int, loss: float, run: Run) -> None:
        """Move the bar to so many steps of the run."""
        if self.bar.shown:
            note = f"loss {loss:.4f}  {describe_measures(run.metrics)}"
            self.bar.update(done, description=f"epoch {epoch + 1}/{self.epochs}", note=note)

    def add(self, record: Plain) -> None:
        """Report one epoch of the history; of many, where there is no bar, LINES at most, evenly
        and the last.
        """
        done, every = record["epoch"] + 1, -(-self.epochs // LINES)
        line = f"epoch {done}/{self.epochs}  loss {record['loss']:.4f}"
        line = f"{line}  {describe_measures(record['valid'])}".rstrip()
        if self.bar.shown:
            self.bar.print(line)
        elif done in (1, self.epochs) or done % every == 0:
            print(f"{line}  ({time.monotonic() - self.started:.0f} s)", flush=True)


@dataclass(eq=False)
class Loop:
    """Trains one run in place, on a machine. ``keeper`` stores it, where there is a folder;
    ``restore_best`` ends with the weights of the best epoch.
    """

    run: Run
    settings: ResolvedSettings
    machine: Machine
    batches: Batches
    valid: Examples | None
    optimizer: AnyOptimizer
    log: EpochLog | None = None
    sample_weight: Tensor | None = None
    callbacks: Sequence[Callback] = ()
    keeper: Keeper | None = None
    restore_best: bool = False

    def __post_init__(self) -> None:
        network, space = self.run.network, self.run.space
        # the schedule multiplies each
        self.rates = [float(group["lr"]) for group in self.optimizer.param_groups]
        self.channels_last = use_channels_last(network)
        self.gradients = Gradients(network, space, self.settings, self.machine)
        self.start, self.began = 0, 0.0  # step and time at which the present epoch begins
        self.best: dict[str, Tensor] | None = None

    def epochs(self) -> Iterator[int]:
        """Yield the epochs that are left, from the start or from a checkpoint on, as long as
        patience lasts.
        """
        first = 0
        if self.keeper is not None:
            first, self.start = self.keeper.begin(self.run)
        if self.log is not None:
            self.log.begin(first)
        monitor, patience = self.settings.monitor, self.settings.patience
        for epoch in range(first, self.settings.epochs):
            if out_of_patience(self.run.history, monitor, patience):
                return
            yield epoch

    def train_epoch(self, epoch: int) -> None:
        """Train for one epoch, or for what is left of it after a checkpoint within, and measure."""
        run, machine, device = self.run, self.machine, self.machine.device
        network, space, keeper, batches = run.network, run.space, self.keeper, self.batches
        self.began = time.perf_counter()
        seed_draws(derive_seed(self.settings.seed, "epoch", epoch, machine.rank), device)
        space.begin_epoch(epoch)
        network.train()
        losses = LossSum(epoch, every=1 if device.type == "cpu" else 50)
        if keeper is not None and self.start:
            keeper.go_on(losses)
        step, batch = -1, (None, None)
        weights = None if self.sample_weight is None else self._weights(epoch)
        unchecked = epoch == 0 and batches.data.targets is None
        try:
            for step, batch in enumerate(batches.epoch(epoch, start=self.start), self.start):
                if unchecked:
                    _check_targets(space, batch[1], batches, step)
                for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
                    group["lr"] = rate * self._scale(epoch, step)
                inputs = move(batch[0], device, channels_last=self.channels_last)
                targets = move(batch[1], device)
                weight = None if weights is None else move(weights[step], device)
                loss, z = self.gradients(inputs, targets, weight)
                losses.add(loss)  # which raises before a step that would spoil the weights
                take_step(self.optimizer, machine)
                space.observe(z, targets)
                done = epoch * len(batches) + step + 1
                if self.log is not None:
                    self.log.step(epoch, done, losses.last, run)
                if keeper is not None and keeper.is_due(done):
                    if not batches.own_order:
                        keeper.save(run, losses, epoch, step + 1)
                    keeper.stop_if_requested(f"in epoch {epoch + 1} after step {step + 1}")
            mean = losses.mean(machine)
        except NonFiniteLossError as error:
            raise self._explain(
                error, losses.steps, batch if losses.steps == step else None
            ) from None
        # the rate is computed, not read off the optimizer: resuming after the last step takes none
        rate = self.rates[0] * self._scale(epoch, len(batches) - 1)
        valid = {} if self.valid is None else self._validate(self.valid)
        run.history.append({"epoch": epoch, "loss": mean, "lr": rate, "valid": valid})

    def end_epoch(self, epoch: int) -> None:
        """Store an epoch and report it."""
        run, keeper = self.run, self.keeper
        if self.restore_best and best_epoch(run.history, self.settings.monitor) == epoch:
            self.best = weights_of(run.network, run.space)
        if keeper is not None:
            steps, seconds = len(self.batches) - self.start, time.perf_counter() - self.began
            keeper.end_epoch(run, {"epoch": epoch, "steps": steps, "seconds": seconds})
        if self.log is not None:
            self.log.add(run.history[-1])
        for callback in self.callbacks:
            callback(copy.deepcopy(run.history[-1]))
        if keeper is not None:
            keeper.stop_if_requested(f"after epoch {epoch + 1}")
        self.start = 0

    def finish(self) -> None:
        """End with the weights that are asked for, ready to predict."""
        run = self.run
        if self.best is not None:
            fill_weights(run.network, run.space, self.best)
        elif self.restore_best and self.keeper is not None:
            self.keeper.fill_best(run)
        run.network.eval()  # batch norm must not follow what is asked
        run.steps = len(run.history) * len(self.batches)
        if self.keeper is not None:
            self.keeper.finish(run)

    def _scale(self, epoch: int, step: int) -> float:
        """Return what learning rates are multiplied by in a step of an epoch."""
        steps = len(self.batches)
        progress = (epoch * steps + step) / (self.settings.epochs * steps)
        return SCHEDULES[self.settings.schedule](progress)

    def _weights(self, epoch: int) -> list[Tensor]:
        """Return the weight of each example of each batch of an epoch."""
        assert self.sample_weight is not None
        return [self.sample_weight[ids] for ids in self.batches.ids(epoch)]

    def _explain(self, error: NonFiniteLossError, step: int, batch: Batch | None) -> Exception:
        """Return what to raise for a batch whose loss is not finite; one that was noticed late is
        made again.
        """
        if self.batches.own_order:
            return error
        epoch = len(self.run.history)
        batch = batch or next(self.batches.epoch(epoch, start=step))
        store = None if self.keeper is None else self.keeper.store
        return explain_failure(error, self.batches.ids(epoch)[step], batch, store)

    def _validate(self, valid: Examples) -> dict[str, float]:
        """Measure on validation data, in larger batches than there is memory for gradients of."""
        network, size = self.run.network, self.settings.validation_batch_size
        self.machine.share_buffers(network)
        return evaluate(network, self.run.space, valid, batch_size=size, machine=self.machine)


def _check_targets(space: OutputSpace, targets: Values, batches: Batches, step: int) -> None:
    """Check the targets of a batch of the first epoch that could not be checked before; a mistake
    is named by its example.
    """
    try:
        space.check(targets)
    except InputError:
        if batches.own_order:
            raise
        for row, example in enumerate(batches.ids(0)[step].tolist()):
            try:
                space.check(index_targets(targets, slice(row, row + 1)))
            except InputError as error:
                place = f"Example {example} of the data: {arg(error.argument)}"
                raise InputError(place, error.rule, error.got, error.advice) from None
        raise
