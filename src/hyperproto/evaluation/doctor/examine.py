"""A stored run under examination."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from hyperproto._core.errors import HyperprotoError, InputError
from hyperproto.data import Source
from hyperproto.evaluation.doctor import of_outputs, of_tasks, of_training
from hyperproto.evaluation.doctor.finding import Examination, Finding
from hyperproto.evaluation.doctor.seen import Part, Seen, look_at
from hyperproto.evaluation.run_data import read_run_data, read_run_source
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training import RunRecord, load, read_run
from hyperproto.training.loading import rebuild

__all__ = ["examination_of", "examine_run"]

Check = Callable[[Seen], list[Finding]]
FROM_FILES: dict[str, Check] = {
    "a loss that is not finite": of_training.loss_not_finite,
    "a rising loss": of_training.rising_loss,
    "a flat loss": of_training.flat_loss,
    "a loss still falling at the end": of_training.still_falling,
    "a dimension too small for the classes": of_tasks.dimension_too_small,
}
FROM_DATA: dict[str, Check] = {
    "zero norms": of_outputs.zero_norms,
    "a ReLU before the sphere": of_outputs.relu_before_sphere,
    "collapsed outputs": of_outputs.collapsed_outputs,
    "classes never predicted": of_outputs.never_predicted,
    "targets at a bound": of_tasks.piled_targets,
    "a gap between train and test": of_tasks.train_test_gap,
}
ORDER = ("error", "warning", "note")


def examine_run(folder: str | Path, data: Any = None, **options: Any) -> list[Finding]:
    """Return what is wrong with a stored run, the worst first; see :func:`examination_of`, which takes the same."""
    return list(examination_of(folder, data, **options).findings)


def examination_of(
    folder: str | Path,
    data: str | Path | Source | None = None,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Examination:
    """Look for what goes wrong in practice.

    Parameters
    ----------
    folder : path
        The run.
    data : path or Source, optional
        Data to look at outputs on, unless the run knows its own. Without either, what only the run's files show.
    which : {"last", "best"}
        The weights after the last epoch, or after the best.
    network, space : optional
        For a network or a space that is not one of ours, as for :func:`~hyperproto.training.loading.load`.
    """
    record = read_run(folder)
    reason = ""
    parts: tuple[Part, ...] = ()
    held: OutputSpace = space if space is not None else rebuild(folder, network=network or nn.Identity()).space
    try:
        held, parts = _look(record, data, which, network, space)
    except (HyperprotoError, OSError) as error:
        if data is not None and (Path(folder) / f"{which}.safetensors").is_file():
            raise
        reason = str(error)
    seen = Seen(record, held, parts)
    checks = FROM_FILES | (FROM_DATA if parts else {})
    findings = [finding for check in checks.values() for finding in check(seen)]
    findings.sort(key=lambda finding: ORDER.index(finding.severity))
    return Examination(str(folder), tuple(findings), tuple(checks), () if parts else tuple(FROM_DATA), reason)


def _look(
    record: RunRecord, data: Any, which: str, network: nn.Module | None, space: OutputSpace | None
) -> tuple[TaskSpace, tuple[Part, ...]]:
    """Return the trained space, and the outputs on the training part and, where there is one, the test part."""
    network, space = load(record.folder, which=which, network=network, space=space)
    if not isinstance(space, TaskSpace):
        raise InputError(f"Outputs of a space of your own, {type(space).__name__}, cannot be looked at.")
    source = data if isinstance(data, Source) else read_run_source(record, space.tasks, data, split="train")
    names = ["train", "test"] if source.test is not None else ["train"]
    data_of = {name: read_run_data(record, space.tasks, source, split=name, unseen="missing")[2] for name in names}
    parts = (look_at(name, network, space, held) for name, held in data_of.items())
    return space, tuple(parts)
