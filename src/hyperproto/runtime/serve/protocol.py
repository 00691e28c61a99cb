"""The Open Inference Protocol, version 2: tensors as JSON, or as bytes behind it, to inputs, and
answers back.

https://kserve.github.io/website/docs/concepts/architecture/data-plane/v2-protocol, and Triton's
extension ``binary_tensor_data``, which its clients use unless they are told not to.
"""

import base64
import binascii
import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from ..._core.arrays import Array
from ..._core.errors import InputError
from ..model import INPUT, POINT, InputForm, TaskForm
from ..predictor import Predictor
from .gate import JsonBounds, RefusedError

DTYPES = {"BOOL": "?", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8"}
DTYPES |= {
    f"{sign}{8 * size}": f"<{sign[0].lower()}{size}"
    for sign in ("INT", "UINT")
    for size in (1, 2, 4, 8)
}
Datatype: TypeAlias = Literal["BYTES", "BOOL", "FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"]  # fmt: skip
TYPES = {"prediction": "INT64", "value": "FP64"}  # of outputs, FP32 of all others
Found: TypeAlias = Mapping[str, Array]  # what model.onnx gave, by name
VERSION = "1"  # the only one of a model
Side: TypeAlias = Annotated[int, Field(ge=0, le=2**31)]


class Parameters(BaseModel):
    """What is said about bytes behind the JSON; other parameters are not read."""

    binary_data_size: Annotated[int, Field(strict=True, ge=0)] | None = None
    binary_data: bool | None = None
    binary_data_output: bool = False


class Tensor(BaseModel):
    """One input; with a size it is among the bytes behind the JSON, else in ``data``."""

    name: str
    shape: Annotated[list[Side], Field(min_length=1, max_length=8)]
    datatype: Datatype
    parameters: Parameters = Parameters()
    data: list[Any] | None = None


class Wanted(BaseModel):
    """One output that is asked for."""

    name: str
    parameters: Parameters = Parameters()


class InferRequest(BaseModel):
    """The body of a request, or the JSON before its bytes."""

    id: str | None = None
    parameters: Parameters = Parameters()
    inputs: Annotated[list[Tensor], Field(min_length=1)]
    outputs: list[Wanted] | None = None


class Output(NamedTuple):
    """One output: its type and shape of one input, what of ``model.onnx`` it is made of, and how."""

    datatype: str
    shape: tuple[int, ...]
    parts: Sequence[str]
    make: Callable[[Found], Array]


def read_request(
    body: bytes, header_length: str | None, bounds: JsonBounds
) -> tuple[InferRequest, bytes]:
    """Return what the JSON of a request says, and the bytes behind it."""
    split = len(body)
    if header_length is not None:
        if not (header_length.isascii() and header_length.isdigit()) or int(
            header_length[:20]
        ) > len(body):
            raise RefusedError(
                400, "Inference-Header-Content-Length must be the number of bytes of the JSON."
            )
        split = int(header_length)
    described = body[:split]
    bounds.check(described)
    try:
        return InferRequest.model_validate_json(described), body[split:]
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = "/".join(map(str, first["loc"])) or "The request"
        raise RefusedError(
            400 if first["type"] == "json_invalid" else 422, f"{where}: {first['msg']}."
        ) from None


def describe_inputs(form: InputForm) -> list[dict[str, Any]]:
    """Return the inputs of a model as its metadata list them."""
    if form.encoder is not None:
        types = {"number": "FP64"}
        return [
            {"name": c.name, "datatype": types.get(c.kind, "BYTES"), "shape": [-1]}
            for c in form.encoder.columns
        ]
    datatype = {"uint8": "UINT8", "float32": "FP32", "float64": "FP64"}[form.dtype]
    return [{"name": INPUT, "datatype": datatype, "shape": [-1, *form.shape]}]


def outputs_of(predictor: Predictor) -> dict[str, Output]:
    """Return all outputs of a model by name."""
    found: dict[str, Output] = {}
    for task in predictor.model.tasks:
        of, shape = f"{task.name}/{{}}".format, (len(task.classes),)
        if task.classes:
            make: Callable[[Found], Array] = partial(_decide, predictor, task)
            found[of("class")] = Output("BYTES", (), task.decision, make)
        found |= {name: _given(name, shape) for name, shape in task.outputs.items()}
        if task.sets:
            make = partial(_of_part, task.sets[0].sets, of("probabilities"))
            found[of("set")] = Output("BOOL", shape, [of("probabilities")], make)
        if task.intervals:
            make = partial(_of_part, task.intervals[0].intervals, of("value"))
            found[of("interval")] = Output("FP64", (2,), [of("value")], make)
    if predictor.model.point:
        found[POINT] = _given(POINT, (predictor.model.dim,))
    return found


def _given(name: str, shape: tuple[int, ...]) -> Output:
    """Return an output that is as ``model.onnx`` gives it, but for its type."""
    datatype = TYPES.get(name.rpartition("/")[2], "FP32")
    dtype = DTYPES[datatype]
    return Output(datatype, shape, [name], lambda found: found[name].astype(dtype, copy=False))


def _decide(predictor: Predictor, task: TaskForm, found: Found) -> Array:
    return predictor.decided(task, found).astype(str).astype(object)


def _of_part(make: Callable[[Array], Array], name: str, found: Found) -> Array:
    return make(found[name])


def read_inputs(request: InferRequest, binary: bytes, form: InputForm, most_rows: int) -> Any:
    """Return the inputs of a request as :class:`Predictor` takes them."""
    names = [known["name"] for known in describe_inputs(form)]
    given = [tensor.name for tensor in request.inputs]
    if sorted(given) != sorted(names):
        listed = ", ".join(f'"{name}"' for name in names[:5]) + (", ..." if len(names) > 5 else "")
        raise InputError(
            "The request", f"have these inputs, each once: {listed}", f"{len(given)} inputs"
        )
    arrays: dict[str, Array] = {}
    start = 0
    for tensor in request.inputs:
        if tensor.shape[0] > most_rows:
            raise InputError(
                f'Input "{tensor.name}"', f"have at most {most_rows:,} rows", f"{tensor.shape[0]:,}"
            )
        size = tensor.parameters.binary_data_size
        if size is None:
            arrays[tensor.name] = _from_json(tensor)
            continue
        if size > len(binary) - start:
            rule = "have as many bytes behind the JSON as it says"
            raise InputError(f'Input "{tensor.name}"', rule, len(binary))
        arrays[tensor.name] = _from_bytes(tensor, binary[start : start + size])
        start += size
    if start != len(binary):
        raise InputError(
            "The request", "have only the bytes that its inputs say", f"{len(binary) - start} more"
        )
    if form.encoder is None:
        return _images(arrays[INPUT]) if form.kind == "images" else _only_numbers(arrays[INPUT])
    cells = {name: _column(name, arrays[name]) for name in names}
    if len({len(column) for column in cells.values()}) > 1:
        raise InputError("Inputs", "have the same number of rows")
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return [row[names[0]] or "" for row in rows] if form.kind == "text" else rows


def _images(array: Array) -> Any:
    """Return pixels as they are, or the bytes of files, which JSON has in base64."""
    if array.dtype.kind != "O":
        if array.dtype != np.uint8:
            raise InputError(
                f'Input "{INPUT}"', "be UINT8, pixels, or BYTES, image files in base64", array.dtype
            )
        return array
    try:
        return [
            f if isinstance(f, bytes) else base64.b64decode(f or "", validate=True)
            for f in array.ravel()
        ]
    except (binascii.Error, ValueError):
        raise InputError(f'Input "{INPUT}"', "be image files in base64") from None


def _only_numbers(array: Array) -> Array:
    if array.dtype.kind == "O":
        raise InputError(f'Input "{INPUT}"', "be numbers", "BYTES")
    return array


def _column(name: str, array: Array) -> list[Any]:
    """Return the cells of a column, None where one is empty."""
    if array.ndim > 2 or array.shape[1:] not in ((), (1,)):
        raise InputError(f'Input "{name}"', "have shape (n,) or (n, 1)", array.shape)
    try:
        cells = (
            cell.decode() if isinstance(cell, bytes) else cell for cell in array.ravel().tolist()
        )
        return [
            None if cell is None or cell != cell else cell for cell in cells
        ]  # NaN is not itself
    except UnicodeDecodeError:
        raise InputError(f'Input "{name}"', "be text in UTF-8") from None


def _from_json(tensor: Tensor) -> Array:
    about, count = f'Input "{tensor.name}"', math.prod(tensor.shape)
    if tensor.data is None:
        raise InputError(about, "have data")
    if len(tensor.data) != count and not _has_shape(tensor.data, tensor.shape):
        raise InputError(about, f"have {count:,} values, as its shape says, flat or nested")
    return to_array(tensor.data, tensor.datatype, about).reshape(tensor.shape)


def _has_shape(data: Any, shape: list[int]) -> bool:
    """Whether nested lists have a shape, found before arrays are made of them: those take 100 bytes
    for each of two in the request.
    """
    if not shape:
        return not isinstance(data, list)
    return (
        isinstance(data, list)
        and len(data) == shape[0]
        and all(_has_shape(row, shape[1:]) for row in data)
    )


def to_array(data: list[Any], datatype: str, about: str) -> Array:
    """Return lists from JSON as an array, texts as one of objects; null is NaN, or None among
    texts.
    """
    plain = np.array(
        data, dtype=object
    )  # as a type of numpy, one long text would make every cell as long
    kinds = set(map(type, plain.ravel())) - {type(None)}
    if datatype == "BYTES":
        if kinds - {str}:
            raise InputError(about, "be texts, as BYTES are in JSON")
        return plain
    try:
        if kinds - {int, float, bool}:
            raise TypeError
        with np.errstate(over="ignore"):  # infinity is refused where it is run
            array = plain.astype(DTYPES[datatype])
        if array.dtype.kind != "f" and not (array == plain).all():
            raise OverflowError
    except (OverflowError, TypeError):
        raise InputError(
            about, f"be numbers of type {datatype}, in rows of the same length"
        ) from None
    return array


def _from_bytes(tensor: Tensor, content: bytes) -> Array:
    about, count = f'Input "{tensor.name}"', math.prod(tensor.shape)
    if tensor.datatype != "BYTES":
        dtype = np.dtype(DTYPES[tensor.datatype])
        if len(content) != count * dtype.itemsize:
            raise InputError(
                about,
                f"have {count * dtype.itemsize:,} bytes, as its shape says",
                f"{len(content):,}",
            )
        return np.frombuffer(content, dtype).reshape(tensor.shape)
    parts: list[bytes] = []
    start = 0
    while start + 4 <= len(content) and len(parts) < count:  # each behind its length
        (length,) = struct.unpack_from("<I", content, start)
        parts.append(content[start + 4 : start + 4 + length])
        start += 4 + length
    if len(parts) != count or start != len(content):
        raise InputError(
            about, f"have {count:,} byte strings, as its shape says, each behind its length"
        )
    array = np.empty(count, dtype=object)
    array[:] = parts
    return array.reshape(tensor.shape)


def chosen_outputs(request: InferRequest, known: Mapping[str, Output]) -> dict[str, bool]:
    """Return the names of the outputs that a request asks for, and whether each comes as bytes."""
    binary = request.parameters.binary_data_output
    if not request.outputs:
        return dict.fromkeys(known, binary)
    chosen: dict[str, bool] = {}
    for wanted in request.outputs:
        if wanted.name not in known:
            raise InputError("Outputs", f"be among {', '.join(known)}", f'"{wanted.name[:80]}"')
        own = wanted.parameters.binary_data
        chosen[wanted.name] = binary if own is None else own
    return chosen


def write_answer(
    model_name: str,
    request_id: str | None,
    known: Mapping[str, Output],
    chosen: Mapping[str, bool],
    found: Found,
) -> tuple[bytes, int | None]:
    """Return the body of an answer, and the length of its JSON where bytes are behind it."""
    listed, behind = [], []
    for name, binary in chosen.items():
        values = known[name].make(found)
        about: dict[str, object] = {
            "name": name,
            "datatype": known[name].datatype,
            "shape": values.shape,
        }
        if binary:
            behind.append(_to_bytes(values))
            about["parameters"] = {"binary_data_size": len(behind[-1])}
        else:
            about["data"] = finite(values.ravel())
        listed.append(about)
    named = {"model_name": model_name, "model_version": VERSION}
    told = {} if request_id is None else {"id": request_id}
    head = json.dumps({**named, **told, "outputs": listed}, allow_nan=False).encode()
    return b"".join([head, *behind]), len(head) if behind else None


def _to_bytes(values: Array) -> bytes:
    if values.dtype.kind != "O":
        return np.ascontiguousarray(values).tobytes()
    texts = [text.encode() for text in values.ravel()]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def finite(values: Array) -> list[Any]:
    """Return values for JSON, which has no infinity: null stands for it."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        listed: list[Any] = values.tolist()
        return listed
    return [value if math.isfinite(value) else None for value in values.tolist()]
