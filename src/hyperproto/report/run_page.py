"""A trained run on one self-contained page: how training went, what it is worth, and where it
fails.
"""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hyperproto._core.checks import names_or_numbers
from hyperproto._core.errors import require
from hyperproto.data import ImageData
from hyperproto.data.table_files import read_columns
from hyperproto.evaluation import ClassReport, Evaluation, TaskPredictions, evaluate_run
from hyperproto.evaluation.evaluate import Predicted
from hyperproto.evaluation.run_data import AnyRun, run_preprocessing
from hyperproto.report import measures, pages
from hyperproto.report.projection import nearest
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks import indexed
from hyperproto.tasks.task import higher_is_better
from hyperproto.training import RunRecord

# what keeps a page small, whatever the run
MATRIX, CLASSES, MISTAKES, POINTS = 30, 50, 24, 2000
BLUE = pages.CLASS_COLORS[0]

Ids = NDArray[np.int64]


def write_run_page(run: AnyRun, path: str | Path, data: Any = None, **options: Any) -> Evaluation:
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
    title, rows = measures.describe_evaluation(evaluation)
    figures = Figures()
    sections = [
        _section("Measures", _table(rows)),
        _section("Training", _curves(found.run.record, figures)),
    ]
    inputs = Inputs(found, evaluation.split)
    for name, predictions in found.predictions.items():
        report = evaluation.tasks[name]
        if isinstance(report, ClassReport):
            shown = _class_parts(found, name, report, figures)
        else:
            shown = _range_parts(predictions, figures)
        sections.append(_section(name, *shown, inputs.gallery(name, predictions)))
    for name, prototypes in by_name(found.run.space.prototypes).items():
        facts = _table(pages.prototype_rows(prototypes).items())
        sections.append(_section(f"Prototypes of {name}, with their certificate", facts))
    settings = {
        key: value for key, value in found.run.record.config.items() if key != "preprocessing"
    }
    listed = html.escape(json.dumps(settings, indent=2)[:20_000])
    sections.append(
        _section("Settings", f"<details><summary>all</summary><pre>{listed}</pre></details>")
    )
    pages.write_page(
        path,
        "run_page.html",
        title,
        None,
        {"SECTIONS": "".join(sections)},
    )
    return evaluation


class Figures:
    """Turns figures into HTML; the first of them brings plotly's script."""

    count = 0

    def draw(
        self,
        title: str,
        *data: dict[str, Any],
        x: tuple[str, dict[str, Any]] = ("", {}),
        y: tuple[str, dict[str, Any]] = ("", {}),
        **layout: Any,
    ) -> str:
        """Return a plot as HTML; ``x`` and ``y`` are titles of axes, and what else they have."""
        self.count += 1
        known = {
            "title": {"text": html.escape(title), "font": {"size": 14}},
            "margin": {"l": 60, "r": 20, "t": 40, "b": 45},
            "showlegend": False,
            "height": 380,
        }
        axes = {
            f"{a}axis": {"title": {"text": t}, **more}
            for a, (t, more) in zip("xy", (x, y), strict=True)
        }
        figure = {"data": data, "layout": known | axes | layout}
        drawn = pages.plot_html(
            figure, name=f"figure-{self.count}", script=self.count == 1, displayModeBar=False
        )
        return f'<div class="figure">{drawn}</div>'


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{''.join(parts)}</section>"


def _table(rows: Any, *headings: str) -> str:
    return f'<div class="wide"><table>{pages.table_html(rows, *headings)}</table></div>'


