"""A new kind of target is one file and one entry: nothing else has to know of it."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from hyperproto._core.errors import InputError
from hyperproto.runtime import Predictor
from hyperproto.tasks import Axes, Task
from tests.data.layouts import write_csv


@dataclass(frozen=True)
class Magnitude(Task):
    """A quantity above 0, by its logarithm: cos = tanh of a quarter of it, standardized."""

    middle: float
    spread: float
    weight: float = 1.0

    kind = "magnitude"
    reads = "number"
    metric = "mae"
    higher_is_better = False
    missing = math.nan
    axes = Axes(2, 8)

    @classmethod
    def fit(cls, values, about="y", **options):
        logs = np.log(values[~np.isnan(values)])
        return cls(float(logs.mean()), float(logs.std()), **options)

    def encode(self, values, about="y", *, unseen="error"):
        return np.array([math.nan if value is None else float(value) for value in values])

    def decode(self, targets):
        return targets

    @property
    def known_values(self):
        return [self.middle, self.spread]

    def check(self, targets, name):
        if (targets <= 0).any():
            raise InputError(name, "be greater than 0", targets.min().item())

    def check_form(self, targets, n, name):
        return targets.view(n)

    def present(self, targets):
        return ~targets.isnan()

    def terms(self, predicted, targets):
        from hyperproto.metrics import absolute_error_terms

        return {"mae": absolute_error_terms(predicted, targets)}

    def baseline(self, targets):
        return targets.nanmedian().expand(len(targets))

    def head(self, axes, dim):
        from hyperproto.sphere import normalize
        from hyperproto.tasks import Head

        class MagnitudeHead(Head):
            def row_losses(self, z, target):
                standardized = (target.nan_to_num(1).log() - self.task.middle) / self.task.spread
                return (self.scores(z) - (standardized / 4).tanh().to(z.dtype)).square()

            def scores(self, z):
                return normalize(self.part(z))[:, 0]

            def predict(self, z):
                cosine = self.scores(z).clamp(-0.7, 0.7)
                standardized = 2 * ((1 + cosine) / (1 - cosine)).log()
                return (self.task.middle + self.task.spread * standardized).exp()

        return MagnitudeHead(self, axes)

    def describe(self):
        return f"around {math.exp(self.middle):g}"


COMMANDS = """
import sys
from hyperproto.tasks import KINDS
KINDS["magnitude"] = "tests.tasks.test_toy_task:Magnitude"
from hyperproto.cli.main import main
table, run, model = sys.argv[1:]
main(["train", "--table", table, "--magnitude", "mass", "--epochs", "40", "--folder", run])
main(["calibrate", run])
main(["export", run, "-o", model])
main(["evaluate", run, "--json"])
"""


def test_a_toy_task_goes_from_a_table_to_predictions_without_torch(tmp_path):
    draws = np.random.default_rng(0).normal(size=(400, 2))
    masses = np.exp(2 + draws @ [1.0, -0.5])
    rows = [[*map(str, row), str(mass)] for row, mass in zip(draws, masses, strict=True)]
    rows[0][2] = ""
    table = write_csv(tmp_path / "stars.csv", ["color", "age", "mass"], rows)
    run, model = tmp_path / "run", tmp_path / "model"
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, table, run, model],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("\n{") :])
    assert found["measures"]["mass/mae"] < found["baseline"]["mass/mae"] / 2
    assert found["tasks"]["mass"]["confidence"]["coverage"] > 0.8

    # here the kind is not registered: what is exported says all there is to know
    predictor = Predictor(model)
    inputs = [{"color": color, "age": age} for color, age in draws.tolist()]
    predicted = predictor.predict(inputs)["mass"]
    errors = np.abs(np.log(predicted) - np.log(masses))
    assert np.median(errors) < 0.2
    ends = predictor.intervals(inputs)["mass"]
    assert ((ends[:, 0] <= masses) & (masses <= ends[:, 1])).mean() > 0.8


def test_what_a_task_is_in_values_imports_neither_torch_nor_losses():
    code = "import sys; from hyperproto.tasks import Classes, Range; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert "hyperproto.tasks.range" in loaded
    assert not {"torch", "hyperproto.losses"} & set(loaded)
