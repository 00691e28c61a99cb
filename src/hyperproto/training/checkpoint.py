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

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hyperproto._core.checks import check_no_pipe
from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain, replacing
from hyperproto._core.processes import derive_seed
from hyperproto._core.schema import check_format, read_plain
from hyperproto.spaces import OutputSpace
from hyperproto.training.run import EpochRecord
from hyperproto.training.steps import AnyOptimizer, LossSum, Machine

FORMAT = "hyperproto.checkpoint/1"


def weights_of(network: nn.Module, space: OutputSpace) -> dict[str, Tensor]:
    """Return a copy of every tensor that training changes, on the CPU; prototypes have a file of
    their own.
    """
    tensors = network.state_dict(prefix="network.")
    if not space.on_sphere:
        tensors |= space.state_dict(prefix="space.")
    return {name: _copied(tensor) for name, tensor in tensors.items()}


def fill_weights(network: nn.Module, space: OutputSpace, tensors: dict[str, Tensor]) -> None:
    """Copy weights into a network and a space that were built to match."""
    for prefix, module in (("network.", network), ("space.", space)):
        own = {
            name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)
        }
        try:
            if own or module is network:
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
    scaler: Plain | None
    machine: Plain
    history: tuple[EpochRecord, ...]

    def __post_init__(self) -> None:
        place = self.epoch, self.step, self.watch
        if min(place[:2]) < 0 or not self.watch or any(len(sums) != 2 for sums in self.watch):
            raise InputError("epoch, step and watch", "say where training was", place)


@dataclass(frozen=True)
class Checkpoint:
    """Tensors and the JSON of the header."""

    tensors: dict[str, Tensor]
    state: Plain

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
    def conditions(self) -> Plain:
        """What must be the same for two runs to agree in every bit."""
        return {
            "processes": self.machine.processes,
            "threads": torch.get_num_threads(),
            "device": self.machine.device.type,
            "torch": torch.__version__,
        }

    def take(
        self, losses: LossSum | None, *, epoch: int, step: int, history: list[Plain]
    ) -> Checkpoint | None:
        """Return the present moment, on the first process; all must call, as each has its own
        random numbers.
        """
        own = {"cpu": torch.get_rng_state()}
        if hasattr(module := getattr(torch, self.machine.device.type), "get_rng_state"):
            own["device"] = module.get_rng_state().cpu()
        processes = self.machine.gather((own, (0.0, 0) if losses is None else losses.read()))
        if self.machine.rank > 0:
            return None
        tensors = weights_of(self.network, self.space) | self.optimizer_tensors()
        for name in own:
            tensors[f"random.{name}"] = torch.stack([random[name] for random, _ in processes])
        scaler = self.machine.scaler
        header = {
            "format": FORMAT,
            "epoch": epoch,
            "step": step,
            "watch": [watch for _, watch in processes],
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
        scaler, state = self.machine.scaler, checkpoint.state
        try:
            self._restore_optimizer(checkpoint)
            if scaler is not None and state["scaler"] is not None:
                scaler.load_state_dict(state["scaler"])
            self._restore_random(checkpoint)
        except (LookupError, RuntimeError, TypeError, ValueError) as error:
            rule = "hold the momentum and random numbers of its run"
            got = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise InputError("The checkpoint", rule, got) from None
        if losses is not None:
            sums = state["watch"]
            shared = [sum(column) / len(sums) for column in zip(*sums, strict=True)]
            same = len(sums) == self.machine.processes
            total, steps = sums[self.machine.rank] if same else shared
            losses.total, losses.steps = float(total), int(steps)

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """Return a copy of what the optimizer remembers of each parameter, by their names, on the
        CPU.
        """
        tensors = {}
        for name, parameter in self._parameters().items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{key}.{name}"] = _copied(value)
                elif value is not None:
                    rule = "keep its state in tensors, for a run to be resumed"
                    got = f"{key}={value!r} of {type(self.optimizer).__name__}"
                    advice = "Train without a folder, or with another optimizer."
                    raise InputError("optimizer", rule, got, advice)
        return tensors

    def _restore_optimizer(self, checkpoint: Checkpoint) -> None:
        named, stored = self._parameters(), self.optimizer.state_dict() | {"state": {}}
        taken = [p for group in self.optimizer.param_groups for p in group["params"]]
        order = {id(parameter): index for index, parameter in enumerate(taken)}
        for name, tensor in checkpoint.tensors.items():
            if name.startswith("optimizer."):
                _, key, parameter_name = name.split(".", 2)
                parameter = named[parameter_name]
                # laid out in memory as its parameter, as in the unbroken run: another layout may
                # round differently
                if tensor.shape == parameter.shape:
                    tensor = torch.empty_like(parameter).copy_(tensor).detach()
                stored["state"].setdefault(order[id(parameter)], {})[key] = tensor
        self.optimizer.load_state_dict(stored)  # which knows what belongs on which device

    def _restore_random(self, checkpoint: Checkpoint) -> None:
        rank, device = self.machine.rank, self.machine.device.type
        states = checkpoint.tensors["random.cpu"]
        if rank >= len(states):
            # more processes than before: the new ones get a stream of their own
            torch.manual_seed(derive_seed(self.seed, "resumed", *checkpoint.position, rank))
            return
        torch.set_rng_state(states[rank].clone())
        on_device = checkpoint.tensors.get("random.device")
        if on_device is not None and checkpoint.state["machine"]["device"] == device:
            getattr(torch, device).set_rng_state(on_device[rank].clone())

    def _parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters by the names their weights have."""
        both = nn.ModuleDict({"network": self.network, "space": self.space})
        return dict(both.named_parameters())


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a file that :meth:`Checkpoint.save` wrote, or say in a sentence why
    it cannot be read.
    """
    check_no_pipe(path)
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            state = json.loads((file.metadata() or {}).get("state", "{}"))
    except (SafetensorError, ValueError, RecursionError, OverflowError) as error:
        raise InputError(
            f'"{path}"', "be a readable checkpoint", error, "It may be cut short."
        ) from None
    check_format(state, FORMAT, f'"{path}"', "a checkpoint")
    if state.pop("checksum", None) != _checksum(tensors, state):
        advice = "Its disk or a copy may have damaged it."
        raise InputError(f'"{path}"', "have the bytes it was written with", "others", advice)
    read_plain(Header, state, f'"{path}"')
    return Checkpoint(tensors, state)


def _copied(tensor: Tensor) -> Tensor:
    """Return a copy on the CPU, laid out as files have tensors."""
    return tensor.detach().cpu().clone().contiguous()


def _checksum(tensors: dict[str, Tensor], state: Plain) -> int:
    """Return a number that changes with any byte; it is to find damage, not to stop a forger."""
    number = zlib.crc32(json.dumps(state, sort_keys=True).encode())
    for name in sorted(tensors):
        content = tensors[name].reshape(-1).view(torch.uint8).numpy()
        number = zlib.crc32(content.data, zlib.crc32(name.encode(), number))
    return number
