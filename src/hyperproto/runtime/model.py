"""The folder of an exported model: what it says, read such that a folder from anywhere can do no
harm.

``model.json`` describes inputs and tasks, and has the sha256 of the two other files:
``model.onnx``, the network and what its output means, and ``prototypes.safetensors``, the
prototypes alone. All of it is numbers and text, and nothing names code. What the files say is
checked before any of it is used.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from .._core.checks import MOST
from .._core.errors import HyperprotoError, InputError
from .._core.schema import read_plain
from .conformal import ConformalInterval, ConformalSets, Rejection
from .images import ImagePreprocessing
from .tables import TableEncoder

FORMAT = "hyperproto.model/1"
INPUT, POINT = "input", "point"  # of the graph
DESCRIPTION, GRAPH, PROTOTYPES = "model.json", "model.onnx", "prototypes.safetensors"
OUTLIER_SCORES = ("entropy", "probability", "energy", "strength")


class ModelError(InputError):
    """A folder that is not an exported model, or no longer one that can be used."""


@dataclass(frozen=True)
class InputForm:
    """What a model takes.

    Attributes
    ----------
    kind : {"images", "table", "text", "rows"}
        Image files, rows of a table by the names of its columns, texts, or arrays of numbers.
    shape : tuple of int
        Of one input as ``model.onnx`` takes it: (height, width, channels), (columns,), or that of
        an array.
    dtype : {"uint8", "float32", "float64"}
    images : ImagePreprocessing, optional
        How image files are prepared; mean and std are applied by ``model.onnx``.
    encoder : TableEncoder, optional
        How the cells of a table, or texts, become numbers.
    names : tuple of str, optional
        The columns of rows, where they have names.
    """

    kind: Literal["images", "table", "text", "rows"]
    shape: tuple[int, ...]
    dtype: Literal["uint8", "float32", "float64"]
    images: ImagePreprocessing | None = None
    encoder: TableEncoder | None = None
    names: tuple[str, ...] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that inputs have."""
        return (self.names or ()) if self.encoder is None else self.encoder.names

    def __post_init__(self) -> None:
        if not self.shape or min(self.shape) < 1 or math.prod(self.shape) > MOST:
            raise InputError("shape", f"be of 1 to {MOST:,} numbers", self.shape)
        if (self.images is None) != (self.kind != "images"):
            raise InputError("images", "be given for images, and for nothing else")
        if (self.encoder is None) != (self.kind not in ("table", "text")):
            raise InputError("encoder", "be given for tables and texts, and for nothing else")
        width: tuple[int, ...] | None = None
        if self.images is not None:
            if self.images.channels not in (1, 3):
                raise InputError("images", "be in 1 or 3 channels", self.images.channels)
            width = (self.images.size, self.images.size, self.images.channels)
        elif self.encoder is not None:
            if (self.encoder.columns[0].kind == "text") != (self.kind == "text"):
                raise InputError("kind", "be that of the columns", self.kind)
            width = (len(self.encoder.outputs),)
        elif self.names is not None:
            width = (len(self.names),)
        if width is not None and width != self.shape:
            raise InputError("shape", f"be {width}, as the inputs are prepared", self.shape)


@dataclass(frozen=True)
class TaskForm:
    """One task: classes or a number, and what was fitted for the confidence of its predictions.

    Attributes
    ----------
    name : str
        An unnamed task is called "target".
    kind : str
        What the library calls the task; for people.
    reads : {"index", "mask", "number"}
        How a prediction is read: an index into ``classes``, a mask over them, or a number.
    classes : tuple of str, int, float or bool
        The names of classes, as predictions have them.
    score : {"cosine", "score"}
        What the decision is made on.
    scale : float
        Of the softmax behind probabilities.
    outlier : str
        Which score says how unusual an input is.
    longest : float, optional
        Of the outputs that the threshold for unknown inputs was fitted to.
    calibrated : bool
        Whether scale and thresholds were fitted to data that was not trained on.
    sets, intervals : tuple
        For each coverage that was fitted, the first by default.
    rejection : Rejection, optional
    unknown : optional
        The answer for an input that is rejected.
    certificate : dict, optional
        What is known about the placement of the prototypes.
    low, high, margin : float, optional
        The bounds of a number.
    """

    name: str
    kind: str
    reads: Literal["index", "mask", "number"] = "index"
    classes: tuple[Any, ...] = ()
    score: Literal["cosine", "score"] = "cosine"
    scale: float = 1.0
    outlier: str = "entropy"
    longest: float | None = None
    calibrated: bool = False
    sets: tuple[ConformalSets, ...] = ()
    intervals: tuple[ConformalInterval, ...] = ()
    rejection: Rejection | None = None
    unknown: Any = "unknown"
    certificate: dict[str, Any] | None = None
    low: float | None = None
    high: float | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        if (self.reads == "number") != (not self.classes):
            raise InputError("classes", "be the names of an index or a mask, and of nothing else")
        if any(not isinstance(name, str | int | float) for name in (*self.classes, self.unknown)):
            raise InputError("classes", "be text, numbers or truths")
        if len(set(self.classes)) < len(self.classes):
            raise InputError("classes", "differ from each other")
        if self.outlier not in OUTLIER_SCORES:
            raise InputError("outlier", f"be one of {', '.join(OUTLIER_SCORES)}", self.outlier)
        if not self.scale > 0:
            raise InputError("scale", "be greater than 0", self.scale)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """What ``model.onnx`` says about this task of each input, with shapes."""
        wide, parts = (len(self.classes),), {"value": tuple[int, ...]()}
        if self.classes:
            one = wide if self.reads == "mask" else ()
            parts = {"prediction": one, "scores": wide, "probabilities": wide, "outlier": ()}
        return {f"{self.name}/{part}": shape for part, shape in parts.items()}

    @property
    def decision(self) -> list[str]:
        """The outputs that say what is predicted."""
        if not self.classes:
            return [f"{self.name}/value"]
        return [f"{self.name}/prediction", *([f"{self.name}/outlier"] if self.rejection else [])]


