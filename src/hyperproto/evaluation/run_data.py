"""What a stored run brings: network, space and calibration; its own data, other data, inputs
without labels.
"""

import hashlib
import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, InputTypeError, MissingDataError, arg
from hyperproto._core.files import Plain, read_json
from hyperproto.data import (
    Examples,
    ImageFiles,
    Source,
    Split,
    as_examples,
    training_data,
)
from hyperproto.data.preprocessing import (
    Preprocessing,
    join_rows,
    preprocessing_from_dict,
)
from hyperproto.data.readers import OWN, READERS, detect, read_data
from hyperproto.data.source import Inputs, Unseen, join
from hyperproto.data.table_files import is_table, read_columns
from hyperproto.data.tables import encode_cells, encode_rows
from hyperproto.defaults import INFERENCE_BATCH_SIZE
from hyperproto.evaluation.confidence import Calibration
from hyperproto.runtime.images import images_in
from hyperproto.runtime.tables import TableEncoder
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.output_space import TaskSpace
from hyperproto.spec import DataSpec, ResolvedSettings
from hyperproto.tasks import Task
from hyperproto.training import RunRecord, load, read_run
from hyperproto.training.build import cut_source
from hyperproto.training.load import CALIBRATION


class RunData(NamedTuple):
    """Data for a run: their name, the name of the split, and that split as the network takes it.

    ``source`` is where they are from, None where they were prepared already; ``origin`` is the table
    and which of its rows they are, where they are rows of one.
    """

    name: str
    split: str
    data: Examples
    source: Source | None = None
    origin: tuple[Path, Tensor] | None = None


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A stored run to be asked.

    Attributes
    ----------
    record : RunRecord
        What its folder says.
    network, space
        With the weights ``which``, "last" or "best".
    """

    record: RunRecord
    which: str
    network: nn.Module
    space: TaskSpace

    def __fspath__(self) -> str:
        return str(self.record.folder)

    @property
    def batch_size(self) -> int:
        """How many examples the run validated at once, so that measures agree with its own to the
        bit.
        """
        try:
            resolved = ResolvedSettings.from_dict(self.record.settings)
            return min(2**14, resolved.validation_batch_size)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return INFERENCE_BATCH_SIZE

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, by which a calibration knows what it was fitted for."""
        with (self.record.folder / f"{self.which}.safetensors").open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def calibration(self) -> Calibration | None:
        """What ``calibrate_run`` wrote for these weights; None where it did not."""
        path = self.record.folder / CALIBRATION
        calibration = Calibration.from_dict(read_json(path)) if path.is_file() else None
        if calibration is None or calibration.origin.get("which") != self.which:
            return None
        advice = "Calibrate the run again."
        if calibration.origin.get("weights") != self.fingerprint:
            raise InputError(f'"{path}"', "be fitted for the weights of its run", "others", advice)
        for task in calibration.tasks.keys() - self.space.tasks.keys():
            raise InputError(f'"{path}"', "be about the tasks of its run", f'"{task}"', advice)
        return calibration

    def read(
        self,
        data: object = None,
        *,
        split: str | None = None,
        unseen: Unseen = "error",
        skip_corrupt: bool = False,
    ) -> RunData:
        """Read data as the network takes them, with the targets of the run.

        Parameters are those of :func:`~hyperproto.evaluation.evaluate_run`.
        """
        if data is None or isinstance(data, str | Path):
            source = self.read_source(data, split=split, unseen=unseen)
        elif isinstance(data, Source):
            source = data
        else:
            return RunData("data", split or "all", as_examples(data, name="data"))
        name = split or ("all" if source.test is None else "test")
        chosen, spec = _choose_split(source, name), self.record.spec
        targets = _match_targets(chosen.targets, source.targets, self.space.tasks, unseen)
        skip_corrupt |= spec is not None and spec.data.skip_corrupt  # as it was trained
        preprocessing = run_preprocessing(self.record, source)
        prepared = _prepare(Split(chosen.inputs, targets), preprocessing, skip_corrupt)
        return RunData(source.name, name, prepared, source, chosen.origin)

    def read_source(
        self, path: str | Path | None = None, *, split: str | None = None, unseen: Unseen = "error"
    ) -> Source:
        """Read the data that a run was trained on, or other data the same way; without a split
        named, as a whole.

        For the split "train" the training part of its own data is what it was trained on: not what
        it was validated on. Where the run does not say how its data was read, other data is read as
        what it is detected to be.
        """
        record, trained = self.record, self.record.spec
        if trained is not None:
            spec = trained.data
        elif path is not None:
            spec = DataSpec(reader=detect(path))
        else:
            advice = f"Say where it is: {arg('data', 'PATH')}."
            raise InputError(f'The run "{record.folder}" does not know its data.', advice=advice)
        reader, options = spec.reader, spec.options | _unseen_option(spec.reader, unseen)
        other = path is not None and Path(path).resolve() != Path(spec.path).resolve()
        targets = encoder = None
        if reader == "table" and (trained is None or record.preprocessing is not None):
            encoder = run_preprocessing(record).encoder
        if reader in OWN and other:
            targets = _known_targets(self.space.tasks, reader)
            if reader == "table" and trained is None:
                options |= _table_columns(record, self.space.tasks, encoder)
            if split is None:
                options.pop("test", None)
                options["held_out"] = 0.0
        source = read_data(replace(spec, options=options), path, targets=targets, encoder=encoder)
        if split == "train" and trained is not None and not other:
            kept = cut_source(source, spec, seed=trained.train.seed).train
            source = replace(source, train=kept)
        return source

    def read_unlabeled(
        self, paths: Iterable[Path], *, texts: Sequence[str] = (), skip_corrupt: bool = False
    ) -> tuple[Examples, list[Plain]]:
        """Return inputs without targets, prepared as the run's training data was, and where each
        came from.

        Parameters are those of :func:`~hyperproto.evaluation.predict_files`.
        """
        preprocessing = run_preprocessing(self.record)
        if texts:
            inputs, origins = _encode_texts(texts, preprocessing)
        else:
            inputs, origins = unlabeled(self.record, preprocessing, paths)
        data = _prepare(Split(inputs, {}), preprocessing, skip_corrupt)
        if left_out := set(getattr(data, "skipped", ())):
            pairs = zip(origins, inputs, strict=True)
            origins = [origin for origin, path in pairs if path not in left_out]
        return data, origins


