"""Predictions for a whole data set, and for files without labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from hyperproto._core.checks import check_integer, names_or_numbers
from hyperproto._core.files import Plain, as_path
from hyperproto._core.processes import own_device
from hyperproto.defaults import INFERENCE_BATCH_SIZE
from hyperproto.evaluation.confidence import Confidence, TaskCalibration, TaskOutputs
from hyperproto.evaluation.run_data import AnyRun, open_run
from hyperproto.metrics import most_likely
from hyperproto.runtime.answers import describe_classes
from hyperproto.runtime.predictor import check_one_source
from hyperproto.spaces import TaskSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks import Head
from hyperproto.training.outputs import add_terms, mean_terms, measure, network_outputs

UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class TaskPredictions:
    """The predictions of one task.

    Attributes
    ----------
    predicted : Tensor, shape (n,)
        Class ids as int64, or numbers.
    targets : Tensor, shape (n,), or None
        What is true, where the data says so.
    top, top_scores : Tensor, shape (n, k), or None
        For classes of a space that gives scores: the k best, the predicted one first, and their
        cosines or logits.
    confidence : Confidence
        What a calibration says about each prediction, its probabilities of the k best.
    """

    predicted: Tensor
    targets: Tensor | None = None
    top: Tensor | None = None
    top_scores: Tensor | None = None
    confidence: Confidence = field(default_factory=Confidence)

    @classmethod
    def join(cls, parts: Sequence["TaskPredictions"]) -> "TaskPredictions":
        """Return the predictions of batches one after another."""

        columns = {
            name: torch.cat([vars(part)[name] for part in parts])
            for name in ("predicted", "targets", "top", "top_scores")
            if vars(parts[0])[name] is not None
        }
        return cls(**columns, confidence=Confidence.join([part.confidence for part in parts]))


@torch.no_grad()
def collect_outputs(
    network: nn.Module,
    space: TaskSpace,
    data: object,
    *,
    batch_size: int = INFERENCE_BATCH_SIZE,
    rows: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Run a network over data in evaluation mode: outputs of shape (n, dim), and targets by task
    where there are any.

    Arguments are those of :func:`~hyperproto.training.outputs.network_outputs`.
    """
    device = own_device()
    space.to(device)
    outputs: list[Tensor] = []
    targets: dict[str, list[Tensor]] = {}
    for z, batch in network_outputs(network, data, batch_size=batch_size, rows=rows, device=device):
        outputs.append(z)
        for name, target in by_name(batch).items():
            targets.setdefault(name, []).append(target)
    joined = {name: torch.cat(parts) for name, parts in targets.items()}
    if len(joined) == len(space.names) == 1:  # whatever the data calls it
        joined = dict(zip(space.names, joined.values(), strict=True))
    return torch.cat(outputs), joined


@torch.no_grad()
def predict_split(
    network: nn.Module,
    space: TaskSpace,
    data: object,
    *,
    batch_size: int = INFERENCE_BATCH_SIZE,
    top: int = 5,
    calibration: Mapping[str, TaskCalibration] | None = None,
) -> tuple[dict[str, TaskPredictions], dict[str, float]]:
    """Return predictions by task (an unnamed one is called "target"), and the measures as training
    reports them.

    Of the scores of all classes only the ``top`` best of each example are kept. Without targets
    there are no measures.

    Parameters
    ----------
    network, space
        As :func:`~hyperproto.training.load.load` returns them.
    data : pair (inputs, targets), Arrays, ImageData or Dataset
        Targets in the form the space takes; an empty dict where there are none.
    batch_size : int
        Measures agree to the bit with those of training where this is the same too.
    top : int, default 5
        How many classes to keep for each example.
    calibration : mapping of TaskCalibration, optional
        By task; gives each prediction its confidence.
    """
    top = check_integer(top, "top", at_least=1)
    z, targets = collect_outputs(
        network, space, data, batch_size=check_integer(batch_size, "batch_size", at_least=1)
    )
    fitted, heads = calibration or {}, space.named_heads()
    parts: dict[str, list[TaskPredictions]] = {name: [] for name in heads}
    sums: dict[str, tuple[float, int]] = {}
    for rows in torch.split(torch.arange(len(z), device=z.device), batch_size):
        predictions = by_name(space.predict(z[rows]))
        true = {name: target[rows] for name, target in targets.items()}
        if true:
            add_terms(sums, measure(space, predictions, true))
        for name, head in heads.items():
            found = _describe_batch(head, z[rows], predictions[name], top, fitted.get(name))
            if name in true:
                is_class = head.task.reads == "index"
                target = most_likely(true[name]) if is_class else true[name]
                found = replace(found, targets=target.cpu())
            parts[name].append(found)
    return {name: TaskPredictions.join(found) for name, found in parts.items()}, mean_terms(sums)