@dataclass(frozen=True)
class FileForm:
    """The length and the sha256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Model:
    """What ``model.json`` says.

    Attributes
    ----------
    inputs : InputForm
    tasks : tuple of TaskForm
    bare : bool
        Whether there is one unnamed task, whose answers come by themselves and not by name.
    dim : int
        Width of the network's output, and of points on a sphere.
    space : dict
        The output space, as a run's config has it.
    files : dict of FileForm
    versions : dict of str
        Of what made it.
    measures : dict of float
        How good it was on validation data, where there was any.
    """

    format: str
    inputs: InputForm
    tasks: tuple[TaskForm, ...]
    bare: bool
    dim: int
    space: dict[str, Any]
    files: dict[str, FileForm]
    versions: dict[str, str] = field(default_factory=dict)
    measures: dict[str, Real | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [task.name for task in self.tasks]
        if not names or len(set(names)) < len(names) or (self.bare and len(names) > 1):
            raise InputError("tasks", "be at least one, each with its own name", names)
        if not 1 <= self.dim <= MOST:
            raise InputError("dim", f"be from 1 to {MOST:,}", self.dim)
        if set(self.files) != {GRAPH, PROTOTYPES}:
            raise InputError("files", f"be {GRAPH} and {PROTOTYPES}", list(self.files))

    @property
    def point(self) -> bool:
        """Whether outputs are points on a sphere."""
        return any(task.score == "cosine" for task in self.tasks)

    @cached_property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """What ``model.onnx`` says of each input, with shapes: all about each task, and where
        there is a sphere the point on it.
        """
        found = {name: shape for task in self.tasks for name, shape in task.outputs.items()}
        return {**found, POINT: (self.dim,)} if self.point else found

    @property
    def class_tasks(self) -> list[TaskForm]:
        """The tasks that predict classes."""
        return [task for task in self.tasks if task.classes]

    @cached_property
    def placed(self) -> dict[str, int]:
        """How many classes each task has whose classes have prototypes."""
        return {t.name: len(t.classes) for t in self.class_tasks if t.score == "cosine"}


def is_model(folder: str | Path) -> bool:
    """Whether a folder holds an exported model."""
    return (Path(folder) / DESCRIPTION).is_file()


def read_model(folder: str | Path) -> tuple[Model, bytes]:
    """Return what the folder of an exported model says, and its graph; an error says which file is
    wrong.

    Files are compared with the sha256 that ``model.json`` has of them: a copy that was cut short is
    not used.
    """
    folder = Path(folder)
    # a million names of classes take a fifth of it
    described = _read(folder / DESCRIPTION, 2**27)
    try:
        stored = json.loads(described)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f'"{folder / DESCRIPTION}"', f"be JSON ({error})", advice="It may be cut short."
        ) from None
    found = stored.get("format") if isinstance(stored, dict) else None
    if found != FORMAT:
        advice = "Export the model again, or use the version of hyperproto-runtime that fits it."
        raise ModelError(f'"{folder}"', f"be a model of format {FORMAT}", found, advice)
    try:
        model = read_plain(Model, stored, f'"{folder / DESCRIPTION}"')
    except HyperprotoError as error:
        raise ModelError(error.argument, error.rule, error.got, error.advice) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelError(f'"{folder / DESCRIPTION}"', f"describe a model ({error})") from None
    graph = b""
    for name, form in model.files.items():
        # as protobuf has it
        content = _read(folder / name, 2**31)
        if len(content) != form.bytes or hashlib.sha256(content).hexdigest() != form.sha256:
            advice = "Copy the folder again, or export the model again."
            raise ModelError(
                f'"{folder / name}"', f"be the file that {DESCRIPTION} describes", "another", advice
            )
        graph = content if name == GRAPH else graph
    return model, graph


def _read(path: Path, most: int) -> bytes:
    try:
        if not path.is_file():  # a pipe would be waited for
            advice = "hyperproto export RUN -o FOLDER makes one."
            raise ModelError(
                f'"{path.parent}"',
                f"be the folder of an exported model, with {path.name}",
                advice=advice,
            )
        size = path.stat().st_size
        if size > most:
            raise ModelError(f'"{path}"', f"have at most {most:,} bytes", f"{size:,}")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, HyperprotoError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{str(path)[:80]!a}", f"be a file that can be read ({reason})") from None
