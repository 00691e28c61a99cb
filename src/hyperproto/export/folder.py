"""The folder of an exported model: written, and compared with torch before anyone can use it."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import Tensor, nn

from hyperproto._core.arrays import Array
from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError
from hyperproto._core.files import versions, write_json
from hyperproto._core.folders import filling, former_files
from hyperproto._core.schema import from_plain
from hyperproto.data import ImageData, ImageFiles, ImagePreprocessing, Split, TablePreprocessing
from hyperproto.data.image_files import decode_rows
from hyperproto.data.preprocessing import is_sparse, take_rows
from hyperproto.export.graph import Answers, in_precision, preparation, to_onnx
from hyperproto.runtime.images import center
from hyperproto.runtime.model import (
    DESCRIPTION,
    FORMAT,
    GRAPH,
    PROTOTYPES,
    FileForm,
    InputForm,
    Model,
    TaskForm,
)
from hyperproto.runtime.predictor import Predictor
from hyperproto.spaces import OutputSpace, TaskSpace
from hyperproto.spaces.output_space import by_name

# largest difference of probabilities, and of numbers by the width of their range, that is written
AGREE = 1e-4


@dataclass(frozen=True)
class Exported:
    """What was written, and how far onnxruntime is from torch.

    Attributes
    ----------
    folder : Path
    rows : int
        How many inputs were compared.
    difference : float
        The largest of probabilities, and of numbers by the width of their range.
    changed : int
        Predicted classes that differ, of those whose two best classes do not tie.
    calibrated : bool
        Whether the probabilities of all classes were fitted to data that was not trained on.
    """

    folder: Path
    rows: int
    difference: float
    changed: int
    calibrated: bool = True

    def __str__(self) -> str:
        advice = (
            " It is not calibrated: calibrate it, and export it again, to have probabilities that "
            "hold."
        )
        note = "" if self.calibrated else advice
        return (
            f'Exported to "{self.folder}". torch and onnxruntime differ by at most '
            f"{self.difference:.1e} on "
            f"{self.rows} rows; {self.changed} predictions differ.{note}"
        )


def export_model(
    folder: str | Path,
    network: nn.Module,
    space: OutputSpace,
    inputs: Any,
    *,
    preprocessing: Any = None,
    columns: tuple[str, ...] | None = None,
    about: Mapping[str, Mapping[str, Any]] | None = None,
    measures: Mapping[str, Any] | None = None,
    bare: bool | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write a network and its space as a folder that ``hyperproto.runtime.Predictor`` takes.

    Parameters
    ----------
    folder : path
        Must be new or empty; with ``overwrite`` it may hold another exported model.
    network, space
        As trained; the space must be one of ours.
    inputs : array, tensor, sparse rows or ImageFiles, shape (n, ...)
        Real inputs, on which torch and onnxruntime are compared: without ``preprocessing`` as the
        network takes them, with it as a :class:`~hyperproto.data.Source` has them.
    preprocessing : ImagePreprocessing, TablePreprocessing or Standardizer, optional
        What is done to inputs before the network gets them.
    columns : tuple of str, optional
        Of rows, where they have names.
    about : mapping, optional
        By task, fields of :class:`hyperproto.runtime.model.TaskForm` in place of what the space
        says, such as the ``form()`` of what was fitted on held-out data.
    measures : mapping, optional
        How good it is.
    bare : bool, optional
        Whether answers of the one task come by themselves (default: as the space has it).
    """
    stored = space.to_dict()
    if not isinstance(space, TaskSpace) or stored is None:
        raise InputError("A space to export", "be one of hyperproto", type(space).__name__)
    about = about or {}
    for name in about:
        choose(name, space.tasks, what="task of the space")
    dtype = next((weights.dtype for weights in network.parameters()), torch.float32)
    rows = _rows(inputs, preprocessing)
    tasks = tuple(_task(space, name, about.get(name, {})) for name in space.tasks)
    prepare = preparation(preprocessing, rows.ndim, dtype)
    answers = Answers(prepare, copy.deepcopy(network).cpu(), in_precision(space, dtype), tasks)
    graph = to_onnx(answers, rows)
    tensors = {
        name: placed.vectors.cpu().numpy() for name, placed in by_name(space.prototypes).items()
    }
    form = _input_form(rows, preprocessing, columns)

    every = [DESCRIPTION, GRAPH, PROTOTYPES, "README.md"] if overwrite else []
    names_of = partial(former_files, form="hyperproto.model/", names=lambda stored: every)
    with filling(folder, DESCRIPTION, names_of) as place:
        (place / GRAPH).write_bytes(graph)
        save_file(tensors, place / PROTOTYPES, metadata={"format": FORMAT})
        described = Model(
            format=FORMAT,
            inputs=form,
            tasks=tasks,
            bare=stored["bare"] if bare is None else bare,
            dim=space.point_dim,
            space=stored,
            files={name: _describe_file(place / name) for name in (GRAPH, PROTOTYPES)},
            versions=versions(),
            measures={**(measures or {})},
        )
        write_json(place / DESCRIPTION, asdict(described))
        found = _compare(Predictor(place), answers, rows)
        if not found.difference <= AGREE:
            rule = f"give the same answers by onnxruntime as by torch, within {AGREE:g}"
            raise InputError("The network", rule, f"a difference of {found.difference:.1e}")
    return replace(found, folder=Path(folder))


