"""The training loop: everything is checked by now."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from hyperproto._core.errors import InputError, NonFiniteLossError
from hyperproto._core.seeding import derive_seed
from hyperproto.data import Arrays, Batches, ImageData
from hyperproto.data.batches import AnyDataset
from hyperproto.spec import ResolvedSettings
from hyperproto.training.best import best_epoch, out_of_patience
from hyperproto.training.checkpoint import Checkpoint, Parts, restore, take
from hyperproto.training.draws import seed_draws
from hyperproto.training.engine import share_buffers
from hyperproto.training.evaluate import evaluate
from hyperproto.training.failure import explain_failure
from hyperproto.training.gradients import Gradients, take_step
from hyperproto.training.logs import TensorBoardLog
from hyperproto.training.outputs import move
from hyperproto.training.pauses import Pauses
from hyperproto.training.progress import TrainingProgress
from hyperproto.training.run import Run, RunFolder
from hyperproto.training.watch import LossWatch
from hyperproto.training.weights import fill, weights_of

__all__ = ["Loop"]


@dataclass
class Loop:
    """One run in the making.

    Attributes
    ----------
    rate : callable
        The learning rate as a function of progress from 0 to 1.
    folder : Path or None
        Where the run is stored, the same for every process.
    store : RunFolder or None
        Writes there; only the first process has one.
    channels_last : bool
        Whether images are to lie that way in memory.
    keep_best : bool
        Whether to end with the weights of the best epoch.
    remark : str or None
        What the record of the first epoch should say.
    best : dict or None
        Those weights so far, where they are kept.
    latest : tuple
        The index of the batch that training is at, and the batch.
    """

    run: Run
    parts: Parts
    batches: Batches
    valid: AnyDataset | None
    gradients: Gradients
    rate: Callable[[float], float]
    settings: ResolvedSettings
    folder: Path | None
    store: RunFolder | None
    log: TensorBoardLog | None
    bar: TrainingProgress
    pauses: Pauses
    channels_last: bool = False
    keep_best: bool = False
    remark: str | None = None
    best: dict[str, Tensor] | None = None
    latest: tuple[int, Any] = (-1, None)

    def train(self, checkpoint: Checkpoint | None) -> None:
        """Train from the beginning, or from a checkpoint on, to the last epoch or as long as patience lasts."""
        first, start = (0, 0) if checkpoint is None else checkpoint.position
        if checkpoint is None:
            self.save(None, 0, 0)  # from here on the run can be resumed, initial weights included
        else:
            restore(checkpoint, self.parts)
        monitor, patience = self.settings.monitor, self.settings.patience
        for epoch in range(first, self.settings.epochs):
            if out_of_patience(self.run.history, monitor, patience):
                break
            within = checkpoint if epoch == first and start > 0 else None
            self.train_epoch(epoch, within)
        if self.best is not None:
            fill(self.parts.network, self.parts.space, self.best)
        if self.store is not None:
            self.store.finish(self.run)

    def train_epoch(self, epoch: int, within: Checkpoint | None) -> None:
        """Train for one epoch, or for what is left of it after a checkpoint within."""
        started, accelerator = time.perf_counter(), self.parts.accelerator
        seed_draws(derive_seed(self.parts.seed, "epoch", epoch, accelerator.process_index), accelerator.device)
        self.parts.space.begin_epoch(epoch)
        self.parts.network.train()
        watch = LossWatch(epoch, every=1 if accelerator.device.type == "cpu" else 50)
        start = 0
        if within is not None:
            _, start = within.position
            restore(within, self.parts, watch)  # after the hook above, which was called at the beginning of the epoch
        loss = self.watched(epoch, start, watch)
        # the rate is asked for, not read off the optimiser: resuming after the last step takes none
        lr = self.rate_at(epoch, len(self.batches) - 1)
        record: dict[str, Any] = {"epoch": epoch, "loss": loss, "lr": lr}
        record["valid"] = self.validate()
        if self.remark is not None:
            record["remark"], self.remark = self.remark, None
        self.run.history.append(record)
        if self.keep_best and best_epoch(self.run.history, self.settings.monitor) == len(self.run.history) - 1:
            self.best = weights_of(self.parts.network, self.parts.space)
        times = {"epoch": epoch, "steps": len(self.batches) - start, "seconds": time.perf_counter() - started}
        self.end_epoch(epoch, times)

    def watched(self, epoch: int, start: int, watch: LossWatch) -> float:
        """Go through the batches of an epoch and return its loss, or raise with the first batch that has none."""
        try:
            self.take_steps(epoch, start, watch)
            return watch.mean(self.parts.accelerator)
        except NonFiniteLossError as error:
            failing = watch.steps
            step, batch = self.latest
            if failing != step:  # noticed late: the batch is made again
                batch = next(self.batches.epoch(epoch, start=failing))
            raise explain_failure(error, self.batches.ids(epoch)[failing], batch, self.folder) from None

    def take_steps(self, epoch: int, start: int, watch: LossWatch) -> None:
        """Go through the batches of an epoch."""
        parts, device, steps = self.parts, self.parts.accelerator.device, len(self.batches)
        unseen = epoch == 0 and not isinstance(self.batches.data, Arrays | ImageData)
        for step, batch in enumerate(self.batches.epoch(epoch, start=start), start):
            self.latest = step, batch
            lr = self.rate_at(epoch, step)
            for group in parts.optimizer.param_groups:
                group["lr"] = lr
            if unseen:
                self.check_targets(epoch, step, batch[1])
            inputs = move(batch[0], device, channels_last=self.channels_last)
            targets = move(batch[1], device)
            loss, z = self.gradients(inputs, targets)
            watch.see(loss)
            take_step(parts.optimizer, parts.accelerator)
            parts.space.observe(z, targets)
            done = epoch * steps + step + 1
            self.bar.update(epoch, done, watch.last, self.run.metrics)
            if self.pauses.due(done):
                self.save(watch, epoch, step + 1)
                self.pauses.end_if_asked(f"Stopped in epoch {epoch + 1} after step {step + 1}; it can be resumed.")

    def check_targets(self, epoch: int, step: int, targets: Any) -> None:
        """Look at targets that were not there to be looked at before; a mistake is named by its example."""
        try:
            self.parts.space.check(targets)
        except InputError as error:
            ids = self.batches.ids(epoch)[step].tolist()
            raise InputError(re.sub(r"row (\d+)", lambda row: f"example {ids[int(row[1])]}", str(error))) from None

    def rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate of a step of an epoch."""
        steps = len(self.batches)
        return float(self.settings.lr * self.rate((epoch * steps + step) / (self.settings.epochs * steps)))

    def validate(self) -> dict[str, float]:
        """Measure on validation data, in larger batches than training can hold gradients of."""
        if self.valid is None:
            return {}
        share_buffers(self.parts.network, self.parts.accelerator)
        size, accelerator = self.settings.validation_batch_size, self.parts.accelerator
        return evaluate(self.parts.network, self.parts.space, self.valid, batch_size=size, accelerator=accelerator)

    def end_epoch(self, epoch: int, times: dict[str, Any]) -> None:
        """Write an epoch down; what is written before the checkpoint is written again where that does not come."""
        self.bar.end_epoch(self.run.history[-1])
        if self.store is not None:
            self.store.end_epoch(self.run, times)
        if self.log is not None:
            self.log.epoch(self.run.history[-1])
        self.save(None, epoch + 1, 0)
        self.pauses.end_if_asked(f"Stopped after epoch {epoch + 1}; it can be resumed.")

    def save(self, watch: LossWatch | None, epoch: int, step: int) -> None:
        """Write a checkpoint where there is a folder; every process takes part."""
        if self.folder is None:
            return
        checkpoint = take(self.parts, watch, epoch=epoch, step=step, history=self.run.history)
        if self.store is not None and checkpoint is not None:
            self.store.write_checkpoint(checkpoint)
        self.pauses.written()
