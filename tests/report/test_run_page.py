"""The page of a run: the numbers of its evaluation, its own inputs, and nothing that a name could
inject.
"""

import csv
import html
import re

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.data import read_table, training_data
from hyperproto.evaluation import evaluate_run
from hyperproto.evaluation.predict import TaskPredictions
from hyperproto.models import create_backbone
from hyperproto.report import run_page, write_run_page
from hyperproto.training import DataSpec, RunSpec
from hyperproto.training.folder import RunFolder
from tests.cli.test_cli import run
from tests.evaluation.conftest import image_run, table_run  # noqa: F401  # fixtures

EVIL = '<img src=x onerror="alert(1)">'


def sections(page: str) -> dict[str, str]:
    return dict(re.findall(r"<section><h2>(.*?)</h2>(.*?)(?=<section>|<footer>)", page, re.DOTALL))


def test_the_page_of_images_shows_measures_and_mistakes_with_their_pictures(
    capsys,
    image_run,  # noqa: F811
    tmp_path,
):
    path = tmp_path / "page.html"
    words = ("report", str(image_run.folder), "--data", str(image_run.data), "-o", str(path))
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert str(path) in out
    page = path.read_text()
    parts, found = sections(page), evaluate_run(image_run.folder, image_run.data, pairs=20)
    assert f"{100 * found.measures['class/accuracy']:.2f} % (baseline" in parts["Measures"]
    wrong = sum(pair.count for pair in found.tasks["class"].pairs)
    assert 0 < wrong < run_page.MISTAKES
    assert parts["class"].count('<img src="data:image/png;base64,') == wrong
    assert str(image_run.data / "test") in parts["class"]  # which file it is
    assert page.count("Plotly.newPlot(") == 3  # loss, accuracy, reliability
    assert len(re.findall('role="img" aria-label="[^"]', page)) == 3
    matrix = re.search('<table class="matrix">.*?</table>', parts["class"]).group()
    cells = [int(count or 0) for count in re.findall(r">(\d*)</td>", matrix)][1:]
    assert sum(cells) == found.examples == sum(cells[::4]) + wrong
    about = dict(re.findall("<th>(.*?)</th><td>(.*?)</td>", parts["Run"]))
    assert about["data"] == "15 examples (15 train, 15 valid)"
    assert about["trained"].startswith("4 of 4 epochs in 0:00:")
    assert about["seed"] == "0"
    assert image_run.run.space.prototypes["class"].certificate.method in page
    assert "&quot;batch_size&quot;: 3" in parts["Settings"]
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', page)  # nothing is fetched


def test_rows_of_a_table_are_shown_as_the_file_has_them(table_run, tmp_path):  # noqa: F811
    found = write_run_page(table_run.folder, tmp_path / "page.html")
    part = sections((tmp_path / "page.html").read_text())["height"]
    rows = list(csv.DictReader(table_run.data.read_text().splitlines()))
    table = re.search("Worst mistakes.*?<table>(.*?)</table>", part).group(1)
    heads, *shown = (
        re.findall("<t[hd]>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", table)
    )
    assert heads == ["row", "true", "predicted", "a", "b"]
    assert len(shown) == min(run_page.MISTAKES, found.examples)
    for number, true, _, a, b in shown:
        row = rows[int(number) - 1]
        assert (a, b) == (row["a"], row["b"])
        assert true == f"{float(row['height']):.4g}"


@pytest.fixture(scope="module")
def text_run(tmp_path_factory):
    """Texts and classes whose names are markup."""
    root = tmp_path_factory.mktemp("text")
    with (root / "texts.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["words", "kind"])
        out.writerows(
            [
                (f"{EVIL} {'sun' if i % 2 else 'rain'} {i % 7} " + "long " * 200, f"<b>{i % 3}")
                for i in range(60)
            ]
        )
    options = {"text": "words", "classes": ["kind"]}
    source = read_table(root / "texts.csv", **options)
    torch.manual_seed(0)
    hp.fit(
        create_backbone("mlp", out_dim=3, in_features=source.train.inputs.shape[1], hidden=[]),
        hp.Space(3, source.targets),
        training_data(source.train, source.preprocessing),
        valid=training_data(source.test, source.preprocessing),
        epochs=1,
        folder=RunFolder(
            root / "run",
            RunSpec(data=DataSpec(reader="table", path=str(root / "texts.csv"), options=options)),
        ),
        preprocessing=source.preprocessing,
    )
    return root / "run"


def test_texts_and_names_are_text_and_never_markup(text_run, tmp_path):
    write_run_page(text_run, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert EVIL not in page
    assert html.escape(EVIL) in page  # the text of a mistake
    assert "&lt;b&gt;1" in page
    visible = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "long " * 70 not in visible  # cut
    assert "<b>1" not in visible
    assert "<b>1" not in re.sub(
        r"\\u003c", "<", page.split("Plotly.newPlot(", 1)[1]
    )  # nor for plotly, which reads tags


def test_many_classes_have_no_matrix_and_few_rows(image_run, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(run_page, "MATRIX", 2)
    monkeypatch.setattr(run_page, "CLASSES", 1)
    monkeypatch.setattr(run_page, "MISTAKES", 1)
    write_run_page(image_run.folder, tmp_path / "page.html", image_run.data)
    part = sections((tmp_path / "page.html").read_text())["class"]
    assert "taken for" not in part  # what a matrix says under the pointer
    assert "The 1 worst of 3 classes" in part
    assert part.count("<img ") == 1


def test_the_worst_mistakes_are_the_surest_wrong_ones_and_the_largest_errors():
    sure = hp.evaluation.confidence.Confidence(
        probabilities=np.array([[0.5], [0.9], [0.99], [0.6], [0.95]])
    )
    found = TaskPredictions(
        torch.tensor([0, 1, 1, 0, 1]), torch.tensor([1, 0, 1, -1, 0]), confidence=sure
    )
    assert run_page._worst(hp.Classes(2), found).tolist() == [4, 1, 0]
    numbers = TaskPredictions(torch.tensor([1.0, 5.0, 2.0]), torch.tensor([1.5, torch.nan, -3.0]))
    assert run_page._worst(hp.Number(), numbers).tolist() == [2, 0]