def _rows(inputs: Any, preprocessing: Any) -> Array:
    """Return the first inputs as the graph takes them: dense, images as bytes
    with channels last.
    """
    count = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
    if not count:
        raise InputError("inputs", "be real rows to compare torch and onnxruntime on", "none")
    some = torch.arange(min(count, 256))
    if isinstance(preprocessing, ImagePreprocessing):
        if isinstance(inputs, ImageFiles):
            return np.ascontiguousarray(
                center(decode_rows(inputs, preprocessing, some), preprocessing.size)
            )
        return ImageData(Split(torch.as_tensor(inputs)[: len(some)], {}), preprocessing).pixels(
            some
        )
    if hasattr(inputs, "tocsr"):
        inputs = inputs.tocsr()[: len(some)].toarray()
    elif isinstance(inputs, Tensor):
        inputs = take_rows(inputs, some)
        inputs = (inputs.to_dense() if is_sparse(inputs) else inputs).detach().cpu().numpy()
    rows = np.ascontiguousarray(np.asarray(inputs)[: len(some)])
    return rows if rows.dtype in (np.float32, np.float64, np.uint8) else rows.astype(np.float64)


def _input_form(
    rows: Array,
    preprocessing: Any,
    columns: tuple[str, ...] | None,
) -> InputForm:
    shape, dtype = tuple(rows.shape[1:]), cast(Any, rows.dtype.name)
    options: dict[str, Any] = {"kind": "rows", "names": columns}
    if isinstance(preprocessing, ImagePreprocessing):
        options = {"kind": "images", "images": preprocessing}
    elif isinstance(preprocessing, TablePreprocessing):
        encoder = preprocessing.encoder
        kind = "text" if encoder.columns[0].kind == "text" else "table"
        options = {"kind": kind, "encoder": encoder}
    return InputForm(shape=shape, dtype=dtype, **options)


def _task(space: TaskSpace, name: str, about: Mapping[str, Any]) -> TaskForm:
    """Describe one task for ``model.json``."""
    task, head = space.tasks[name], space.named_heads()[name]
    known: dict[str, Any] = {
        "name": name,
        "kind": task.kind,
        "reads": task.reads,
        "score": "cosine" if space.on_sphere else "score",
    }
    if task.reads == "number":
        stored = task.to_dict()
        known |= {
            key: stored[key]
            for key in ("low", "high", "margin")
            if stored.get(key, "auto") != "auto"
        }
    else:
        known |= {
            "classes": task.names if task.names is not None else list(range(task.num_classes)),
            "outlier": head.outlier,
            "certificate": None if head.placed is None else head.placed.certificate.to_dict(),
        }
    return from_plain(TaskForm, {**known, **about})


def _describe_file(path: Path) -> FileForm:
    content = path.read_bytes()
    return FileForm(len(content), hashlib.sha256(content).hexdigest())


def _compare(predictor: Predictor, answers: Answers, rows: Array) -> Exported:
    """Return how far the written model is from torch on real rows."""
    tasks = predictor.model.tasks
    with torch.no_grad():
        values = (value.numpy() for value in answers(torch.tensor(rows)))
    wanted = dict(zip(answers.names, values, strict=True))
    found = predictor.run(rows, answers.names)
    difference, changed = 0.0, 0
    for task in tasks:
        parts = {part: f"{task.name}/{part}" for part in ("value", "probabilities", "prediction")}
        main = parts["probabilities" if task.classes else "value"]
        apart = float(np.abs(found[main] - wanted[main]).max())
        if task.classes:
            best = np.sort(wanted[f"{task.name}/scores"], axis=1)[:, -2:]
            clear = best[:, -1] - best[:, 0] >= AGREE
            differs = found[parts["prediction"]] != wanted[parts["prediction"]]
            differs = differs.reshape(len(rows), -1).any(axis=1)
            changed += int((differs & clear).sum())
        else:
            width = np.ptp(wanted[main]) if task.high is None else task.high - (task.low or 0.0)
            apart /= max(float(width), 1e-12)
        difference = max(difference, apart)
    calibrated = all(task.calibrated for task in tasks if task.classes)
    return Exported(Path(), len(rows), difference, changed, calibrated)
