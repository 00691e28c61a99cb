"""What the best networks for tables do, one at a time, against the defaults, on the tables that
defaults may be chosen on: ``python -m benchmarks own_data.tricks --data FOLDER``.

Most are described by Holzmüller et al. (2024, RealMLP) and Gorishniy et al. (2022, 2025). Each is
done to the estimators from outside. Every trick is measured by its ratio to the defaults, fold by
fold: log loss for classes, the mean absolute error for numbers, both at most 1 where it gains.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.own_data.candidates import Candidate
from benchmarks.own_data.loaded import Fold
from benchmarks.own_data.measures import judge
from benchmarks.own_data.tables import drawn, load_table_fold, read_candidate

STORE = Path(__file__).parents[2] / "results" / "own_data_tricks.jsonl"
REPEATS = 3
MOST_ROWS = 5000  # of a table, to keep it within an hour on one core
MANY_ROWS = 2000  # of a table, from which on several members take too long to be tried


class SmoothClip:
    """Take columns to units of their interquartile range, and bend them to at most 3 of them."""

    @staticmethod
    def tails(rows: Any, weight: Any, scale: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
        low, center, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0)
        spread = np.where(high > low, high - low, (rows.max(axis=0) - rows.min(axis=0)) / 2)
        plain = np.isin(rows, (0, 1)).all(axis=0) | (spread == 0)
        return tuple(np.where(plain, 0, center)), tuple(np.where(plain, 0, spread))

    @staticmethod
    def bent(scaling: Any, values: Any) -> Any:
        bend, rows = np.array(scaling.bend), values.astype(np.float64)
        used = np.flatnonzero(bend)
        units = (rows[:, used] - np.array(scaling.center)[used]) / bend[used]
        rows[:, used] = units / np.sqrt(1 + np.square(units / 3))
        return rows


class Wrapped(nn.Module):
    """The default network with other inputs or activations."""

    def __init__(self, network: nn.Module, inputs: nn.Module) -> None:
        super().__init__()
        self.inputs, self.network = inputs, network

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor = self.network(self.inputs(rows))
        return found


class Scale(nn.Module):
    """A learned factor per column, whose steps are six times as long."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.change = nn.Parameter(torch.zeros(width))

    def forward(self, rows: Tensor) -> Tensor:
        return rows * (1 + 6**0.5 * self.change.to(rows.dtype))


class Periodic(nn.Module):
    """Each column beside three values of it: linear in cosines of it, as RealMLP's PBLD."""

    def __init__(self, width: int, spread: float = 0.1, waves: int = 16, values: int = 3) -> None:
        super().__init__()
        self.frequency = nn.Parameter(spread * torch.randn(width, waves))
        self.phase = nn.Parameter(torch.pi * (2 * torch.rand(width, waves) - 1))
        self.weight = nn.Parameter(torch.randn(width, waves, values) / waves**0.5)

    def forward(self, rows: Tensor) -> Tensor:
        waves = torch.cos(2 * torch.pi * rows[:, :, None] * self.frequency + self.phase)
        found = functional.relu(torch.einsum("ncw,cwv->ncv", waves, self.weight))
        return torch.cat([rows, found.flatten(1)], dim=1)


