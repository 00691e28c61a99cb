"""A stored run that says how sure it is: ``calibration.json`` in its folder."""

import hashlib
from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.errors import InputError
from hyperproto._core.files import check_can_write, read_json, write_json
from hyperproto.data.targets import Unseen
from hyperproto.evaluation.confidence.calibration import Calibration, ClassCalibration
from hyperproto.evaluation.fit_calibration import fit_calibration
from hyperproto.evaluation.run_data import read_run_data, tasks_of, usual_batch_size
from hyperproto.spaces import Classes, OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training import load, read_run
from hyperproto.training.loading import CALIBRATION

__all__ = ["calibrate_run", "read_calibration"]


def calibrate_run(
    folder: str | Path,
    data: Any = None,
    *,
    coverage: float = 0.9,
    reject: float | None = None,
    method: str = "temperature",
    split: str | None = None,
    which: str = "last",
    unseen: Unseen = "error",
    skip_corrupt: bool = False,
    batch_size: int | None = None,
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Calibration:
    """Fit how sure a stored run is on held-out data, and write it into the run's folder.

    From then on :func:`~hyperproto.evaluation.predict_files.predict_files` gives probabilities, sets and intervals
    and may answer "unknown", and :func:`~hyperproto.evaluation.evaluate_run.evaluate_run` measures them.

    Parameters
    ----------
    folder : path
        The run.
    data : path, Source, or what ``hp.evaluate`` takes; optional
        Held-out data, nothing that was trained on; the test part of the run's own unless given. What is to be
        reported as a test result needs data apart from this.
    coverage : float, default 0.9
        How often sets and intervals must hold the truth.
    reject : float, optional
        Share of known inputs that may be called unknown; without it none is.
    method : {"temperature", "concentration", "concentrations"}
        A scale; one von Mises-Fisher concentration; or one for each class.
    split, which, unseen, skip_corrupt, batch_size, network, space
        As for :func:`~hyperproto.evaluation.evaluate_run.evaluate_run`.
    """
    record = read_run(folder)
    check_can_write(record.folder / CALIBRATION)
    network, space = load(folder, which=which, network=network, space=space)
    tasks = tasks_of(space)
    assert isinstance(space, TaskSpace)
    name, part, dataset = read_run_data(record, tasks, data, split=split, unseen=unseen, skip_corrupt=skip_corrupt)
    found = fit_calibration(
        network,
        space,
        dataset,
        coverage=coverage,
        reject=reject,
        method=method,
        batch_size=batch_size or usual_batch_size(record),
        origin={"data": name, "split": part, "which": which, "weights": _fingerprint(record.folder, which)},
    )
    write_json(record.folder / CALIBRATION, found.to_dict())
    return found


def read_calibration(folder: str | Path, space: OutputSpace, *, which: str = "last") -> Calibration | None:
    """Return what :func:`calibrate_run` wrote; None where it did not, or for the other weights of the run.

    Parameters
    ----------
    folder : path
        The run.
    space : OutputSpace
        That of the run, to check against.
    which : {"last", "best"}
        The weights that are to be used.
    """
    path = Path(folder) / CALIBRATION
    if not path.is_file():
        return None
    found = Calibration.from_dict(read_json(path))
    if found.origin.get("which") != which:
        return None
    if found.origin.get("weights") != _fingerprint(Path(folder), which):
        raise InputError(
            f'"{path}" was fitted for other weights than the run has now. Calibrate the run again, or delete it.'
        )
    tasks = tasks_of(space)
    for name, task in found.tasks.items():
        if name not in tasks or isinstance(task, ClassCalibration) != isinstance(tasks[name], Classes):
            raise InputError(f'"{path}" must speak of the tasks of its run; "{name}" is none. Calibrate it again.')
    return found


def _fingerprint(folder: Path, which: str) -> str:
    with (folder / f"{which}.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