AnyRun: TypeAlias = str | Path | OpenRun


def open_run(
    run: AnyRun,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> OpenRun:
    """Open a stored run, to evaluate it, predict with it, and so on; an open one is returned as it
    is.

    Parameters
    ----------
    run : path
        Its folder.
    which : {"last", "best"}
        The weights after the last epoch, or after the best.
    network, space : optional
        For a network or a space of your own, as for :func:`~hyperproto.training.load.load`; the
        space must say what its tasks are.
    """
    if isinstance(run, OpenRun):
        return run
    record = read_run(run)
    network, space = load(run, which=which, network=network, space=space)
    if not isinstance(space, TaskSpace):
        rule, advice = "say what its tasks are, as hp.Space does", "hp.evaluate measures any space."
        raise InputTypeError("space", rule, type(space).__name__, advice)
    return OpenRun(record, which, network, space)


def _choose_split(source: Source, name: str) -> Split:
    choose(name, {"test": 0, "train": 0, "all": 0}, what="split of the data")
    if name == "train" or (name == "all" and source.test is None):
        return source.train
    if source.test is None:
        advice = f"Choose {arg('split', 'train')} or {arg('split', 'all')}."
        raise InputError(f'The data "{source.name}"', "have a test split", "none", advice)
    if name == "test":
        return source.test
    return join(source.train, source.test)


def _prepare(split: Split, preprocessing: Preprocessing, skip_corrupt: bool) -> Examples:
    with warnings.catch_warnings():  # `skipped` says so
        warnings.filterwarnings("ignore", message=".* cannot be read and are left out")
        return training_data(split, preprocessing, skip_corrupt=skip_corrupt)


def run_preprocessing(record: RunRecord, source: Source | None = None) -> Preprocessing:
    """Return what is done to each input: as the run stored it, else as its own data has it."""
    stored = record.preprocessing
    if stored is None and source is not None and record.spec is not None:
        return source.preprocessing
    if stored is None:
        raise InputError(
            f'The run "{record.folder}" does not say how its inputs were prepared.',
            advice="Train with hp.fit(..., preprocessing=source.preprocessing), or give "
            "evaluate_run data that is prepared already.",
        )
    try:
        return preprocessing_from_dict(stored)
    except (AttributeError, KeyError, TypeError) as error:
        about = f'The preprocessing of "{record.folder}"'
        raise InputError(about, "be complete", repr(error)) from None


def _known_targets(tasks: Mapping[str, Task], reader: str) -> dict[str, Task]:
    """Return the run's tasks by the names the reader gives them; without class names there is
    nothing to know.
    """
    targets = {name: task for name, task in tasks.items() if task.reads == "number" or task.names}
    if reader == "image-folder" and len(targets) == 1:
        return {"class": next(iter(targets.values()))}  # its only task, whatever the run calls it
    return targets


def _table_columns(
    record: RunRecord, tasks: Mapping[str, Task], encoder: TableEncoder | None
) -> Plain:
    """Return which columns of a table a run takes that does not say how its data was read."""
    if encoder is None:
        rule = "know which column of a table has its images"
        advice = "Read the table with hp.data.read_table and pass it to evaluate_run."
        raise InputError(f'The run "{record.folder}"', rule, "none", advice)
    kinds = {name: task.kind for name, task in tasks.items()}
    return {"kinds": kinds, "columns": encoder.names}


def _unseen_option(reader: str, unseen: Unseen) -> Plain:
    """Return the rule for unseen classes, for readers that have one."""
    takes = reader in READERS and "unseen" in inspect.signature(READERS[reader].read).parameters
    return {"unseen": unseen} if takes else {}


def _match_targets(
    targets: Mapping[str, Tensor],
    found: Mapping[str, Task],
    tasks: Mapping[str, Task],
    unseen: Unseen,
) -> dict[str, Tensor]:
    """Return the targets of a run by its names and class ids; one on either side is matched
    whatever its name.
    """
    matched = {}
    for name, task in tasks.items():
        source = next(iter(found)) if name not in found and len(tasks) == len(found) == 1 else name
        target = found.get(source)
        if target is None or task.reads != target.reads:
            rule = f'have a target "{name}" of kind "{task.kind}", as the run does'
            raise InputError("The data", rule, ", ".join(f'"{known}"' for known in found))
        matched[name] = targets[source]
        if task.reads != "number":
            matched[name] = _match_names(name, targets[source], target, task, unseen)
    return matched


def _match_names(name: str, ids: Tensor, found: Task, task: Task, unseen: Unseen) -> Tensor:
    """Return the run's targets for the data's, by their names."""
    if task.names is None and found.num_classes != task.num_classes:
        rule = f"have {task.num_classes} classes, as the run does, where they have no names"
        raise InputError(f'"{name}"', rule, found.num_classes)
    if task.names is None or found.names == task.names:
        return ids
    values = found.decode(ids.numpy()).tolist()
    return torch.from_numpy(task.encode(values, f'"{name}" in the data', unseen=unseen))


def unlabeled(
    record: RunRecord, preprocessing: Preprocessing, paths: Iterable[Path]
) -> tuple[Inputs, list[Plain]]:
    """Return the inputs of files as a :class:`~hyperproto.data.Source` has them, and where each
    came from.
    """
    encoder = preprocessing.encoder
    if encoder is not None:
        return _read_rows(paths, encoder)
    column = None if record.spec is None else record.spec.data.options.get("image")
    files: list[Path] = []
    origins: list[Plain] = []
    for path in paths:
        found, places = _find_images(path, column)
        files += found
        origins += places
    return ImageFiles(files), origins


def _find_images(path: Path, image_column: str | None) -> tuple[list[Path], list[Plain]]:
    """Return image files, of a folder those in it and below, of a table those it names; and where
    each is from.
    """
    if not (path.is_dir() or path.is_file()):  # a pipe would be waited for
        rule = "be an image file or a folder"
        raise MissingDataError(f'"{path}"', rule, "nothing", "Check the path.")
    if path.is_dir() or not is_table(path):
        files = images_in(path)
        return files, [{"file": str(file)} for file in files]
    if image_column is None:
        rule = "be an image or a folder of images, as the run takes images"
        raise InputError(f'"{path}"', rule, "a table")
    cells = list(map(str, read_columns(path)[image_column].cells))
    places = enumerate(cells, 1)
    origins: list[Plain] = [{"file": str(path), "row": n, image_column: cell} for n, cell in places]
    return [path.parent / cell for cell in cells], origins


def _read_rows(paths: Iterable[Path], encoder: TableEncoder) -> tuple[Tensor, list[Plain]]:
    """Return the rows of tables, encoded, and where each is from."""
    parts: list[Tensor] = []
    origins: list[Plain] = []
    for path in paths:
        if not is_table(path):
            listed = ", ".join(encoder.names[:5]) + (", ..." if len(encoder.names) > 5 else "")
            rule = f"be a table (.csv, .tsv, .parquet) with columns {listed}"
            got = "another file" if path.exists() else "no file of that name"
            raise InputError(f'"{path}"', rule, got)
        parts.append(encode_rows(read_columns(path), encoder))
        origins += [{"file": str(path), "row": row} for row in range(1, len(parts[-1]) + 1)]
    return join_rows(parts), origins


def _encode_texts(texts: Sequence[str], preprocessing: Preprocessing) -> tuple[Inputs, list[Plain]]:
    encoder = preprocessing.encoder
    if encoder is None or encoder.columns[0].kind != "text":
        got = "images" if encoder is None else "columns of a table"
        raise InputError("text", "be left out for a run on other inputs", got)
    rows = encode_cells({encoder.names[0]: texts}, encoder)
    return rows, [{"text": text} for text in texts]
