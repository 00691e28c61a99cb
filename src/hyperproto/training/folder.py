"""The folder of a run, written such that it can be cut off anywhere.

It has

- ``spec.json``: the description of the run, before data are read, where it is trained from one,
- ``config.json``: network, space, settings, sizes of the data, preprocessing, versions; once, and
  first of all,
- ``features.safetensors``: of the images, where they are computed once, and from what,
- ``prototypes.N.safetensors``: once, one for each class task,
- ``epochs.jsonl``: one line per epoch; ``times.jsonl``: wall-clock seconds, separately, since
  everything else is the same when made again,
- ``last.safetensors``, ``best.safetensors``: weights after the last epoch, and after the best on
  validation data,
- ``checkpoint.safetensors``: the one file that resuming needs, replaced at the end of every epoch
  and from time to time within one; weights, momentum, random numbers, position and history from the
  same moment,
- ``metrics.json``: the last measures, when training is finished,
- ``calibration.json``: what turns scores into probabilities, where the run was calibrated,
- ``failed_batch.safetensors``: where a loss was not finite.

Every file is written under a temporary name and renamed. The first checkpoint is written before the
first step; a run without one starts again. Numbers and text only: loading one never runs or imports
anything a file names.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Self

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from hyperproto._core.errors import (
    HyperprotoError,
    InputError,
    NonFiniteLossError,
    StorageError,
    arg,
)
from hyperproto._core.files import (
    Plain,
    as_path,
    make_folder,
    new_folder,
    owning,
    plain,
    read_json,
    remove_leftovers,
    write_json,
)
from hyperproto._core.processes import is_first
from hyperproto.data.examples import Values
from hyperproto.prototypes import Prototypes
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import RunSpec
from hyperproto.training.checkpoint import Checkpoint, read_checkpoint, write_tensors
from hyperproto.training.load import read_config, read_run
from hyperproto.training.run import out_of_patience

CHECKPOINT = "checkpoint.safetensors"
SPEC = "spec.json"
FEATURES = "features.safetensors"
NAMED = 8  # examples in the sentence about a failed batch; all of them are in the file
WRITTEN = (
    "metrics.json", "epochs.jsonl", "times.jsonl", "best.safetensors", "last.safetensors"
)  # fmt: skip
COMPARED = ("optimizer", "settings", "network", "space", "data", "preprocessing")


class RunFolder(PathLike[str]):
    """Writes a run.

    ``spec`` is the description that it is trained from, where there is one; it is stored with it.
    """

    def __init__(self, path: Path, spec: RunSpec | None = None) -> None:
        self.path, self.spec = path, spec
        self._is_held = False

    @classmethod
    def at(cls, folder: str | PathLike[str]) -> Self:
        """Return the folder of a path, or one that is held already as it is."""
        return folder if isinstance(folder, cls) else cls(as_path(folder))

    def __fspath__(self) -> str:
        return str(self.path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes and threads from the folder while the block lasts; blocks may be
        nested. A failure to write says what the run can be resumed from.
        """
        if self._is_held or not is_first():
            yield
            return
        with owning(make_folder(self.path)):
            self._is_held = True
            try:
                yield
            except StorageError as error:
                got, advice = error.got, self._say_what_is_safe(error)
                raise StorageError(error.argument, error.rule, got, advice) from error
            finally:
                self._is_held = False

    def _say_what_is_safe(self, error: StorageError) -> str:
        if not self.path.is_dir():
            return "The folder of the run was removed."
        if (position := stored_position(self.path)) is None:
            return "Nothing can be resumed yet."
        epoch, step = position
        advice = f"The last checkpoint (epoch {epoch + 1}, {step} steps done) is intact"
        return advice + ("." if error.got is None else ": make room, then resume the run.")

    @contextmanager
    def started(self) -> Iterator[None]:
        """Write the description before anything that takes time; take it back where the block fails
        early.

        A process that is killed leaves a folder that can be resumed; one that meets a mistake
        leaves none, or what a run that was killed had left before.
        """
        if not is_first():
            yield
            return
        assert self.spec is not None
        path, features = self.path / SPEC, self.path / FEATURES
        with self.held():
            take_folder(self.path)
            killed = read_json(path) if path.is_file() else None
            had_features = features.is_file()
            write_json(path, self.spec.to_dict())
            try:
                yield
            except BaseException:
                if not (self.path / "config.json").is_file():
                    self._take_back(killed, keeps_features=had_features)
                raise

    def _take_back(self, killed: object, *, keeps_features: bool) -> None:
        with suppress(OSError):
            if not keeps_features:
                (self.path / FEATURES).unlink(missing_ok=True)
            if killed is not None:
                write_json(self.path / SPEC, killed)
                return
            (self.path / SPEC).unlink()
            self.path.rmdir()  # where nothing else is in it

    def open(self, config: Plain, space: OutputSpace, *, resume: bool) -> Checkpoint | None:
        """Start a run, or return the moment to continue from; None where the first step is still to
        come.
        """
        config["spec"] = None if self.spec is None else self.spec.to_dict()
        if resume and (self.path / "config.json").is_file():
            stored = read_config(self.path)
            given = plain(config)  # tuples become lists, as on their way to the file
            for part in COMPARED:
                check_same(self.path, part, stored.get(part), given.get(part))
            if (self.path / CHECKPOINT).is_file():
                _check_prototypes(self.path, space)
                return read_checkpoint(self.path / CHECKPOINT)
        else:
            take_folder(self.path)
            write_json(self.path / "config.json", config)
        for path, prototypes in prototype_files(self.path, space).items():
            prototypes.save(path)
        return None

    def clear(self) -> None:
        """Remove what training wrote, but for the features: another training takes its place.

        Wherever that is cut off, the folder can be resumed: the config goes last.
        """
        placed = [path.name for path in self.path.glob("prototypes.*.safetensors")]
        for name in (*WRITTEN, CHECKPOINT, *placed, "config.json"):
            (self.path / name).unlink(missing_ok=True)


