"""Fit the confidence of a network, and keep it in the folder of a run as ``calibration.json``."""

from functools import partial

from torch import nn

from hyperproto._core.errors import InputError, arg
from hyperproto._core.files import check_can_write, write_json
from hyperproto.data.source import Unseen
from hyperproto.defaults import COVERAGE, INFERENCE_BATCH_SIZE
from hyperproto.evaluation.confidence import (
    Calibration,
    ConformalInterval,
    TaskCalibration,
    TaskOutputs,
    uncalibrated,
)
from hyperproto.evaluation.predict import UNKNOWN, collect_outputs
from hyperproto.evaluation.run_data import AnyRun, open_run
from hyperproto.spaces.output_space import TaskSpace
from hyperproto.tasks import Task, indexed, numeric
from hyperproto.training.load import CALIBRATION


def calibrate_run(
    run: AnyRun,
    data: object = None,
    *,
    coverage: float = COVERAGE,
    reject: float | None = None,
    split: str | None = None,
    unseen: Unseen = "error",
    skip_corrupt: bool = False,
    batch_size: int | None = None,
) -> Calibration:
    """Fit the confidence of a stored run on data that was not trained on, and write it into the
    run's folder.

    From then on :func:`~hyperproto.evaluation.predict_files` gives probabilities, sets and
    intervals and may predict "unknown", and :func:`~hyperproto.evaluation.evaluate_run` measures
    them.

    Parameters
    ----------
    run : path, or what ``open_run`` returned
    data : path, Source, or what ``hp.evaluate`` takes; optional
        Data that was not trained on (default: the test split of the run's own). To report a test
        result, evaluate on other data than this.
    coverage : float, default 0.9
        How often sets and intervals must contain the truth.
    reject : float, optional
        Share of known inputs that may be called unknown (default: none is).
    split, unseen, skip_corrupt, batch_size
        As for :func:`~hyperproto.evaluation.evaluate_run`.
    """
    run = open_run(run)
    path = run.record.folder / CALIBRATION
    check_can_write(path)
    found = run.read(data, split=split, unseen=unseen, skip_corrupt=skip_corrupt)
    calibration = fit_calibration(
        run.network,
        run.space,
        found.data,
        coverage=coverage,
        reject=reject,
        batch_size=batch_size or run.batch_size,
        origin={
            "data": found.name,
            "split": found.split,
            "which": run.which,
            "weights": run.fingerprint,
        },
    )
    write_json(path, calibration.to_dict())
    return calibration


def fit_calibration(
    network: nn.Module,
    space: TaskSpace,
    data: object,
    *,
    coverage: float = COVERAGE,
    reject: float | None = None,
    batch_size: int = INFERENCE_BATCH_SIZE,
    origin: dict[str, str] | None = None,
) -> Calibration:
    """Fit the confidence of a network and its space on prepared data that was not trained on.

    ``coverage`` and ``reject`` are as for :func:`calibrate_run`; ``origin`` is kept with the
    result.
    """
    before = uncalibrated(space)
    if reject is not None and not before:
        raise InputError("reject", "be left out where all tasks are numbers", reject)
    for name, task in indexed(space.tasks).items() if reject is not None else ():
        if UNKNOWN in (task.names or ()):
            rule = f'have no class called "{UNKNOWN}", the prediction of {arg("reject")}'
            raise InputError(f'Task "{name}"', rule, advice="Rename the class.")
    known = [*before, *numeric(space.tasks)]
    if not known:
        raise InputError("A run to calibrate", "have classes or a number", "neither")
    z, targets = collect_outputs(network, space, data, batch_size=batch_size)
    if not targets:
        raise InputError("Data to calibrate on", "have targets", "none")
    heads, tasks = space.named_heads(), dict[str, TaskCalibration]()
    measures: dict[str, float] = {}
    examples = 0
    for name in known:
        outputs = TaskOutputs.of(heads[name], z, targets[name]).labeled()
        if not len(outputs.targets):
            raise InputError("Data to calibrate on", f'have labels for "{name}"', "none")
        fit = partial(
            _fit, task=space.tasks[name], before=before.get(name), coverage=coverage, reject=reject
        )
        tasks[name] = fit(outputs)
        examples = max(examples, len(outputs.targets))
        measured = outputs.cross_measure(fit, before.get(name))
        measures |= {space.metric_name(name, key): value for key, value in measured.items()}
    return Calibration(tasks, examples, measures, origin or {})


def _fit(
    part: TaskOutputs,
    task: Task,
    before: TaskCalibration | None,
    coverage: float,
    reject: float | None,
) -> TaskCalibration:
    """Fit the interval around a number, or what is said about classes."""
    rows, truth = part.scores, part.targets
    if before is None:
        low, high = task.bounds
        found = ConformalInterval.fit(rows, truth, coverage, low=low, high=high)
        return TaskCalibration(interval=found)
    return TaskCalibration.fit(
        rows,
        truth,
        part.strengths,
        coverage=coverage,
        reject=reject,
        outlier=before.outlier,
        before=before.model,
    )