def _curves(record: RunRecord, figures: Figures) -> str:
    """Return the loss and each measure after every epoch."""
    epochs = [line["epoch"] + 1 for line in record.history]
    names = list(dict.fromkeys(name for line in record.history for name in line["valid"]))
    curves = {"loss": [line["loss"] for line in record.history]}
    for name in names:
        factor = 100 if higher_is_better(name) else 1
        values = [line["valid"].get(name) for line in record.history]
        curves[name + ", %" * (factor == 100)] = [
            None if value is None else factor * value for value in values
        ]
    best = (
        ""
        if record.best is None
        else f" Best on validation data after epoch {record.best['epoch'] + 1}."
    )
    drawn = [
        figures.draw(
            name,
            {"x": epochs, "y": values, "mode": "lines+markers", "line": {"color": BLUE}},
            x=("epoch", {"dtick": max(1, len(epochs) // 8)}),
            height=260,
        )
        for name, values in curves.items()
    ]
    sentence = f"{len(epochs)} of {record.settings['epochs']} epochs.{best}"
    return f'<p>{html.escape(sentence)}</p><div class="row">{"".join(drawn)}</div>'


def _class_parts(
    found: Predicted, name: str, report: ClassReport, figures: Figures
) -> Iterator[str]:
    """Yield the reliability of a class task, what it confuses, and its worst classes with their
    neighbors.
    """
    calibration = require("sklearn.calibration", extra="sklearn", purpose="The report of a run")
    task, predictions = indexed(found.run.space.tasks)[name], found.predictions[name]
    assert predictions.targets is not None
    names = names_or_numbers(task.names, task.num_classes)
    labels, predicted = predictions.targets.numpy(), predictions.predicted.numpy()
    known, probabilities = labels >= 0, predictions.confidence.probabilities
    drawn = []
    if probabilities is not None and known.any():
        right, stated = calibration.calibration_curve(
            (predicted == labels)[known], probabilities[known, 0], n_bins=15
        )
        title = "Reliability: how often predictions are right, by their probability"
        bars: dict[str, Any] = {
            "type": "bar",
            "x": stated.tolist(),
            "y": right.tolist(),
            "width": 0.05,
        }
        bars["marker"] = {"color": BLUE}
        axis = {"range": [0, 1]}
        diagonal = _diagonal([0, 1])
        drawn.append(figures.draw(title, bars, diagonal, x=("probability", axis), y=("", axis)))
    if task.num_classes <= MATRIX and known.any():
        drawn.append(_matrix(labels[known], predicted[known], names, figures))
    yield f'<div class="row">{"".join(drawn)}</div>'
    if report.pairs:
        yield "<h3>Most frequent mistakes</h3>" + _table(
            measures.pair_rows(report), *measures.PAIR_HEADINGS
        )
    yield _class_table(found, name, report, labels, probabilities)


def _matrix(
    labels: Ids, predicted: Ids, names: list[str] | tuple[str, ...], figures: Figures
) -> str:
    """Draw a confusion matrix, colored by the share of each true class."""
    metrics = require("sklearn.metrics", extra="sklearn", purpose="The report of a run")
    counts = metrics.confusion_matrix(labels, predicted, labels=range(len(names)))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    escaped = [html.escape(name) for name in names]
    heat = {
        "type": "heatmap",
        "z": shares.round(4).tolist(),
        "customdata": counts.tolist(),
        "colorscale": "Blues",
        "x": escaped,
        "y": escaped,
        "zmin": 0,
        "zmax": 1,
        "colorbar": {"title": {"text": "share"}},
        "hovertemplate": "%{y} taken for %{x}: %{customdata} (%{z:.1%})<extra></extra>",
    }
    return figures.draw(
        "Confusion",
        heat,
        x=("predicted", {"type": "category"}),
        y=("true", {"type": "category", "autorange": "reversed"}),
        height=300 + 14 * len(names),
        margin={"l": 110, "r": 20, "t": 40, "b": 90},
    )


def _class_table(
    found: Predicted,
    name: str,
    report: ClassReport,
    labels: Ids,
    probabilities: NDArray[np.float64] | None,
) -> str:
    """Return the classes with the lowest recall, the mean probability of predictions, and the
    nearest prototypes.
    """
    listed = np.array(measures.worst_classes(report, CLASSES), dtype=np.int64)
    headings, (title, rows) = list(measures.CLASS_HEADINGS), measures.class_rows(report, CLASSES)
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
            listing = ", ".join(
                f"{report.classes[other].name} {value:.3f}" for other, value in pairs
            )
            row.append(f"{listing}, and others as near" if more else listing)
    return f"<h3>{title.capitalize()}</h3>" + _table(rows, *headings)


def _range_parts(predictions: TaskPredictions, figures: Figures) -> Iterator[str]:
    """Yield predicted against true numbers, at most :data:`POINTS` of them, evenly spaced."""
    assert predictions.targets is not None
    true, predicted = predictions.targets.double().numpy(), predictions.predicted.double().numpy()
    there = np.flatnonzero(~np.isnan(true))
    some = there[np.linspace(0, len(there) - 1, min(POINTS, len(there))).astype(int)]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "marker": {"color": BLUE, "size": 5, "opacity": 0.5},
    }
    dots |= {"x": true[some].tolist(), "y": predicted[some].tolist()}
    ends = [float(true[some].min()), float(true[some].max())] if len(some) else []
    yield figures.draw(
        "Predicted and true", dots, _diagonal(ends), x=("true", {}), y=("predicted", {})
    )


def _diagonal(ends: list[float]) -> dict[str, Any]:
    """Return the line where both axes say the same."""
    return {"x": ends, "y": ends, "mode": "lines", "line": {"color": "#999999", "dash": "dot"}}


class Inputs:
    """Shows inputs: pictures, or the cells of rows as the table has them."""

    cells: dict[str, list[Any]]
    rows: torch.Tensor | None

    def __init__(self, found: Predicted, part: str) -> None:
        self.found, self.cells, self.rows = found, {}, None
        source, data = found.data.source, found.data.data
        if source is None or isinstance(data, ImageData):
            return
        split = source.train if part == "train" or source.test is None else source.test
        if split.origin is not None and len(split) == len(data):  # not two files together
            file, self.rows = split.origin
            columns = read_columns(file)
            names = run_preprocessing(found.run.record, source).encoder.names  # type: ignore[union-attr]
            self.cells = {name: columns[name].cells for name in names[:12]}

    def gallery(self, name: str, predictions: TaskPredictions) -> str:
        """Return the worst mistakes of a task, the most confident or the largest, with their
        inputs.
        """
        worst = _worst(predictions)
        if not len(worst):
            return ""
        space, cards = self.found.run.space, []
        assert predictions.targets is not None
        truth, predicted = (
            space.tasks[name].decode(values.numpy()[worst]).tolist()
            for values in (predictions.targets, predictions.predicted)
        )
        for row, true, said in zip(worst.tolist(), truth, predicted, strict=True):
            probabilities = predictions.confidence.probabilities
            words = _written(said) + (
                "" if probabilities is None else f", probability {probabilities[row, 0]:.2f}"
            )
            words = f"<b>true</b> {html.escape(_written(true))}<br><b>predicted</b> {html.escape(words)}"
            cards.append(f"<figure>{self.show(row)}<figcaption>{words}</figcaption></figure>")
        return (
            f"<h3>Worst mistakes of {html.escape(name)}</h3><div "
            f'class="gallery">{"".join(cards)}</div>'
        )

    def show(self, row: int) -> str:
        """Return one input as HTML."""
        data = self.found.data.data
        if isinstance(data, ImageData):
            pixels = data.pixels(torch.tensor([row]))
            step = max(1, pixels.shape[1] // 96)
            about = html.escape(
                str(data.paths[row]) if len(data.paths) else f"example {row + 1}", quote=True
            )
            return (
                f'<img src="{pages.image_sheet(pixels[:, ::step, ::step], 1)}" alt="{about}" '
                f'title="{about}">'
            )
        if self.rows is None:
            return f"example {row + 1}"
        place = int(self.rows[row])
        cells = [(name, _written(cells[place])[:300]) for name, cells in self.cells.items()]
        return f"<div>row {place + 1}</div><table>{pages.table_html(cells)}</table>"


def _worst(predictions: TaskPredictions) -> Ids:
    """Return the rows of the worst mistakes, the worst first."""
    assert predictions.targets is not None
    targets, predicted = predictions.targets, predictions.predicted
    if predicted.is_floating_point():
        badness = (predicted.double() - targets.double()).abs().nan_to_num(-1).numpy()
        wrong = badness > 0
    else:
        wrong = ((targets >= 0) & (predicted != targets)).numpy()
        probabilities = predictions.confidence.probabilities
        badness = np.zeros(len(wrong)) if probabilities is None else probabilities[:, 0]
    rows = np.flatnonzero(wrong)
    return rows[np.argsort(-badness[rows], kind="stable")][:MISTAKES]


def _written(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
