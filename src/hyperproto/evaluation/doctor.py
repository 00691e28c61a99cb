"""Examine a stored run for what goes wrong in practice."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hyperproto._core.errors import HyperprotoError
from hyperproto._core.files import plain
from hyperproto.data import Arrays, ImageData, Source
from hyperproto.evaluation.doctor_checks import (
    FROM_DATA,
    FROM_FILES,
    Evidence,
    Finding,
    SplitOutputs,
    compare_with_constant,
)
from hyperproto.evaluation.predict import collect_outputs
from hyperproto.evaluation.run_data import open_run, read_run_data, read_run_source
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.output_space import TaskSpace
from hyperproto.training import read_run
from hyperproto.training.load import rebuild

MOST_EXAMPLES = 4096  # of a split: enough for every finding
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Examination:
    """All findings, the worst first; what was checked, and what could not be checked and why.

    ``problem`` is the error that kept the outputs from being checked, None where they were. ``measures`` are those of
    the part that is named, ``constant`` those of always answering the most frequent class or the median.
    """

    run: str
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    problem: HyperprotoError | OSError | None = None
    part: str = ""
    measures: dict[str, float] = field(default_factory=dict)
    constant: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: None for what is not a number."""
        values: dict[str, Any] = plain({**vars(self), "findings": [asdict(finding) for finding in self.findings]})
        return values | {"problem": None if self.problem is None else str(self.problem)}


def examine_run(
    folder: str | Path,
    data: str | Path | Source | None = None,
    *,
    which: str = "last",
    network: nn.Module | None = None,
    space: OutputSpace | None = None,
) -> Examination:
    """Check a run for what goes wrong in practice.

    Parameters
    ----------
    folder : path
        The run.
    data : path or Source, optional
        Data to check outputs on (default: the run's own). Where there is none, only the run's files are checked.
    which : {"last", "best"}
        The weights after the last epoch, or after the best.
    network, space : optional
        For a network or a space of your own, as for :func:`~hyperproto.training.load.load`.
    """
    problem: HyperprotoError | OSError | None = None
    try:
        evidence = _gather(folder, data, which, network, space)
    except (HyperprotoError, OSError) as error:
        if data is not None and (Path(folder) / f"{which}.safetensors").is_file():
            raise
        problem = error
        record = read_run(folder)
        evidence = Evidence(record, space or rebuild(folder, network=network or nn.Identity()).space)
    checks = FROM_FILES | (FROM_DATA if evidence.splits else {})
    findings = [finding for check in checks.values() for finding in check(evidence)]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    unchecked = () if evidence.splits else tuple(FROM_DATA)
    found = Examination(str(folder), tuple(findings), tuple(checks), unchecked, problem)
    for split in evidence.splits[-1:]:
        measures, constant = compare_with_constant(evidence.space, split)
        found = replace(found, part=split.name, measures=measures, constant=constant)
    return found


def _gather(
    folder: str | Path, data: Any, which: str, network: nn.Module | None, space: OutputSpace | None
) -> Evidence:
    """Return the outputs on the training split and, where there is one, the test split."""
    record, network, opened = open_run(folder, which=which, network=network, space=space)
    source = data if isinstance(data, Source) else read_run_source(record, opened.tasks, data, split="train")
    names = ["train", "test"] if source.test is not None else ["train"]
    splits = [
        split_outputs(
            name, network, opened, read_run_data(record, opened.tasks, source, split=name, unseen="missing")[2]
        )
        for name in names
    ]
    return Evidence(record, opened, tuple(splits))


def split_outputs(
    name: str, network: nn.Module, space: TaskSpace, data: Arrays | ImageData, *, most: int = MOST_EXAMPLES
) -> SplitOutputs:
    """Run a network over at most ``most`` examples, spread evenly over the data, which may be sorted by class."""
    rows = torch.linspace(0, len(data) - 1, min(most, len(data)), dtype=torch.float64).round().long()
    z, targets = collect_outputs(network, space, data, rows=rows)
    usable = z.isfinite().all(dim=1) & (z.abs().amax(dim=1) > torch.finfo(z.dtype).tiny)
    predictions = {}
    for task, predicted in space.predict_by_task(z[usable]).items():
        predictions[task] = predicted.new_full((len(z),), space.tasks[task].missing)
        predictions[task][usable] = predicted
    return SplitOutputs(name, z, predictions, targets)
