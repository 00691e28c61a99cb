"""Evaluation, examination, prediction and the page of a run ask a task, whatever its kind."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.data import Arrays
from hyperproto.evaluation import (
    TaskReport,
    calibrate_run,
    evaluate_run,
    examine_run,
    open_run,
    predict_split,
)
from hyperproto.models import create_backbone
from hyperproto.report import write_run_page
from hyperproto.tasks import KINDS, Axes, Head, Task

INPUTS = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
FLAGS = (INPUTS > 0).float()
FLAGS[0] = math.nan


@dataclass(frozen=True)
class Flags(Task):
    """Which of some names hold: an axis for each, and its sign."""

    names: tuple[str, ...] = ()
    weight: float = 1.0

    kind = "flags"
    reads = "mask"
    metric = "flag_accuracy"
    higher_is_better = True
    missing = math.nan

    @classmethod
    def fit(cls, values, about="y", **options):
        return cls(tuple(sorted({name for some in values for name in some})), **options)

    def encode(self, values, about="y", *, unseen="error"):
        return np.array([[name in some for name in self.names] for some in values], dtype=float)

    def decode(self, targets):
        found = np.empty(len(targets), dtype=object)
        found[:] = [tuple(np.array(self.names)[row > 0]) for row in targets]
        return found

    @property
    def known_values(self):
        return list(self.names)

    def check(self, targets, name):
        self.check_form(targets, len(targets), name)

    def check_form(self, targets, n, name):
        return targets.view(n, len(self.names))

    def present(self, targets):
        return ~targets.isnan().any(dim=1)

    def terms(self, predicted, targets):
        right = (predicted == targets)[self.present(targets)]
        return {"flag_accuracy": (float(right.sum()), right.numel())}

    def baseline(self, targets):
        return targets.nanmedian(dim=0).values.expand(len(targets), -1)

    @property
    def axes(self):
        return Axes(len(self.names), len(self.names))

    def head(self, axes, dim):
        return FlagsHead(self, axes)

    def to_dict(self):
        return {"task": self.kind, "names": list(self.names), "weight": self.weight}

    @classmethod
    def from_dict(cls, values, prototypes=None):
        return cls(tuple(values["names"]), values["weight"])

    def describe(self):
        return ", ".join(self.names)


class FlagsHead(Head):
    def row_losses(self, z, target):
        signs = 2 * target.nan_to_num(0.5) - 1
        return (1 - signs * self.part(z)).clamp_min(0).sum(dim=1)

    def scores(self, z):
        return self.part(z)

    def predict(self, z):
        return (self.part(z) > 0).float()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    KINDS["flags"] = "tests.evaluation.test_any_task:Flags"
    torch.manual_seed(0)
    space = hp.Space(3, what=Flags(("big", "old", "red")))
    network = create_backbone("mlp", out_dim=3, in_features=3)
    data = (INPUTS, {"what": FLAGS})
    place = tmp_path_factory.mktemp("flags") / "run"
    yield hp.fit(network, space, data, valid=data, epochs=2, folder=place).folder
    del KINDS["flags"]


def test_a_mask_over_names_is_evaluated_by_its_own_metric(folder):
    found = evaluate_run(folder, (INPUTS, {"what": FLAGS}))
    assert found.measures["what/flag_accuracy"] > found.baseline["what/flag_accuracy"]
    assert found.tasks["what"] == TaskReport(labels=59, missing=1)
    assert json.loads(json.dumps(found.to_dict()))["tasks"]["what"]["labels"] == 59
    errors = Flags(("a", "b")).errors(torch.tensor([[1, 0], [1, 1.0]]), FLAGS[:2, :2] * 0 + 1)
    assert errors.isnan().tolist() == [True, False]


def test_its_page_lists_mistakes_by_their_names(folder, tmp_path):
    wrong = FLAGS.clone()
    wrong[5] = 1 - wrong[5]
    write_run_page(folder, tmp_path / "page.html", (INPUTS, {"what": wrong}))
    page = (tmp_path / "page.html").read_text()
    assert "Worst mistakes of what" in page
    assert "flag_accuracy by epoch" in page


def test_it_is_examined_and_predicted(folder):
    assert examine_run(folder, None).problem is not None  # the run does not know its data
    run = open_run(folder)
    tasks, _ = predict_split(run.network, run.space, Arrays(INPUTS, {"what": FLAGS}))
    assert tasks["what"].predicted.shape == (60, 3)
    assert tasks["what"].top is None
    with pytest.raises(ValueError, match="calibrate") as info:
        calibrate_run(folder, (INPUTS, {"what": FLAGS}))
    assert info.value.rule == "have classes or a number"
