"""Between the loop and the machine: devices, precision, processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hyperproto._core.processes import check_met, meet_other_processes
from hyperproto.spaces import OutputSpace, Targets
from hyperproto.spaces.output_space import Head
from hyperproto.spec import ResolvedSettings

__all__ = ["Objective", "accelerator_for", "prepare", "share_buffers"]


@contextmanager
def accelerator_for(mixed_precision: str | None) -> Iterator[Accelerator]:
    """Give an accelerator of the given precision, and leave the user's own as it was.

    Accelerate keeps one precision for the whole process, so another one is set for the time being.
    """
    meet_other_processes()
    before = AcceleratorState().mixed_precision if AcceleratorState._shared_state else None
    change = before is not None and mixed_precision is not None and before != mixed_precision
    if change:
        AcceleratorState._reset_state()
    try:
        accelerator = Accelerator(mixed_precision=mixed_precision)
        check_met(accelerator.num_processes)
        yield accelerator
    finally:
        if change:
            AcceleratorState._reset_state()
            Accelerator(mixed_precision=before)


class Objective(nn.Module):
    """Network and space as one module, so that processes average the gradients of both."""

    def __init__(self, network: nn.Module, space: OutputSpace, reduction: Any) -> None:
        super().__init__()
        self.network, self.space, self.reduction = network, space, reduction

    def forward(self, inputs: Tensor, targets: Targets) -> tuple[Tensor, Targets]:
        """Return the outputs of a batch and the loss of each task."""
        z = self.network(inputs)
        return z, self.space.losses(z, targets, reduction=self.reduction)


def prepare(
    network: nn.Module, space: OutputSpace, settings: ResolvedSettings, accelerator: Accelerator
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Wrap network and space for the device, the precision and the number of processes at hand."""
    objective = Objective(network, space, settings.reduction)
    if accelerator.num_processes > 1:
        for _, buffer in space.named_buffers():
            torch.distributed.broadcast(buffer, src=0)
        # marks never change: without this they would be sent to every process at every step
        heads = ((name, head) for name, head in space.named_modules() if isinstance(head, Head))
        fixed = [f"space.{name}.{buffer}" for name, head in heads for buffer in head._buffers]
        ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
        ignore(objective, fixed)  # type: ignore[no-untyped-call]
    prepared: nn.Module = accelerator.prepare(objective)
    optimizer = torch.optim.SGD(
        prepared.parameters(),
        lr=settings.lr,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
    )
    return prepared, optimizer


def share_buffers(network: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the buffers of the first, whose batch statistics are the ones that are stored."""
    if accelerator.num_processes > 1:
        for buffer in network.buffers():
            torch.distributed.broadcast(buffer, src=0)
