"""A trained run on one self-contained page: how training went, what it is worth, and where it
fails.
"""

import html
import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto._core.arrays import Array
from hyperproto._core.errors import require
from hyperproto._core.files import Plain
from hyperproto.data import ImageData
from hyperproto.data.table_files import read_columns
from hyperproto.evaluation import ClassReport, Evaluation, TaskPredictions, evaluate_run
from hyperproto.evaluation.evaluate import Predicted
from hyperproto.evaluation.run_data import AnyRun, run_preprocessing
from hyperproto.evaluation.runs import describe_record
from hyperproto.report import measures, pages
from hyperproto.report.projection import nearest
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks import Task
from hyperproto.tasks.task import higher_is_better
from hyperproto.training import RunRecord

# what keeps a page small, whatever the run
MATRIX, CLASSES, MISTAKES, POINTS, COLUMNS = 30, 50, 24, 2000, 12
BLUE = pages.CLASS_COLORS[0]

Ids = NDArray[np.int64]


def write_run_page(
    run: AnyRun, path: str | Path, data: object = None, **options: Any
) -> Evaluation:
    """Write the page of a stored run, measured on its test data or on other data. It needs no
    network.

    Parameters
    ----------
    run : path, or what ``open_run`` returned
    path : path
        Where to write.
    data, **options
        As for :func:`~hyperproto.evaluation.evaluate_run`.

    Returns
    -------
    Evaluation
        What the page shows.
    """
    evaluation = evaluate_run(run, data, pairs=20, **options)
    found = evaluation.predicted
    assert found is not None
    record, space, figures = found.run.record, found.run.space, Figures()
    title, rows = measures.describe_evaluation(evaluation)
    sections = {
        "Run": [_table(_about(record))],
        "Measures": [_table(rows)],
        "Training": [_curves(record, figures)],
    }
    for name, predictions in found.predictions.items():
        report = evaluation.tasks[name]
        parts: Iterator[str] = iter(())
        if isinstance(report, ClassReport):
            parts = _class_parts(found, name, report, figures)
        elif space.tasks[name].reads == "number":
            parts = _number_parts(space.tasks[name], predictions, figures)
        sections[name] = [*parts, _mistakes(found, name)]
    for name, prototypes in by_name(space.prototypes).items():
        facts = pages.prototype_rows(prototypes).items()
        sections[f"Prototypes of {name}, with their certificate"] = [_table(facts)]
    settings = {key: value for key, value in record.config.items() if key != "preprocessing"}
    listed = html.escape(json.dumps(settings, indent=2)[:20_000])
    sections["Settings"] = [f"<details><summary>all</summary><pre>{listed}</pre></details>"]
    body = "".join(
        f"<section><h2>{html.escape(heading)}</h2>{''.join(parts)}</section>"
        for heading, parts in sections.items()
    )
    pages.write_page(path, "run_page.html", title, None, {"SECTIONS": body})
    return evaluation


class Figures:
    """Turns figures into HTML; the first of them brings plotly's script."""

    def __init__(self) -> None:
        self.numbers = count(1)

    def draw(
        self,
        title: str,
        *data: Plain,
        x: tuple[str, Plain] = ("", {}),
        y: tuple[str, Plain] = ("", {}),
        height: int = 330,
    ) -> str:
        """Return a plot as HTML; ``x`` and ``y`` are titles of axes, and what else they have."""
        layout: Plain = {
            "margin": {"l": 50, "r": 10, "t": 10, "b": 45},
            "showlegend": False,
            "height": height,
        }
        for axis, (text, more) in {"xaxis": x, "yaxis": y}.items():
            layout[axis] = {"title": {"text": text}, **more}
        number = next(self.numbers)
        drawn = pages.plot_html(
            {"data": data, "layout": layout},
            name=f"figure-{number}",
            script=number == 1,
            displayModeBar=False,
        )
        about = html.escape(title)
        return f'<div class="figure" role="img" aria-label="{about}"><p>{about}</p>{drawn}</div>'


def _table(rows: Iterable[Iterable[str]], *headings: str) -> str:
    return f'<div class="wide"><table>{pages.table_html(rows, *headings)}</table></div>'


def _row_of(parts: list[str]) -> str:
    return f'<div class="row">{"".join(parts)}</div>'


def _about(record: RunRecord) -> list[tuple[str, str]]:
    """Return what was trained on what, when, and for how long."""
    row, file = describe_record(record), record.folder / "config.json"
    sizes = [f"{n:,} {part}" for part, n in record.config["data"].items() if n]
    lasted = timedelta(seconds=round(row.seconds))
    return [
        ("data", f"{row.data} ({', '.join(sizes)})"),
        ("network", row.network),
        ("space", row.space),
        ("trained", f"{row.epochs} of {row.total_epochs} epochs in {lasted}"),
        ("date", f"{datetime.fromtimestamp(file.stat().st_mtime):%Y-%m-%d %H:%M}"),
        ("seed", str(record.settings.get("seed", ""))),
    ]