def _describe_batch(
    head: Head, z: Tensor, predicted: Tensor, top: int, fitted: TaskCalibration | None
) -> TaskPredictions:
    """Return what one task predicts for outputs of shape (n, dim), and how sure it is."""
    found, ids = TaskPredictions(predicted.cpu()), None
    if head.task.reads == "index":
        best = head.best(z, predicted, top)
        ids = best.ids.cpu()
        found = replace(found, top=ids, top_scores=best.values.cpu())
    if fitted is None:
        return found
    outputs = TaskOutputs.of(head, z, predicted)
    return replace(found, confidence=fitted.describe(outputs, ids))


@dataclass(frozen=True)
class FilePredictions:
    """What :func:`predict_files` returns.

    Attributes
    ----------
    rows : list of dict
        ``{"file": ..., "predictions": {task: ...}}`` in the order of the files; a table's also have
        "row", from 1, and texts "text" in place of "file". A class task's prediction is ``{"name",
        "cosine", "top": [{"name", "cosine"}, ...]}``, that of labels a tuple of their names, a
        range's a number. Spaces other than the
        sphere have "score" in place of "cosine". Where the run is calibrated for these weights each
        class also has its "probability"; a class task's prediction also the names in its "set" and,
        where a threshold was fitted, whether it is "unknown", in which case that is its "name"; a
        range's prediction is ``{"value", "low", "high"}``.
    skipped : tuple of Path
        Images that cannot be read and were left out.
    """

    rows: list[Plain]
    skipped: tuple[Path, ...] = ()


def predict_files(
    run: AnyRun,
    paths: Iterable[str | Path] = (),
    *,
    texts: Sequence[str] = (),
    top: int = 3,
    skip_corrupt: bool = False,
) -> FilePredictions:
    """Predict images, rows of tables or texts, prepared as the training data of a stored run was.

    Parameters
    ----------
    run : path, or what ``open_run`` returned
    paths : iterable of path
        Image files and folders of such, at any depth; for a run on a table, tables that have its
        columns, or the column of its images.
    texts : sequence of str
        In place of files, for a run on a column of text.
    top : int, default 3
        How many classes to name for each class task.
    skip_corrupt : bool, default False
        Leave out images that cannot be read; otherwise the first of them is named in an error.
    """
    run, given = open_run(run), [as_path(path) for path in paths]
    check_one_source(given, texts)
    data, origins = run.read_unlabeled(given, texts=texts, skip_corrupt=skip_corrupt)
    fitted, size = run.calibration, run.batch_size
    calibration = None if fitted is None else fitted.tasks
    network, space = run.network, run.space
    tasks, _ = predict_split(
        network, space, data, batch_size=size, top=top, calibration=calibration
    )
    columns = {name: _describe(space, name, predictions) for name, predictions in tasks.items()}
    rows = [
        {**origin, "predictions": {name: column[row] for name, column in columns.items()}}
        for row, origin in enumerate(origins)
    ]
    return FilePredictions(rows, getattr(data, "skipped", ()))


def _describe(space: TaskSpace, name: str, predictions: TaskPredictions) -> Sequence[object]:
    """Return what :class:`FilePredictions` says about one task, row by row."""
    task, confidence = space.tasks[name], predictions.confidence
    if predictions.top is None or predictions.top_scores is None:
        values = task.decode(predictions.predicted.numpy()).tolist()
        if confidence.intervals is None:
            return values
        ends = confidence.intervals.tolist()
        return [
            {"value": value, "low": low, "high": high}
            for value, (low, high) in zip(values, ends, strict=True)
        ]
    names = np.array(names_or_numbers(task.names, task.num_classes), dtype=object)
    about = {"cosine" if space.on_sphere else "score": predictions.top_scores.numpy()}
    about |= {} if confidence.probabilities is None else {"probability": confidence.probabilities}
    return describe_classes(
        names, predictions.top.numpy(), about, {}, confidence.sets, confidence.accepted, UNKNOWN
    )
