"""Break off what writes files: by SIGKILL at any call to the file system, on a full disk, or by a
second process.

The same call is made again, as people do. It must succeed, and leave the bytes that an unbroken one
leaves and no other file. A call is counted where Python opens, creates, renames, removes or syncs
something below its folder, and where safetensors writes, which it does without Python: there, half
of the file is written, or nothing.
"""

import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

import safetensors.numpy
import safetensors.torch
import torch

import hyperproto as hp
from hyperproto._core.errors import HyperprotoError
from hyperproto.cli.main import main as command_line
from hyperproto.estimators import HypersphericalClassifier
from hyperproto.evaluation import calibrate_run
from hyperproto.training import RunSpec, SpaceSpec, TrainSettings, train

from .kinds import COLUMNS, _numbers, _training, describe_data

EVENTS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.link",
    "os.truncate",
}
WAYS = ("kill", "full", "two")
TIMES = "times.jsonl"  # differ between equal runs


@dataclass(frozen=True)
class Target:
    """``prepare`` fills a folder, once; ``call`` writes into a copy of it."""

    prepare: Callable[[Path], Any]
    call: Callable[[Path], Any]


@cache
def _model(epochs: int) -> Any:
    x, y = _training()
    return HypersphericalClassifier(epochs=epochs, calibrate=True, replay=4, random_state=0).fit(
        x, y[:, 0]
    )


@cache
def _graph() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        _model(1).export(Path(place) / "model", _training()[0])
        return (Path(place) / "model" / "model.onnx").read_bytes()


def _export(folder: Path) -> None:
    """Export with a graph that is made once: making it takes seconds, and writes nothing."""
    with mock.patch("hyperproto.export.folder.to_onnx", return_value=_graph()):
        _model(1).export(folder / "model", _training()[0])


def _spec(folder: Path) -> RunSpec:
    data = describe_data(folder / "numbers.csv", "table", **COLUMNS)
    return RunSpec(data=data, space=SpaceSpec(dim=3), train=TrainSettings(epochs=2, batch_size=8))


def _train(folder: Path) -> None:
    train(_spec(DATA), folder / "run", resume=True, checkpoint_seconds=0, progress=False)


def _add(folder: Path, how: str) -> None:
    new = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)) + 4
    old = torch.randn(20, 3, generator=torch.Generator().manual_seed(1)), torch.arange(20) % 2
    more: dict[str, Any] = {"replay": old, "epochs": 2, "progress": False} if how == "train" else {}
    hp.evaluation.add_classes(
        folder / "run", new, ["new"] * 6, how=how, folder=folder / "more", **more
    )


def _small_run(folder: Path) -> None:
    inputs = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
    space = hp.Space(3, hp.Classes(["old", "other"]))
    network = hp.models.create_backbone("mlp", out_dim=3, in_features=3)
    hp.fit(
        network,
        space,
        (inputs, torch.arange(40) % 2),
        epochs=1,
        folder=folder / "run",
        progress=False,
    )


def _place(folder: Path) -> None:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        command_line(["place", "3", "3", "--effort", "fast", "-o", str(folder / "p.safetensors")])


DATA = Path(tempfile.gettempdir()) / f"hyperproto-attack-{os.getuid()}"
TARGETS = {
    "save": Target(lambda folder: None, lambda folder: _model(2).save(folder / "model")),
    "overwrite": Target(
        lambda folder: _model(1).save(folder / "model"),
        lambda folder: _model(2).save(folder / "model", overwrite=True),
    ),
    "train": Target(lambda folder: None, _train),
    "add-classes": Target(_small_run, lambda folder: _add(folder, "mean")),
    "add-classes-train": Target(_small_run, lambda folder: _add(folder, "train")),
    "calibrate": Target(_train, lambda folder: calibrate_run(folder / "run", reject=0.1)),
    "place": Target(lambda folder: None, _place),
    "export": Target(lambda folder: None, _export),
}