def _curves(record: RunRecord, figures: Figures) -> str:
    """Return the loss and each measure after every epoch."""
    epochs = [line["epoch"] + 1 for line in record.history]
    curves = {"loss": [line["loss"] for line in record.history]}
    for name in dict.fromkeys(name for line in record.history for name in line["valid"]):
        curves[name] = [line["valid"].get(name) for line in record.history]
    best = record.best
    sentence = "" if best is None else f"Best on validation data after epoch {best['epoch'] + 1}."
    line = {"mode": "lines+markers", "line": {"color": BLUE}}
    step = {"dtick": max(1, len(epochs) // 8)}
    drawn = [
        figures.draw(
            f"{name} by epoch",
            {"x": epochs, "y": values, **line},
            x=("epoch", step),
            y=("", {"tickformat": ".1%"} if higher_is_better(name) else {}),
            height=230,
        )
        for name, values in curves.items()
    ]
    return f"<p>{sentence}</p>{_row_of(drawn)}"


def _class_parts(
    found: Predicted, name: str, report: ClassReport, figures: Figures
) -> Iterator[str]:
    """Yield the reliability of a class task, what it confuses, and its worst classes with their
    neighbors.
    """
    calibration = require("sklearn.calibration", extra="sklearn", purpose="The report of a run")
    predictions, drawn = found.predictions[name], []
    labels, predicted = _numpy(predictions)
    known, probabilities = labels >= 0, predictions.confidence.probabilities
    if probabilities is not None and known.any():
        right, stated = calibration.calibration_curve(
            (predicted == labels)[known], probabilities[known, 0], n_bins=15
        )
        bars = {"type": "bar", "x": stated.tolist(), "y": right.tolist(), "width": 0.05}
        title = "Reliability: how often predictions are right, by their probability"
        bars, axis = bars | {"marker": {"color": BLUE}}, {"range": [0, 1]}
        drawn.append(
            figures.draw(title, bars, _diagonal([0, 1]), x=("probability", axis), y=("", axis))
        )
    if len(report.classes) <= MATRIX and known.any():
        drawn.append(_matrix(labels[known], predicted[known], [row.name for row in report.classes]))
    yield _row_of(drawn)
    if report.pairs:
        table = _table(measures.pair_rows(report), *measures.PAIR_HEADINGS)
        yield f"<h3>Most frequent mistakes</h3>{table}"
    yield _class_table(found, name, report, labels)


def _matrix(labels: Ids, predicted: Ids, names: list[str]) -> str:
    """Return a confusion matrix with counts, colored by the share of each true class."""
    metrics = require("sklearn.metrics", extra="sklearn", purpose="The report of a run")
    counts = metrics.confusion_matrix(labels, predicted, labels=range(len(names)))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    named = [html.escape(name) for name in names]
    heads = "".join(f'<th scope="col"><span>{name}</span></th>' for name in named)
    rows = ""
    for true, ns, parts in zip(named, counts, shares, strict=True):
        cells = "".join(
            f'<td style="--share: {part:.3f}" title="{true} taken for {said}: {n} ({part:.1%})">'
            f"{n or ''}</td>"
            for said, n, part in zip(named, ns, parts, strict=True)
        )
        rows += f'<tr><th scope="row">{true}</th>{cells}</tr>'
    return (
        '<div class="figure"><p>Confusion: true classes in rows, predicted ones in columns</p>'
        f'<div class="wide"><table class="matrix"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></div>"
    )


def _class_table(found: Predicted, name: str, report: ClassReport, labels: Ids) -> str:
    """Return the classes with the lowest recall, the mean probability of predictions, and the
    nearest prototypes.
    """
    listed = np.array(measures.worst_classes(report, CLASSES), dtype=np.int64)
    headings, (title, rows) = list(measures.CLASS_HEADINGS), measures.class_rows(report, CLASSES)
    probabilities = found.predictions[name].confidence.probabilities
    if probabilities is not None:
        headings.append("mean probability of its predictions")
        for index, row in zip(listed, rows, strict=True):
            row.append(measures.percent(float(probabilities[labels == index, 0].mean())))
    prototypes = by_name(found.run.space.prototypes).get(name)
    if prototypes is not None and len(listed):
        headings.append("nearest prototypes, with their cosine")
        vectors = prototypes.vectors.numpy(force=True)
        ids, cosines, tied = nearest(vectors[listed] @ vectors.T, listed, min(3, len(vectors) - 1))
        for row, near, values, more in zip(rows, ids, cosines, tied, strict=True):
            pairs = zip(near, values, strict=True)
            words = [f"{report.classes[other].name} {value:.3f}" for other, value in pairs]
            row.append(", ".join(words + ["and others as near"] * bool(more)))
    return f"<h3>{title.capitalize()}</h3>{_table(rows, *headings)}"


def _number_parts(task: Task, predictions: TaskPredictions, figures: Figures) -> Iterator[str]:
    """Yield predicted against true numbers, at most :data:`POINTS` of them, evenly spaced, and how
    their errors spread.
    """
    assert predictions.targets is not None
    true = task.aligned(predictions.targets, predictions.predicted).numpy()
    predicted = predictions.predicted.numpy()
    there = np.flatnonzero(~np.isnan(true))
    some = there[np.linspace(0, len(there) - 1, min(POINTS, len(there))).astype(int)]
    x, y, ends = true[some], predicted[some], []
    dots = {"mode": "markers", "marker": {"color": BLUE, "size": 5, "opacity": 0.5}}
    dots |= {"type": "scatter", "x": x.tolist(), "y": y.tolist()}
    bars = {"type": "histogram", "x": (y - x).tolist(), "marker": {"color": BLUE}}
    if len(some):
        ends = [float(x.min()), float(x.max())]
    drawn = [
        figures.draw(
            "Predicted and true", dots, _diagonal(ends), x=("true", {}), y=("predicted", {})
        ),
        figures.draw("Errors", bars, x=("predicted - true", {}), y=("examples", {})),
    ]
    yield _row_of(drawn)


def _diagonal(ends: list[float]) -> Plain:
    """Return the line where both axes say the same."""
    return {"x": ends, "y": ends, "mode": "lines", "line": {"color": "#767676", "dash": "dot"}}


def _mistakes(found: Predicted, name: str) -> str:
    """Return the worst mistakes of a task, the most confident or the largest, with their inputs:
    pictures, or the cells of rows as the table has them.
    """
    task, predictions = found.run.space.tasks[name], found.predictions[name]
    worst, probabilities = _worst(task, predictions), predictions.confidence.probabilities
    if not len(worst):
        return ""
    columns = {
        title: [_written(value) for value in task.decode(values[worst]).tolist()]
        for title, values in zip(("true", "predicted"), _numpy(predictions), strict=True)
    }
    if probabilities is not None:
        columns["probability"] = [f"{value:.2f}" for value in probabilities[worst, 0]]
    title = f"<h3>Worst mistakes of {html.escape(name)}</h3>"
    if isinstance(found.data.data, ImageData):
        cards = ""
        for picture, *words in zip(
            _pictures(found.data.data, worst), *columns.values(), strict=True
        ):
            said = "<br>".join(
                f"<b>{about}</b> {html.escape(word)}"
                for about, word in zip(columns, words, strict=True)
            )
            cards += f"<figure>{picture}<figcaption>{said}</figcaption></figure>"
        return f'{title}<div class="gallery">{cards}</div>'
    columns = _cells(found, worst, columns)
    return f'{title}<div class="long">{_table(zip(*columns.values(), strict=True), *columns)}</div>'


def _pictures(data: ImageData, rows: Ids) -> Iterator[str]:
    """Yield images as HTML."""
    for row in rows.tolist():
        pixels = data.pixels(torch.tensor([row]))
        step = max(1, pixels.shape[1] // 96)
        sheet = pages.image_sheet(pixels[:, ::step, ::step], 1)
        about = html.escape(str(data.paths[row]) if len(data.paths) else f"example {row + 1}")
        yield f'<img src="{sheet}" alt="{about}" title="{about}">'


def _cells(found: Predicted, rows: Ids, columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return columns of text with the place of each row before them and, where the inputs are rows
    of a table, its cells behind them.
    """
    if found.data.origin is None:
        return {"example": [str(row + 1) for row in rows], **columns}
    file, numbers = found.data.origin
    places, table = numbers[rows].tolist(), read_columns(file)
    encoder = run_preprocessing(found.run.record, found.data.source).encoder
    names = () if encoder is None else encoder.names[:COLUMNS]
    cells = {name: [_written(table[name].cells[at])[:300] for at in places] for name in names}
    return {"row": [str(at + 1) for at in places], **columns, **cells}


def _numpy(predictions: TaskPredictions) -> tuple[Array, Array]:
    """Return what is true and what was predicted."""
    assert predictions.targets is not None
    return predictions.targets.numpy(), predictions.predicted.numpy()


def _worst(task: Task, predictions: TaskPredictions) -> Ids:
    """Return the rows of the worst mistakes, the worst first: the most confident, or the largest."""
    assert predictions.targets is not None
    badness = task.errors(predictions.predicted, predictions.targets).nan_to_num(0).numpy()
    rows, probabilities = np.flatnonzero(badness), predictions.confidence.probabilities
    if probabilities is not None:
        badness = probabilities[:, 0]
    return rows[np.argsort(-badness[rows], kind="stable")][:MISTAKES]


def _written(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
