"""``model.onnx``: opened by onnxruntime, and compared with ``model.json`` when it is opened and run."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arrays import Array
from .._core.checks import check_integer
from .._core.errors import InputError, require
from .model import GRAPH, INPUT, POINT, Model, ModelError

TYPES = {"uint8": "tensor(uint8)", "float32": "tensor(float)", "float64": "tensor(double)"}
FLOATS = (TYPES["float32"], TYPES["float64"])
# The key "location" of a tensor in another file, as protobuf has it: field 1, 8 bytes, in any
# length of varints.
ELSEWHERE = re.compile(rb"(?:\x0a|\x8a\x80*\x00)(?:\x08|\x88\x80*\x00)location")


class Session:
    """A graph that takes and gives what a model says."""

    def __init__(self, graph: bytes, model: Model, folder: Path, threads: int | None) -> None:
        self._model = model
        self._session = _open(graph, f'"{folder / GRAPH}"', threads)
        if wrong := self._find_wrong():
            advice = "Export the model again."
            raise ModelError(f'"{folder / GRAPH}"', wrong, "something else", advice)

    def run(self, prepared: Array, outputs: Sequence[str]) -> dict[str, Array]:
        """Return some outputs by name, for inputs of the shape and dtype that the graph takes."""
        self.check(prepared)
        checked = [*outputs, POINT] if self._model.point and POINT not in outputs else outputs
        try:
            values = self._session.run(list(checked), {INPUT: prepared})
        except Exception as error:  # onnxruntime's, which have no common base
            raise InputError(f"{GRAPH} could not be run ({first_line(error)}).") from None
        found = dict(zip(checked, values, strict=True))
        self._check_found(found, len(prepared))
        return {name: found[name] for name in outputs}

    def check(self, prepared: Array) -> None:
        """Raise where inputs are not of the shape and dtype that the graph takes, or not finite."""
        form = self._model.inputs
        if prepared.shape[1:] != form.shape or prepared.dtype != form.dtype:
            rule = f"have {_shape(form.shape)} of {form.dtype}"
            raise InputError("Prepared inputs", rule, f"{prepared.shape} of {prepared.dtype}")
        if prepared.dtype.kind == "f" and not np.isfinite(prepared).all():
            bad = np.flatnonzero(~np.isfinite(prepared.reshape(len(prepared), -1)).all(axis=1))
            got = f"NaN or infinity in {len(bad)} of {len(prepared)} rows (first: row {bad[0]})"
            raise InputError("inputs", "be finite", got)

    def _find_wrong(self) -> str:
        """Return what ``model.json`` says that the graph takes or gives, and it does not."""
        taken, form = self._session.get_inputs(), self._model.inputs
        if [node.name for node in taken] != [INPUT]:
            return f'take one input called "{INPUT}"'
        if taken[0].type != TYPES[form.dtype] or tuple(taken[0].shape[1:]) != form.shape:
            return f"take inputs of shape {form.shape} of {form.dtype}"
        given = {node.name: node for node in self._session.get_outputs()}
        for name, shape in self._model.outputs.items():
            types = ("tensor(int64)",) if name.endswith("/prediction") else FLOATS
            node = given.get(name)
            if node is None or node.type not in types or tuple(node.shape[1:]) != shape:
                return f'give "{name}" of {_shape(shape)}'
        return ""

    def _check_found(self, found: Mapping[str, Array], count: int) -> None:
        """Raise where the graph did not give one answer for each input, a class there is not, or a
        point that is none.
        """
        for name, values in found.items():
            if values.shape != (count, *self._model.outputs[name]):
                raise ModelError(
                    GRAPH, f'give "{name}" of {_shape(self._model.outputs[name])}', values.shape
                )
        for task in self._model.class_tasks:
            ids = found.get(f"{task.name}/prediction", np.zeros(0))
            most = 2 if task.reads == "mask" else len(task.classes)
            wrong = ids[(ids < 0) | (ids >= most)]
            if len(wrong):
                raise ModelError(GRAPH, f"predict classes below {most}", wrong[0])
        lengths = np.linalg.norm(found.get(POINT, np.ones((1, 1))), axis=1)
        if not (lengths > 0.5).all():  # NaN is not
            got = "outputs that are zero or not finite"
            raise InputError("inputs", "have a direction on the sphere", got)


def _open(graph: bytes, about: str, threads: int | None) -> Any:
    onnxruntime = require(
        "onnxruntime", extra="runtime", purpose="Predicting with an exported model"
    )
    if ELSEWHERE.search(graph):  # unoptimized, onnxruntime reads files from the working directory
        raise ModelError(about, "hold all of its numbers itself", "a tensor in another file")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised, too
    if threads is not None:
        options.intra_op_num_threads = check_integer(threads, "threads", at_least=1)
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], enable_fallback=0
        )
    except Exception as error:  # which have no common base
        rule = f"be a model that onnxruntime can load ({first_line(error)})"
        raise ModelError(about, rule) from None


def _shape(shape: tuple[int, ...]) -> str:
    return f"shape {('n', *shape)}".replace("'", "")


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or its kind."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