class Bent(nn.Module):
    """A ReLU with a learned share per value: x + a (relu(x) - x)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.ones(width))

    def forward(self, values: Tensor) -> Tensor:
        return values + self.share * (functional.relu(values) - values)


def wrap(build: Callable[..., nn.Module], make: Callable[[int], nn.Module], wider: int) -> Any:
    """Return a ``default_backbone`` whose network gets other inputs."""

    def built(estimator: Any, inputs: Tensor, seed: int) -> nn.Module:
        width = inputs.shape[1]
        inner = build(estimator, inputs.new_empty(0, width * wider), seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return Wrapped(inner, make(width)).to(inputs.dtype)

    return built


def parametric(build: Callable[..., nn.Module]) -> Any:
    def built(*args: Any) -> nn.Module:
        network: Any = build(*args)
        for place, layer in enumerate(network.layers):
            if isinstance(layer, nn.ReLU):
                network.layers[place] = Bent(network.layers[place - 1].out_features)
        return network

    return built


def smoothed(z: Tensor, labels: Tensor, share: float = 0.1) -> Tensor:
    return functional.cross_entropy(z, labels, reduction="none", label_smoothing=share)


def cycles(progress: float) -> float:
    """Return the learning rate of RealMLP, which rises and falls four times."""
    return 0.5 * (1 - float(np.cos(2 * np.pi * np.log2(1 + 15 * progress))))


def adam(fit: Callable[..., Any], rate: float, beta: float) -> Any:
    """Return a fit by AdamW, whose weight decay has the strength that it has by default."""

    def fitted(network: nn.Module, space: Any, data: Any, settings: Any, **options: Any) -> Any:
        decay = settings.weight_decay * settings.lr / rate

        def make(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
            return torch.optim.AdamW(parameters, lr=rate, betas=(0.9, beta), weight_decay=decay)

        given = replace(settings, lr=None, weight_decay=None)
        return fit(network, space, data, given, optimizer=make, **options)

    return fitted


def patches() -> dict[str, list[Any]]:
    """Return what each trick replaces."""
    import hyperproto.data.preprocessing as scaling
    from hyperproto import defaults, losses
    from hyperproto.estimators.base import SphereEstimator
    from hyperproto.spec import SCHEDULES
    from hyperproto.training import again

    build = SphereEstimator._build_network
    bent = scaling.Standardizer._bent
    name = "_build_network"

    def on(target: Any, attribute: str, new: Any) -> Any:
        return partial(patch.object, target, attribute, new)

    def both(self: Any, values: Any) -> Any:
        return SmoothClip.bent(self, values) if self.bend else bent(self, values)

    return {
        "defaults": [],
        "smooth clipping": [
            on(scaling, "_tails", SmoothClip.tails),
            on(scaling.Standardizer, "_bent", both),
        ],
        "label smoothing 0.1": [on(losses, "cross_entropy", smoothed)],
        "Adam, beta2 0.95, rate 0.003": [on(again, "fit", adam(again.fit, 0.003, 0.95))],
        "Adam, beta2 0.95, rate 0.01": [on(again, "fit", adam(again.fit, 0.01, 0.95))],
        "four cycles": [partial(patch.dict, SCHEDULES, {"one-cycle": cycles})],
        "learned scale of inputs": [on(SphereEstimator, name, wrap(build, Scale, 1))],
        "learned activation": [on(SphereEstimator, name, parametric(build))],
        "periodic embeddings": [on(SphereEstimator, name, wrap(build, Periodic, 4))],
        "600 steps at least": [
            partial(patch.dict, defaults.MIN_STEPS, {"rows": 600, "binned rows": 600})
        ],
        "dropout 0.15": [on(SphereEstimator, name, dropped(build))],
    }


def dropped(build: Callable[..., nn.Module], share: float = 0.15) -> Any:
    def built(*args: Any) -> nn.Module:
        network: Any = build(*args)
        for place, layer in enumerate(network.layers):
            if isinstance(layer, nn.ReLU):
                network.layers[place] = nn.Sequential(layer, nn.Dropout(share))
        return network

    return built


@contextmanager
def applied(trick: list[Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for make in trick:
            stack.enter_context(make())
        yield


def fit_one(fold: Fold, rows: Any = None) -> Any:
    """Return ours, fitted with its defaults to a fold, or to some of its rows."""
    from hyperproto import estimators

    (task,) = fold.train_targets
    kind = "HypersphericalClassifier" if task == "class" else "HypersphericalRegressor"
    model = getattr(estimators, kind)(random_state=fold.seed)
    inputs, targets = fold.train, fold.train_targets[task]
    if rows is not None:
        inputs, targets = inputs.iloc[rows], targets[rows]
    return model.fit(inputs, targets)


def answer(fold: Fold, models: list[Any]) -> dict[str, Any]:
    """Return the mean answer of models, by name."""
    if "number" in fold.train_targets:
        return {"number": np.mean([model.predict(fold.test) for model in models], axis=0)}
    shares = np.mean([model.predict_proba(fold.test) for model in models], axis=0)
    classes = models[0].classes_
    return {"class": classes[shares.argmax(1)], "probabilities": shares, "classes": classes}


def bagged(fold: Fold, members: int = 5) -> list[Any]:
    """Return a model for each four fifths of a fold."""
    part = np.random.default_rng(fold.seed).permutation(len(fold.train)) % members
    return [
        fit_one(replace(fold, seed=100 * fold.seed + k), np.flatnonzero(part != k))
        for k in range(members)
    ]


def seeded(fold: Fold, members: int = 4) -> list[Any]:
    """Return models of several seeds, each of all rows."""
    return [fit_one(replace(fold, seed=100 * fold.seed + k)) for k in range(members)]


MEMBERS: dict[str, Callable[[Fold], list[Any]]] = {
    "bagging of five folds": bagged,
    "four seeds": seeded,
}


@cache
def count_rows(folder: Path, table: Candidate) -> int:
    return len(read_candidate(folder, table).inputs)


def run(table: Candidate, folder: Path, number: int, name: str, trick: list[Any]) -> dict[str, Any]:
    """Return the measures of a trick on a fold, and the seconds of its fit."""
    fold = load_table_fold(folder, table, number, most=MOST_ROWS)
    started = time.process_time()
    with applied(trick):
        models = MEMBERS.get(name, lambda fold: [fit_one(fold)])(fold)
        spent = time.process_time() - started
        measures = judge(fold.test_targets, answer(fold, models))
    about = {"row": table.name, "task": table.task, "trick": name, "fold": number}
    return {**about, **measures, "fit": round(spent, 3)}


def summarize(results: list[dict[str, Any]]) -> list[dict[str, object]]:
    """Return for each trick and task the ratios to the defaults, and its time."""
    base = {(r["row"], r["fold"]): r for r in results if r["trick"] == "defaults"}
    lines = []
    for trick in dict.fromkeys(r["trick"] for r in results):
        line: dict[str, object] = {"trick": trick}
        mine = [r for r in results if r["trick"] == trick and (r["row"], r["fold"]) in base]
        for task, measure in (("class", "log loss"), ("number", "mae")):
            by_row: dict[str, list[float]] = {}
            for r in mine:
                if r["task"] == task:
                    one = base[r["row"], r["fold"]]
                    by_row.setdefault(r["row"], []).append(np.log(r[measure] / one[measure]))
            means = np.array([np.mean(each) for each in by_row.values()])
            if len(means):
                error = means.std(ddof=1) / len(means) ** 0.5 if len(means) > 1 else 0
                line[f"{measure} / defaults'"] = f"{np.exp(means.mean()):.3f} ± {error:.3f}"
                line[f"tables better, {task}"] = f"{(means < 0).sum()} of {len(means)}"
            if task == "class" and len(means):
                gains = [
                    r["accuracy"] - base[r["row"], r["fold"]]["accuracy"]
                    for r in mine
                    if r["task"] == task
                ]
                line["accuracy, points"] = f"{np.mean(gains):+.2f}"
        spent = [r["fit"] / base[r["row"], r["fold"]]["fit"] for r in mine]
        line["fit time / defaults'"] = f"{np.exp(np.mean(np.log(spent))):.2f}"
        lines.append(line)
    return lines


def measure(arguments: list[str] | None = None) -> tuple[str, list[dict[str, object]]]:
    parser = argparse.ArgumentParser("python -m benchmarks own_data.tricks", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("HYPERPROTO_DATA"), metavar="FOLDER")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args(arguments or [])
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    results = []
    if options.store.exists():
        results = [json.loads(line) for line in options.store.read_text().splitlines()]
    done = {(r["row"], r["fold"], r["trick"]) for r in results}
    known = patches() | {name: [] for name in MEMBERS}
    for name in () if options.report_only else options.only or list(known):
        for table in drawn()["choose"]:
            if name == "label smoothing 0.1" and table.task == "number":
                continue
            if name in MEMBERS and count_rows(Path(options.data), table) >= MANY_ROWS:
                continue
            for number in range(REPEATS):
                if (table.name, number, name) in done:
                    continue
                results.append(run(table, Path(options.data), number, name, known[name]))
                with options.store.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    return "Tricks of networks for tables, against the defaults", summarize(results)
