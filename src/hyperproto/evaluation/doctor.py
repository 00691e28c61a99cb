"""Examine a stored run: its files, and what its network says about its data."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import get_args

import torch
from torch import nn

from hyperproto._core.errors import HyperprotoError
from hyperproto._core.files import Plain, plain
from hyperproto.data import Examples, Source
from hyperproto.data.giveaway import find_giveaways
from hyperproto.evaluation.findings import (
    FROM_DATA,
    FROM_FILES,
    Evidence,
    Finding,
    Severity,
    SplitOutputs,
)
from hyperproto.evaluation.predict import collect_outputs
from hyperproto.evaluation.run_data import AnyRun, OpenRun, open_run
from hyperproto.spaces import TaskSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.training import read_run
from hyperproto.training.load import rebuild
from hyperproto.training.outputs import baseline_metrics


@dataclass(frozen=True)
class Examination:
    """All findings, the worst first; what was checked, and what could not be checked and why.

    ``problem`` is the error that kept the outputs from being checked, None where they were.
    ``measures`` are those of the part that is named, ``baseline`` those of always predicting
    the majority class or the median.
    """

    run: str
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    problem: HyperprotoError | OSError | None = None
    part: str = ""
    measures: dict[str, float] = field(default_factory=dict)
    baseline: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> Plain:
        """Return plain values for JSON: None for what is not a number."""
        values = {**vars(self), "findings": [asdict(finding) for finding in self.findings]}
        return plain(values | {"problem": None if self.problem is None else str(self.problem)})


def examine_run(run: AnyRun, data: str | Path | Source | None = None) -> Examination:
    """Check a run for what goes wrong in practice.

    Parameters
    ----------
    run : path, or what ``open_run`` returned
    data : path or Source, optional
        Data to check outputs on (default: the run's own). Where there is none, only the run's files
        are checked.
    """
    folder = Path(run)
    problem: HyperprotoError | OSError | None = None
    try:
        evidence = _gather(open_run(run), data)
    except (HyperprotoError, OSError) as error:
        if data is not None and (folder / "last.safetensors").is_file():
            raise
        problem = error
        built = run if isinstance(run, OpenRun) else rebuild(folder, network=nn.Identity())
        evidence = Evidence(read_run(folder), built.space)
    checks = FROM_FILES | (FROM_DATA if evidence.splits else {})
    findings = [finding for check in checks.values() for finding in check(evidence)]
    findings.sort(key=lambda finding: get_args(Severity).index(finding.severity))
    found = Examination(
        str(folder),
        tuple(findings),
        tuple(checks),
        () if evidence.splits else tuple(FROM_DATA),
        problem,
    )
    if not evidence.splits:
        return found
    last = evidence.splits[-1]
    baseline = baseline_metrics(evidence.space, last.targets)
    return replace(found, part=last.name, measures=evidence.measure(last), baseline=baseline)


def _gather(run: OpenRun, data: str | Path | Source | None) -> Evidence:
    """Return the outputs on the training split and, where there is one, the test split."""
    source = data if isinstance(data, Source) else run.read_source(data, split="train")
    outputs = tuple(
        split_outputs(
            name, run.network, run.space, run.read(source, split=name, unseen="missing").data
        )
        for name in ("train", "test")
        if name == "train" or source.test is not None
    )
    return Evidence(run.record, run.space, outputs, tuple(find_giveaways(source)))


def split_outputs(
    name: str, network: nn.Module, space: TaskSpace, data: Examples, *, most: int = 4096
) -> SplitOutputs:
    """Run a network over at most ``most`` examples, spread evenly over the data, which may be
    sorted by class.
    """
    count = min(most, len(data))
    rows = torch.linspace(0, len(data) - 1, count, dtype=torch.float64).round().long()
    z, targets = collect_outputs(network, space, data, rows=rows)
    usable = z.isfinite().all(dim=1) & (z.abs().amax(dim=1) > torch.finfo(z.dtype).tiny)
    predictions = {}
    for task, found in by_name(space.predict(z[usable])).items():
        missing = space.tasks[task].missing
        predictions[task] = found.new_full((count, *found.shape[1:]), missing)
        predictions[task][usable] = found
    return SplitOutputs(name, z, predictions, targets)
