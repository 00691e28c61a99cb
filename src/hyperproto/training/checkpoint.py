"""A moment of training as one file, so that its parts can never be from different moments.

Tensors: weights of network and space, the optimiser's momentum by parameter name, and each process's random numbers.
The header holds the rest as JSON: where training was, the losses of the epoch so far, and the history.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from hyperproto._core.errors import InputError
from hyperproto._core.seeding import derive_seed
from hyperproto.spaces import OutputSpace
from hyperproto.training.watch import LossWatch
from hyperproto.training.weights import fill, weights_of

__all__ = ["Checkpoint", "Parts", "machine_of", "read_checkpoint", "restore", "share", "take"]

FORMAT = "hyperproto.checkpoint/1"


@dataclass(frozen=True)
class Checkpoint:
    """Tensors and the JSON of the header."""

    tensors: dict[str, Tensor]
    state: dict[str, Any]

    @property
    def position(self) -> tuple[int, int]:
        """The epoch, and how many of its steps are done."""
        return self.state["epoch"], self.state["step"]

    @property
    def size(self) -> int:
        """How many bytes it takes, to a few."""
        return sum(t.numel() * t.element_size() for t in self.tensors.values()) + len(self._header())

    def save(self, path: Path) -> None:
        """Write it; :func:`~hyperproto._core.files.replacing` makes that safe."""
        save_file(self.tensors, path, metadata={"state": self._header()})  # one key: their order is not fixed

    def _header(self) -> str:
        return json.dumps(self.state)


@dataclass(frozen=True)
class Parts:
    """Everything that training changes, and the machine it happens on."""

    network: nn.Module
    space: OutputSpace
    optimizer: torch.optim.Optimizer
    accelerator: Accelerator
    seed: int

    def parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters by the names their weights have."""
        modules = (("network", self.network), ("space", self.space))
        return {f"{prefix}.{name}": p for prefix, module in modules for name, p in module.named_parameters()}


def machine_of(accelerator: Accelerator) -> dict[str, Any]:
    """Return what must be the same for two runs to agree in every bit."""
    return {
        "processes": accelerator.num_processes,
        "threads": torch.get_num_threads(),
        "device": accelerator.device.type,
        "torch": torch.__version__,
    }


def take(
    parts: Parts, watch: LossWatch | None, *, epoch: int, step: int, history: list[dict[str, Any]]
) -> Checkpoint | None:
    """Return the present moment, on the first process; every process must ask, as each has its own random numbers."""
    device = parts.accelerator.device
    own = {"cpu": torch.get_rng_state(), "watch": (0.0, 0)}
    if hasattr(module := getattr(torch, device.type), "get_rng_state"):
        own["device"] = module.get_rng_state()
    if watch is not None:
        watch.look()
        own["watch"] = watch.total, watch.steps
    processes = gather_object([own])
    if not parts.accelerator.is_main_process:
        return None
    tensors = weights_of(parts.network, parts.space) | _optimizer_tensors(parts)
    for name in ("cpu", "device"):
        if name in own:
            tensors[f"random.{name}"] = torch.stack([process[name].cpu() for process in processes])
    scaler = parts.accelerator.scaler
    state = {
        "format": FORMAT,
        "epoch": epoch,
        "step": step,
        "watch": [process["watch"] for process in processes],
        "scaler": None if scaler is None else scaler.state_dict(),
        "machine": machine_of(parts.accelerator),
        "history": history,
    }
    return Checkpoint(tensors, state)


def restore(checkpoint: Checkpoint, parts: Parts, watch: LossWatch | None = None) -> None:
    """Go back to a moment: every tensor, every random number, and the losses of the epoch so far."""
    fill(parts.network, parts.space, checkpoint.tensors)
    _restore_optimizer(checkpoint, parts)
    if parts.accelerator.scaler is not None and checkpoint.state["scaler"] is not None:
        parts.accelerator.scaler.load_state_dict(checkpoint.state["scaler"])
    _restore_random(checkpoint, parts)
    if watch is not None:
        held = checkpoint.state["watch"]
        same = len(held) == parts.accelerator.num_processes
        mine = (
            held[parts.accelerator.process_index] if same else [sum(c) / len(held) for c in zip(*held, strict=True)]
        )
        watch.total, watch.steps = float(mine[0]), int(mine[1])


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a file that :meth:`Checkpoint.save` wrote, or say in a sentence why it cannot be read."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
            state = json.loads((file.metadata() or {}).get("state", "null"))
    except (SafetensorError, json.JSONDecodeError) as error:
        raise InputError(f'"{path}" is not a readable checkpoint ({error}).') from None
    found = state.get("format") if isinstance(state, dict) else None
    if found != FORMAT:
        raise InputError(f'"{path}" must be a checkpoint of format {FORMAT}; it says {found}.')
    return Checkpoint(tensors, state)


def share(checkpoint: Checkpoint | None, accelerator: Accelerator) -> Checkpoint | None:
    """Give every process the checkpoint that the first one read; the others may have no such disk."""
    if accelerator.num_processes == 1:
        return checkpoint
    held = [checkpoint]
    broadcast_object_list(held)
    return held[0]


def _optimizer_tensors(parts: Parts) -> dict[str, Tensor]:
    state = parts.optimizer.state
    return {
        f"optimizer.{key}.{name}": value.detach().cpu().clone().contiguous()
        for name, parameter in parts.parameters().items()
        for key, value in state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def _restore_optimizer(checkpoint: Checkpoint, parts: Parts) -> None:
    parts.optimizer.state.clear()
    parameters = parts.parameters()
    for name, tensor in checkpoint.tensors.items():
        if name.startswith("optimizer."):
            _, key, parameter_name = name.split(".", 2)
            parameter = parameters[parameter_name]
            # laid out in memory as its parameter, as in the unbroken run: another layout may round differently
            parts.optimizer.state[parameter][key] = torch.empty_like(parameter).copy_(tensor).detach()


def _restore_random(checkpoint: Checkpoint, parts: Parts) -> None:
    rank, device = parts.accelerator.process_index, parts.accelerator.device.type
    states = checkpoint.tensors["random.cpu"]
    if rank >= len(states):  # more processes than before: the new ones get a stream of their own
        torch.manual_seed(derive_seed(parts.seed, "resumed", *checkpoint.position, rank))
        return
    torch.set_rng_state(states[rank].clone())
    held = checkpoint.tensors.get("random.device")
    if held is not None and checkpoint.state["machine"]["device"] == device:
        getattr(torch, device).set_rng_state(held[rank].clone())