class Trap:
    """Counts calls below a folder, and ends the process or fails at one of them."""

    def __init__(self, folder: Path, at: int, way: str) -> None:
        self.folder, self.at, self.way, self.calls = str(folder), at, way, 0
        sys.addaudithook(self.audit)
        fsync, serialize = os.fsync, safetensors.serialize_file
        os.fsync = lambda handle: (self.strike(), None if way == "kill" else fsync(handle))[1]  # type: ignore[assignment]
        for module in (safetensors.torch, safetensors.numpy):
            module.serialize_file = lambda *args, **more: self.write(serialize, *args, **more)

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in EVENTS or not isinstance(args[0], str | os.PathLike):
            return
        reads = event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR)
        if str(args[0]).startswith(self.folder) and not reads:
            torn = str(args[0]) if event == "open" and args[2] & os.O_APPEND else None
            self.strike(torn=torn, takes_space=event in ("open", "os.mkdir"))

    def strike(self, *, torn: str | None = None, takes_space: bool = True) -> None:
        """Count a call; at the one chosen die, with half a line where one is appended, or fail from
        it on.
        """
        self.calls += 1
        if self.way == "full" and self.calls >= self.at and takes_space:
            raise OSError(28, "No space left on device")
        if self.way == "kill" and self.calls == self.at:
            if torn is not None:
                with open(torn, "a") as file:
                    file.write('{"epo')
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, serialize: Any, tensors: Any, path: Any, **more: Any) -> None:
        """Write a file of tensors; where chosen, leave half of it, as a crash does, or meet a
        limit.
        """
        if self.calls + 1 >= self.at and self.way == "full":
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (10, limits[1])
            )  # the nearest to a full disk there is
            try:
                serialize(tensors, path, **more)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        elif self.calls + 1 == self.at:
            beside = Path(path).with_name(
                ".tmpA1b2C3"
            )  # where safetensors writes before it renames
            serialize(tensors, beside, **more)
            os.truncate(beside, beside.stat().st_size // 2 if self.at % 2 else 0)
        serialize(tensors, path, **more)
        self.strike()


def _child(
    call: Callable[[Path], Any], folder: Path, at: int | None, way: str, reply: Connection
) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    trap = Trap(folder, at, way) if at is not None else None
    try:
        call(folder)
        reply.send(("done", 0 if trap is None else trap.calls))
    except BaseException as error:
        ours = isinstance(error, HyperprotoError) or (
            isinstance(error, SystemExit) and error.code == 2
        )
        reply.send(("refused" if ours else "fault", f"{type(error).__name__}: {str(error)[:150]}"))


def run(
    call: Callable[[Path], Any], folder: Path, *traps: int | None, way: str = "kill"
) -> list[tuple[str, Any]]:
    """Make a call in one process for each trap, all at once; return how each ended."""
    fork, started = multiprocessing.get_context("fork"), []
    for at in traps or (None,):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = fork.Process(target=_child, args=(call, folder, at, way, theirs))
        process.start()
        theirs.close()
        started.append((process, ours))
    ends: list[tuple[str, Any]] = []
    for process, reply in started:
        try:
            ends.append(reply.recv() if reply.poll(120) else ("hang", "over 120 s"))
        except EOFError:
            ends.append(("killed", ""))
        process.kill() if ends[-1][0] == "hang" else None
        process.join()
    return ends


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.name != TIMES]
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in found
    }


def attack(name: str, way: str, seed: int, cases: range) -> tuple[Counter[str], dict[str, str]]:
    """Return counts by outcome, and the first case of each failure."""
    target, counts, failures = TARGETS[name], Counter[str](), {}
    torch.set_num_threads(1)
    DATA.mkdir(exist_ok=True)
    _numbers(DATA)
    if name in ("save", "overwrite", "export"):  # before processes are forked
        _model(1), _graph() if name == "export" else _model(2)
    with tempfile.TemporaryDirectory() as place:
        good, whole = Path(place) / "good", Path(place) / "whole"
        good.mkdir()
        run(target.prepare, good)
        shutil.copytree(good, whole)
        ((end, total),) = run(target.call, whole, 10**9)
        assert end == "done", total
        expected = contents(whole)
        for case in cases:
            draw = random.Random(f"{name} {way} {seed} {case}")
            folder = Path(place) / f"case{case}"
            shutil.copytree(good, folder)
            traps = (draw.randint(1, total),) if way != "two" else (10**9, 10**9)
            ends = run(target.call, folder, *traps, way=way)
            if way == "kill" and draw.random() < 0.3:  # and again, while it is continued
                ends += run(target.call, folder, draw.randint(1, total))
            wrong = [text for end, text in ends if end in ("fault", "hang")]
            again = run(target.call, folder)[0]
            same = contents(folder) == expected
            if again[0] != "done" and not (
                same and again[0] == "refused"
            ):  # refused: it was complete already
                wrong.append(f"then {again[1]}")
            elif not same:
                found = contents(folder)
                names = sorted(
                    n for n in found.keys() | expected.keys() if found.get(n) != expected.get(n)
                )
                wrong.append(f"then other bytes: {names}")
            outcome = "failure" if wrong else " and ".join(sorted(end for end, _ in ends))
            counts[outcome] += 1
            for text in wrong:
                failures.setdefault(text[:40], f"{case} (call {traps[0]} of {total}): {text}")
            shutil.rmtree(folder)
    return counts, failures