def prototype_files(folder: Path, space: OutputSpace) -> dict[Path, Prototypes]:
    """Return the prototypes of each class task of a space by their files in the folder of a run."""
    placed = by_name(space.prototypes).values()
    return {
        folder / f"prototypes.{index}.safetensors": prototypes
        for index, prototypes in enumerate(placed)
    }


def _check_prototypes(folder: Path, space: OutputSpace) -> None:
    """Raise where the prototypes of a space are not those of a stored run."""
    for path, prototypes in prototype_files(folder, space).items():
        if not torch.equal(Prototypes.load(path).vectors, prototypes.vectors.cpu()):
            rule = f"be resumed with its own prototypes, {path.name}"
            advice = "Take the space from hyperproto.training.rebuild(folder), or choose another "
            raise InputError(f'"{folder}"', rule, "others", f"{advice}folder.")


def check_same(folder: Path, name: str, before: object, now: object) -> None:
    """Raise an error that names the first value by which a run would be continued differently."""
    stored, given = dict(_flat(before, name)), dict(_flat(now, name))
    for key in stored | given:
        if stored.get(key) != given.get(key):
            rule = f"be resumed as it was started, with {key.removeprefix('settings.')}="
            rule, got = f"{rule}{stored.get(key)!r}", repr(given.get(key))
            raise InputError(f'"{folder}"', rule, got, "Choose another folder for another run.")


def _flat(value: object, name: str) -> Iterator[tuple[str, object]]:
    """Yield each value of nested dicts and lists, by the names that lead to it."""
    match value:
        case dict():
            parts = value.items()
        case list():
            parts = dict(enumerate(value)).items()
        case _:
            yield name, value
            return
    for key, part in parts:
        yield from _flat(part, f"{name}.{key}")


def claim_folder(name: str, root: Path = Path("runs")) -> Path:
    """Create and return ``root/name-1``, or the first number that is free; two commands never get
    the same.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        rule, advice = "be a folder that can be created", arg("folder", "RUN")
        got, advice = error.strerror, f"Choose another folder with {advice}."
        raise InputError(f'"{root}"', rule, got, advice) from None
    for number in count(1):
        folder = root / f"{name}-{number}"
        with suppress(FileExistsError):
            folder.mkdir()
            break
    return folder


def stored_position(folder: Path) -> tuple[int, int] | None:
    """Return the epoch and the step of a run's checkpoint; None where it has none yet."""
    path = folder / CHECKPOINT
    return read_checkpoint(path).position if path.is_file() else None


