"""The training loop, where everything is checked by now, and what people see of
it while it runs.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

from torch import Tensor

from hyperproto._core.errors import InputError, NonFiniteLossError, arg
from hyperproto._core.processes import derive_seed, from_first
from hyperproto._core.progress import ProgressBar
from hyperproto.data import Batches, Examples
from hyperproto.data.examples import index_targets
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
from hyperproto.training.folder import RunFolder, explain_failure
from hyperproto.training.optimizer import AnyOptimizer
from hyperproto.training.outputs import evaluate
from hyperproto.training.run import Run, best_epoch, describe_measures, out_of_patience

Callback: TypeAlias = Callable[[dict[str, Any]], object]
LINES = 30  # about epochs, where there is no bar


@dataclass
class EpochLog:
    """Reports each epoch: a line above the bar, or alone for "lines"."""

    bar: ProgressBar
    epochs: int
    lines: bool
    started: float = field(default_factory=time.monotonic)

    def begin(self, epoch: int) -> None:
        """Say that training begins, where nothing else would be seen until the end of an epoch."""
        if self.lines and not self.bar.shown and epoch < self.epochs:
            print(f"epoch {epoch + 1}/{self.epochs} begins", flush=True)

    def add(self, record: dict[str, Any]) -> None:
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
    """Trains one run in place, on a machine, in a folder that only the first process has a
    ``store`` for.

    Each process must get ``min_rows`` examples in a step; ``restore_best`` ends with the weights of
    the best epoch.
    """

    run: Run
    settings: ResolvedSettings
    machine: Machine
    data: Examples
    valid: Examples | None
    optimizer: AnyOptimizer
    sample_weight: Tensor | None = None
    callbacks: Sequence[Callback] = ()
    min_rows: int = 1
    folder: Path | None = None
    store: RunFolder | None = None
    shutdown: GracefulShutdown | None = None
    restore_best: bool = False

    def __post_init__(self) -> None:
        network, space, settings = self.run.network, self.run.space, self.settings
        machine = self.machine
        self.channels_last = use_channels_last(network)
        self.gradients = Gradients(network, space, settings, machine)
        self.rates = [
            float(group["lr"]) for group in self.optimizer.param_groups
        ]  # the schedule multiplies each
        self.batches = Batches(
            self.data,
            settings.batch_size,
            shuffle=True,
            seed=settings.seed,
            rank=machine.rank,
            world=machine.processes,
            least=self.min_rows,
        )
        self.best: dict[str, Tensor] | None = None

    @cached_property
    def state(self) -> TrainState:
        """What a checkpoint stores."""
        return TrainState(
            self.run.network, self.run.space, self.optimizer, self.machine, self.settings.seed
        )

    def train(self, checkpoint: Checkpoint | None, bar: ProgressBar, log: EpochLog) -> None:
        """Train from the start, or from a checkpoint on, to the last epoch or as long as patience
        lasts.
        """
        first, start = (0, 0) if checkpoint is None else checkpoint.position
        note = None
        if checkpoint is None:
            self._save(None, 0, 0)  # from here on the run can be resumed, initial weights included
        else:
            self.run.history[:] = checkpoint.state["history"]
            note = _note_on_machine(checkpoint, self.state.conditions)
            self.state.restore(checkpoint)
        for epoch in range(first, self.settings.epochs):
            if out_of_patience(self.run.history, self.settings.monitor, self.settings.patience):
                break
            within = checkpoint if epoch == first and start > 0 else None
            started = time.perf_counter()
            record = self._train_epoch(epoch, within, bar)
            if note is not None:
                record["note"], note = note, None
            self.run.history.append(record)
            if (
                self.restore_best
                and best_epoch(self.run.history, self.settings.monitor) == len(self.run.history) - 1
            ):
                self.best = weights_of(self.run.network, self.run.space)
            steps = len(self.batches) - (0 if within is None else start)
            times = {"epoch": epoch, "steps": steps, "seconds": time.perf_counter() - started}
            if (
                self.store is not None
            ):  # what is written before the checkpoint is written again if that is missing
                self.store.end_epoch(self.run, times)
            log.add(record)
            self._save(None, epoch + 1, 0)
            for callback in self.callbacks:
                callback(copy.deepcopy(record))
            self._stop_if_requested(f"after epoch {epoch + 1}")
        if (
            self.restore_best and self.best is None and self.folder is not None
        ):  # of an epoch before it was resumed
            self.best = from_first(partial(read_tensors, self.folder / "best.safetensors"))
        if self.best is not None:
            fill_weights(self.run.network, self.run.space, self.best)
        self.run.network.eval()  # ready to predict: batch norm must not follow what is asked
        self.run.steps = len(self.run.history) * len(self.batches)
        if self.store is not None:
            self.store.finish(self.run)

    def _train_epoch(
        self, epoch: int, within: Checkpoint | None, bar: ProgressBar
    ) -> dict[str, Any]:
        """Train for one epoch, or for what is left of it after a checkpoint within; return its
        record.
        """
        network, space, device = self.run.network, self.run.space, self.machine.device
        seed_draws(derive_seed(self.settings.seed, "epoch", epoch, self.machine.rank), device)
        space.begin_epoch(epoch)
        network.train()
        losses = LossSum(epoch, every=1 if device.type == "cpu" else 50)
        if within is not None:
            self.state.restore(
                within, losses
            )  # after the hook above, which was called at the start of the epoch
        start = 0 if within is None else within.position[1]
        steps, step, batch = len(self.batches), -1, None
        ids = [] if self.sample_weight is None else self.batches.ids(epoch)
        unchecked = epoch == 0 and self.batches.data.targets is None
        try:
            for step, batch in enumerate(self.batches.epoch(epoch, start=start), start):
                for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
                    group["lr"] = rate * self._scale(epoch, step)
                if unchecked:
                    self._check_targets(epoch, step, batch[1])
                inputs = move(batch[0], device, channels_last=self.channels_last)
                targets = move(batch[1], device)
                weight = None
                if self.sample_weight is not None:
                    weight = move(self.sample_weight[ids[step]], device)
                loss, z = self.gradients(inputs, space.by_task(targets), weight)
                losses.add(loss)
                take_step(self.optimizer, self.machine)
                space.observe(z, targets)
                done = epoch * steps + step + 1
                if done == 1 and self.folder is not None:
                    # what cannot be stored is refused now, not after an epoch
                    self.state.optimizer_tensors()
                if bar.shown:
                    note = f"loss {losses.last:.4f}  {describe_measures(self.run.metrics)}"
                    bar.update(
                        done, description=f"epoch {epoch + 1}/{self.settings.epochs}", note=note
                    )
                if self.shutdown is not None and self.shutdown.due(done):
                    if not self.batches.own_order:
                        self._save(losses, epoch, step + 1)
                    self._stop_if_requested(f"in epoch {epoch + 1} after step {step + 1}")
            mean = losses.mean(self.machine)
        except NonFiniteLossError as error:
            if self.batches.own_order:
                raise
            if losses.steps != step:  # noticed late: the batch is made again
                batch = next(self.batches.epoch(epoch, start=losses.steps))
            raise explain_failure(
                error, self.batches.ids(epoch)[losses.steps], batch, self.folder
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
        self.machine.share_buffers(self.run.network)
        size = self.settings.validation_batch_size
        return evaluate(
            self.run.network,
            self.run.space,
            self.valid,
            batch_size=size,
            machine=self.machine,
        )

    def _save(self, losses: LossSum | None, epoch: int, step: int) -> None:
        """Write a checkpoint where there is a folder; every process takes part."""
        if self.shutdown is None:
            return
        checkpoint = self.state.take(losses, epoch=epoch, step=step, history=self.run.history)
        if self.store is not None and checkpoint is not None:
            self.store.write_checkpoint(checkpoint)
        self.shutdown.checkpoint_written()

    def _stop_if_requested(self, where: str) -> None:
        if self.shutdown is not None and self.shutdown.requested is not None:
            advice = f"Continue with resume=True, or: hyperproto train --resume {self.folder}"
            self.shutdown.stop(f"Stopped {where}. {advice}")


def _note_on_machine(checkpoint: Checkpoint, machine: dict[str, Any]) -> str | None:
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
