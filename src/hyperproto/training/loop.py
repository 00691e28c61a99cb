"""The training loop, where everything is checked by now, and what people see of
it while it runs.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from torch import Tensor

from hyperproto._core.errors import InputError, NonFiniteLossError, arg
from hyperproto._core.files import Plain
from hyperproto._core.processes import derive_seed, from_first
from hyperproto._core.progress import ProgressBar
from hyperproto.data import Batches, Examples
from hyperproto.data.examples import Values, index_targets
from hyperproto.spec import SCHEDULES, ResolvedSettings
from hyperproto.training.checkpoint import (
    Checkpoint,
    TrainState,
    fill_weights,
    read_tensors,
    weights_of,
)
from hyperproto.training.distributed import (
    GracefulShutdown,
    Gradients,
    LossSum,
    Machine,
    move,
    seed_draws,
    take_step,
    use_channels_last,
)
from hyperproto.training.folder import CHECKPOINT, RunFolder, explain_failure
from hyperproto.training.optimizer import AnyOptimizer
from hyperproto.training.outputs import evaluate
from hyperproto.training.run import Run, best_epoch, describe_measures, out_of_patience

Callback: TypeAlias = Callable[[Plain], object]
LINES = 30  # about epochs, where there is no bar


@dataclass
class EpochLog:
    """Reports each epoch: a line above the bar, or alone for "lines"."""

    bar: ProgressBar
    epochs: int
    lines: bool
    started: float = field(default_factory=time.monotonic)

    def step(self, epoch: int, done: int, loss: float, run: Run) -> None:
        """Move the bar to so many steps of the run."""
        if self.bar.shown:
            note = f"loss {loss:.4f}  {describe_measures(run.metrics)}"
            self.bar.update(done, description=f"epoch {epoch + 1}/{self.epochs}", note=note)

    def begin(self, epoch: int) -> None:
        """Say that training begins, where nothing else would be seen until the end of an epoch."""
        if self.lines and not self.bar.shown and epoch < self.epochs:
            print(f"epoch {epoch + 1}/{self.epochs} begins", flush=True)

    def add(self, record: Plain) -> None:
        """Report one epoch of the history."""
        if not (self.bar.shown or self.lines):
            return
        described = describe_measures(record["valid"])
        epoch = f"epoch {record['epoch'] + 1}/{self.epochs}"
        line = f"{epoch}  loss {record['loss']:.4f}  {described}".rstrip()
        if self.bar.shown:
            self.bar.print(line)
        elif self._is_printed(record["epoch"] + 1):
            print(f"{line}  ({time.monotonic() - self.started:.0f} s)", flush=True)

    def _is_printed(self, done: int) -> bool:
        """Return whether an epoch gets a line where there is no bar: of many, LINES at most, evenly
        and the last.
        """
        every = -(-self.epochs // LINES)
        return done in (1, self.epochs) or done % every == 0


@dataclass(eq=False)
class Loop:
    """Trains one run in place, on a machine. The first process writes what ``store`` keeps;
    ``restore_best`` ends with the weights of the best epoch.
    """

    run: Run
    settings: ResolvedSettings
    machine: Machine
    batches: Batches
    valid: Examples | None
    optimizer: AnyOptimizer
    log: EpochLog
    sample_weight: Tensor | None = None
    callbacks: Sequence[Callback] = ()
    store: RunFolder | None = None
    shutdown: GracefulShutdown | None = None
    restore_best: bool = False

    def __post_init__(self) -> None:
        network, space = self.run.network, self.run.space
        self.channels_last = use_channels_last(network)
        self.gradients = Gradients(network, space, self.settings, self.machine)
        # the schedule multiplies each
        self.rates = [float(group["lr"]) for group in self.optimizer.param_groups]
        self.state = TrainState(network, space, self.optimizer, self.machine, self.settings.seed)
        self.best: dict[str, Tensor] | None = None

    def train(self, checkpoint: Checkpoint | None) -> None:
        """Train from the start, or from a checkpoint on, to the last epoch or as long as patience
        lasts.
        """
        run, monitor = self.run, self.settings.monitor
        writer = self.store if self.machine.is_first else None
        first, start = (0, 0) if checkpoint is None else checkpoint.position
        note = None
        if checkpoint is None:
            self._save(None, 0, 0)  # from here on the run can be resumed, initial weights included
        else:
            run.history[:] = checkpoint.state["history"]
            note = _note_on_machine(checkpoint, self.state.conditions)
            self.state.restore(checkpoint)
        self.log.begin(first)
        for epoch in range(first, self.settings.epochs):
            if out_of_patience(run.history, monitor, self.settings.patience):
                break
            within = checkpoint if epoch == first and start > 0 else None
            started = time.perf_counter()
            record = self._train_epoch(epoch, within)
            if note is not None:
                record["note"], note = note, None
            run.history.append(record)
            if self.restore_best and best_epoch(run.history, monitor) == epoch:
                self.best = weights_of(run.network, run.space)
            steps = len(self.batches) - (0 if within is None else start)
            times = {"epoch": epoch, "steps": steps, "seconds": time.perf_counter() - started}
            if writer is not None:
                # what is written before the checkpoint is written again if that is missing
                writer.end_epoch(run, times)
            self.log.add(record)
            self._save(None, epoch + 1, 0)
            for callback in self.callbacks:
                callback(copy.deepcopy(record))
            self._stop_if_requested(f"after epoch {epoch + 1}")
        if self.restore_best and self.best is None and self.store is not None:
            # of an epoch before it was resumed
            self.best = from_first(partial(read_tensors, self.store.path / "best.safetensors"))
        if self.best is not None:
            fill_weights(run.network, run.space, self.best)
        run.network.eval()  # ready to predict: batch norm must not follow what is asked
        run.steps = len(run.history) * len(self.batches)
        if writer is not None:
            writer.finish(run)

    def _train_epoch(self, epoch: int, within: Checkpoint | None) -> Plain:
        """Train for one epoch, or for what is left of it after a checkpoint within; return its
        record.
        """
        network, space, machine = self.run.network, self.run.space, self.machine
        seed_draws(derive_seed(self.settings.seed, "epoch", epoch, machine.rank), machine.device)
        space.begin_epoch(epoch)
        network.train()
        losses = LossSum(epoch, every=1 if machine.device.type == "cpu" else 50)
        start = 0
        if within is not None:
            start = within.position[1]
            # after the hook above, which was called at the start of the epoch
            self.state.restore(within, losses)
        steps, step = len(self.batches), -1
        batch: tuple[Values, Values] = None, None
        ids = [] if self.sample_weight is None else self.batches.ids(epoch)
        unchecked = epoch == 0 and self.batches.data.targets is None
        try:
            for step, batch in enumerate(self.batches.epoch(epoch, start=start), start):
                if unchecked:
                    self._check_targets(epoch, step, batch[1])
                for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
                    group["lr"] = rate * self._scale(epoch, step)
                inputs = move(batch[0], machine.device, channels_last=self.channels_last)
                targets = move(batch[1], machine.device)
                weight = None
                if self.sample_weight is not None:
                    weight = move(self.sample_weight[ids[step]], machine.device)
                loss, z = self.gradients(inputs, targets, weight)
                losses.add(loss)
                take_step(self.optimizer, machine)
                space.observe(z, targets)
                done = epoch * steps + step + 1
                if done == 1 and self.store is not None:
                    # what cannot be stored is refused now, not after an epoch
                    self.state.optimizer_tensors()
                self.log.step(epoch, done, losses.last, self.run)
                if self.shutdown is not None and self.shutdown.due(done):
                    if not self.batches.own_order:
                        self._save(losses, epoch, step + 1)
                    self._stop_if_requested(f"in epoch {epoch + 1} after step {step + 1}")
            mean = losses.mean(machine)
        except NonFiniteLossError as error:
            if self.batches.own_order:
                raise
            if losses.steps != step:  # noticed late: the batch is made again
                batch = next(self.batches.epoch(epoch, start=losses.steps))
            raise explain_failure(
                error, self.batches.ids(epoch)[losses.steps], batch, self.store
            ) from None
        # the rate is computed, not read off the optimizer: resuming after the last step takes none
        rate = self.rates[0] * self._scale(epoch, steps - 1)
        return {"epoch": epoch, "loss": mean, "lr": rate, "valid": self._validate()}

    def _scale(self, epoch: int, step: int) -> float:
        """Return what learning rates are multiplied by in a step of an epoch."""
        steps = len(self.batches)
        progress = (epoch * steps + step) / (self.settings.epochs * steps)
        return SCHEDULES[self.settings.schedule](progress)

    def _check_targets(self, epoch: int, step: int, targets: Any) -> None:
        """Check targets that could not be checked before; a mistake is named by its example."""
        try:
            self.run.space.check(targets)
        except InputError:
            if self.batches.own_order:
                raise
            for row, example in enumerate(self.batches.ids(epoch)[step].tolist()):
                try:
                    self.run.space.check(index_targets(targets, slice(row, row + 1)))
                except InputError as error:
                    place = f"Example {example} of the data: {arg(error.argument)}"
                    raise InputError(place, error.rule, error.got, error.advice) from None
            raise

    def _validate(self) -> dict[str, float]:
        """Measure on validation data, in larger batches than there is memory for gradients of."""
        if self.valid is None:
            return {}
        network, space, machine = self.run.network, self.run.space, self.machine
        machine.share_buffers(network)
        size = self.settings.validation_batch_size
        return evaluate(network, space, self.valid, batch_size=size, machine=machine)

    def _save(self, losses: LossSum | None, epoch: int, step: int) -> None:
        """Write a checkpoint where there is a folder; every process takes part."""
        if self.store is None or self.shutdown is None:
            return
        checkpoint = self.state.take(losses, epoch=epoch, step=step, history=self.run.history)
        if checkpoint is not None:
            checkpoint.save(self.store.path / CHECKPOINT)
        self.shutdown.checkpoint_written()

    def _stop_if_requested(self, where: str) -> None:
        if self.shutdown is not None and self.shutdown.requested is not None:
            advice = f"Continue with resume=True, or: hyperproto train --resume {self.store}"
            self.shutdown.stop(f"Stopped {where}. {advice}")


def _note_on_machine(checkpoint: Checkpoint, machine: Plain) -> str | None:
    """Return what a record should say about a run that continues on another machine than it started
    on.
    """
    before = checkpoint.state["machine"]
    changed = [
        f"{name}={now} instead of {before.get(name)}"
        for name, now in machine.items()
        if before.get(name) != now
    ]
    return (
        f"continued with {', '.join(changed)}: equal to an unbroken run only to rounding"
        if changed
        else None
    )