def extend_run(folder: Path, epochs: int) -> None:
    """Have a run train for more epochs than it has; what was measured at its end is no longer true,
    and removed.

    A calibration is recognized as that of other weights by itself.
    """
    run = read_run(folder)
    before, monitor = run.settings["epochs"], run.settings.get("monitor")
    if epochs == before:
        return
    if epochs < before:
        raise InputError("epochs", f"be more than the {before} of the run", epochs)
    if out_of_patience(run.history, monitor, run.settings.get("patience")):
        advice = f"Start another with {arg('weights', folder)}."
        raise InputError(f'"{folder}"', "have patience left to train longer", "none", advice)
    (folder / "metrics.json").unlink(missing_ok=True)
    run.config["settings"]["epochs"] = epochs
    if run.config.get("spec"):
        run.config["spec"]["train"]["epochs"] = epochs
    write_json(folder / "config.json", run.config)


def stored_spec(folder: Path) -> RunSpec:
    """Return the description that a run was started with."""
    if (folder / "config.json").is_file():
        spec = read_run(folder).spec
        if spec is None:
            advice = "Resume it as it was started: fit(..., resume=True)."
            raise InputError(
                f'"{folder}"', "be trained from a description to be resumed", "a run of fit", advice
            )
        return spec
    if not (folder / SPEC).is_file():
        read_config(folder)  # or an error: there is none
    return RunSpec.from_dict(read_json(folder / SPEC))


def take_folder(folder: Path) -> None:
    """Create a folder for a run; one may be there, with the description of a run that was killed
    before its config.

    Checks first: where anything else is in the folder, it is refused and nothing is removed but
    leftovers in a run.
    """
    ours, advice = set(), "Choose another."
    if (folder / SPEC).exists():
        _check_spec(folder)
        ours = {SPEC, FEATURES} if _is_features(folder / FEATURES) else {SPEC}
    if (folder / "config.json").is_file():
        remove_leftovers(folder)  # of a process that was killed when all was written
        advice = f"Continue the run in it with {arg('resume', True)}, or choose another."
    new_folder(folder, except_for=ours, advice=advice)


def _check_spec(folder: Path) -> None:
    """Raise where a file called like the description of a run is not one that a run wrote."""
    content = read_json(folder / SPEC)
    try:
        RunSpec.from_dict(content)
    except HyperprotoError:
        got, advice = "a file that would be overwritten", "Choose another folder."
        rule = "be the description of a run"
        raise InputError(f'"{folder / SPEC}"', rule, got, advice) from None


def _is_features(path: Path) -> bool:
    """Whether a file holds features that a run wrote."""
    if path.is_file():  # a pipe would be waited for
        with suppress(OSError, SafetensorError), safe_open(path, "pt") as file:
            return "hyperproto.features/" in str(file.metadata())
    return False


def explain_failure(
    error: NonFiniteLossError, ids: Tensor, batch: tuple[Values, Values], store: RunFolder | None
) -> NonFiniteLossError:
    """Save a batch whose loss is not finite where there is a folder, and return the error with what
    is known added.

    ``ids`` are the rows of the data set that the batch was made of, shape (n,).
    """
    rows = ", ".join(map(str, ids[:NAMED].tolist())) + (", ..." if len(ids) > NAMED else "")
    known = f"Its {len(ids)} examples are rows {rows} of the data"
    if store is not None and store.path.is_dir():
        path = store.path / "failed_batch.safetensors"
        tensors = {"ids": ids}
        for part, values in zip(("inputs", "targets"), batch, strict=True):
            named = isinstance(values, Mapping)
            tensors |= {f"{part}.{k}": v for k, v in values.items()} if named else {part: values}
        dense = {name: tensor.detach().cpu().to_dense() for name, tensor in tensors.items()}
        write_tensors(path, {name: tensor.clone().contiguous() for name, tensor in dense.items()})
        known += f', saved in "{path}"'
    advice = f"{known}. Lower lr, or search them for NaN and huge values."
    return NonFiniteLossError(error.argument, advice=advice)
