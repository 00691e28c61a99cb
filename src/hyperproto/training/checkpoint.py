"""A moment of training as one file, so that its parts can never be from different moments.

Tensors: weights of network and space, the optimizer's momentum by parameter name, and each
process's random numbers. The header has the rest as JSON: where training was, the losses of the
epoch so far, and the history.
"""

import json
import zlib
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hyperproto._core.checks import check_no_pipe
from hyperproto._core.errors import InputError
from hyperproto._core.files import replacing
from hyperproto._core.processes import derive_seed
from hyperproto._core.schema import read_plain
from hyperproto.spaces import OutputSpace, Space
from hyperproto.training.distributed import LossSum, Machine
from hyperproto.training.optimizer import AnyOptimizer
from hyperproto.training.run import EpochRecord

FORMAT = "hyperproto.checkpoint/1"


def weights_of(network: nn.Module, space: OutputSpace) -> dict[str, Tensor]:
    """Return a copy of every tensor that training changes, on the CPU; prototypes have a file of
    their own.
    """
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    if not isinstance(space, Space):
        tensors |= {f"space.{name}": tensor for name, tensor in space.state_dict().items()}
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}


def fill_weights(network: nn.Module, space: OutputSpace, tensors: dict[str, Tensor]) -> None:
    """Copy weights into a network and a space that were built to match."""
    for prefix, module in (("network.", network), ("space.", space)):
        own = {
            name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)
        }
        if prefix == "space." and not own:
            continue
        try:
            module.load_state_dict(own)
        except RuntimeError as error:
            first = str(error).splitlines()[-1].strip()
            raise InputError("The weights", f"fit the {prefix[:-1]} given", first) from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file, or say in a sentence why it cannot be read."""
    try:
        return load_file(path)
    except SafetensorError as error:
        raise InputError(
            f'"{path}"', "be a readable safetensors file", error, "It may be cut short."
        ) from None


def write_tensors(path: Path, tensors: dict[str, Tensor], **metadata: str) -> None:
    """Write a safetensors file, by :func:`~hyperproto._core.files.replacing`; the order of metadata
    is not fixed.
    """
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata=metadata or None)


@dataclass(frozen=True)
class Header:
    """What the header of a checkpoint says."""

    format: str
    epoch: int
    step: int
    watch: tuple[tuple[Real, ...], ...]
    scaler: dict[str, Any] | None
    machine: dict[str, Any]
    history: tuple[EpochRecord, ...]

    def __post_init__(self) -> None:
        if (
            self.epoch < 0
            or self.step < 0
            or not self.watch
            or any(len(sums) != 2 for sums in self.watch)
        ):
            raise InputError(
                "epoch, step and watch",
                "say where training was",
                (self.epoch, self.step, self.watch),
            )


@dataclass(frozen=True)
class Checkpoint:
    """Tensors and the JSON of the header."""

    tensors: dict[str, Tensor]
    state: dict[str, Any]

    @property
    def position(self) -> tuple[int, int]:
        """The epoch, and how many of its steps are done."""
        return self.state["epoch"], self.state["step"]

    def save(self, path: Path) -> None:
        """Write it."""
        state = {"checksum": _checksum(self.tensors, self.state), **self.state}
        write_tensors(path, self.tensors, state=json.dumps(state))


@dataclass(frozen=True)
class TrainState:
    """Everything that training changes, and the machine it happens on."""

    network: nn.Module
    space: OutputSpace
    optimizer: AnyOptimizer
    machine: Machine
    seed: int

    @property
    def conditions(self) -> dict[str, Any]:
        """What must be the same for two runs to agree in every bit."""
        return {
            "processes": self.machine.processes,
            "threads": torch.get_num_threads(),
            "device": self.machine.device.type,
            "torch": torch.__version__,
        }

    def take(
        self, losses: LossSum | None, *, epoch: int, step: int, history: list[dict[str, Any]]
    ) -> Checkpoint | None:
        """Return the present moment, on the first process; all must call, as each has its own
        random numbers.
        """
        device, scaler = self.machine.device, self.machine.scaler
        own: dict[str, Any] = {"cpu": torch.get_rng_state(), "watch": (0.0, 0)}
        if hasattr(module := getattr(torch, device.type), "get_rng_state"):
            own["device"] = module.get_rng_state()
        if losses is not None:
            losses.read()
            own["watch"] = losses.total, losses.steps
        processes = self.machine.gather(own)
        if not self.machine.is_first:
            return None
        tensors = weights_of(self.network, self.space) | self.optimizer_tensors()
        for name in ("cpu", "device"):
            if name in own:
                tensors[f"random.{name}"] = torch.stack(
                    [process[name].cpu() for process in processes]
                )
        header = {
            "format": FORMAT,
            "epoch": epoch,
            "step": step,
            "watch": [process["watch"] for process in processes],
            "scaler": None if scaler is None else scaler.state_dict(),
            "machine": self.conditions,
            "history": history,
        }
        return Checkpoint(tensors, header)

    def restore(self, checkpoint: Checkpoint, losses: LossSum | None = None) -> None:
        """Go back to a moment: every tensor, every random number, and the losses of the epoch so
        far.
        """
        fill_weights(self.network, self.space, checkpoint.tensors)
        scaler, rank = self.machine.scaler, self.machine.rank
        try:
            self._restore_optimizer(checkpoint)
            if scaler is not None and checkpoint.state["scaler"] is not None:
                scaler.load_state_dict(checkpoint.state["scaler"])
            self._restore_random(checkpoint, rank)
        except (LookupError, RuntimeError, TypeError, ValueError) as error:
            got = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            raise InputError(
                "The checkpoint", "hold the momentum and random numbers of its run", got
            ) from None
        if losses is not None:
            sums = checkpoint.state["watch"]
            same = len(sums) == self.machine.processes
            total, steps = (
                sums[rank]
                if same
                else [sum(column) / len(sums) for column in zip(*sums, strict=True)]
            )
            losses.total, losses.steps = float(total), int(steps)

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """Return a copy of what the optimizer remembers of each parameter, by their names, on the
        CPU.
        """
        tensors = {}
        for name, parameter in self._parameters().items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{key}.{name}"] = value.detach().cpu().clone().contiguous()
                elif value is not None:
                    got = f"{key}={value!r} of {type(self.optimizer).__name__}"
                    advice = "Train without a folder, or with another optimizer."
                    raise InputError(
                        "optimizer",
                        "keep its state in tensors, for a run to be resumed",
                        got,
                        advice,
                    )
        return tensors

    def _restore_optimizer(self, checkpoint: Checkpoint) -> None:
        parameters, stored = self._parameters(), self.optimizer.state_dict() | {"state": {}}
        order = {
            id(p): index
            for index, p in enumerate(p for g in self.optimizer.param_groups for p in g["params"])
        }
        for name, tensor in checkpoint.tensors.items():
            if name.startswith("optimizer."):
                _, key, parameter_name = name.split(".", 2)
                parameter = parameters[parameter_name]
                # laid out in memory as its parameter, as in the unbroken run: another layout may
                # round differently
                if tensor.shape == parameter.shape:
                    tensor = torch.empty_like(parameter).copy_(tensor).detach()
                stored["state"].setdefault(order[id(parameter)], {})[key] = tensor
        self.optimizer.load_state_dict(stored)  # which knows what belongs on which device

    def _restore_random(self, checkpoint: Checkpoint, rank: int) -> None:
        device, states = self.machine.device.type, checkpoint.tensors["random.cpu"]
        if rank >= len(
            states
        ):  # more processes than before: the new ones get a stream of their own
            torch.manual_seed(derive_seed(self.seed, "resumed", *checkpoint.position, rank))
            return
        torch.set_rng_state(states[rank].clone())
        on_device = checkpoint.tensors.get("random.device")
        if on_device is not None and checkpoint.state["machine"]["device"] == device:
            getattr(torch, device).set_rng_state(on_device[rank].clone())

    def _parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters by the names their weights have."""
        modules = (("network", self.network), ("space", self.space))
        return {
            f"{prefix}.{name}": p
            for prefix, module in modules
            for name, p in module.named_parameters()
        }


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a file that :meth:`Checkpoint.save` wrote, or say in a sentence why
    it cannot be read.
    """
    check_no_pipe(path)
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            state = json.loads((file.metadata() or {}).get("state", "null"))
    except (SafetensorError, ValueError, RecursionError, OverflowError) as error:
        raise InputError(
            f'"{path}"', "be a readable checkpoint", error, "It may be cut short."
        ) from None
    found = state.get("format") if isinstance(state, dict) else None
    if found != FORMAT:
        raise InputError(
            f'"{path}"', f"be a checkpoint of format {FORMAT}", found or "a file without a format"
        )
    if state.pop("checksum", None) != _checksum(tensors, state):
        advice = "Its disk or a copy may have damaged it."
        raise InputError(f'"{path}"', "have the bytes it was written with", "others", advice)
    read_plain(Header, state, f'"{path}"')
    return Checkpoint(tensors, state)


def _checksum(tensors: dict[str, Tensor], state: dict[str, Any]) -> int:
    """Return a number that changes with any byte; it is to find damage, not to stop a forger."""
    number = zlib.crc32(json.dumps(state, sort_keys=True).encode())
    for name in sorted(tensors):
        content = tensors[name].reshape(-1).view(torch.uint8).numpy()
        number = zlib.crc32(content.data, zlib.crc32(name.encode(), number))
    return number
