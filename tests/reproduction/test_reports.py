"""Reports say ours beside the paper's, in every form, from records alone."""

import csv
import io
import re
import sys
from dataclasses import asdict

import pytest
from rich.console import Console
from rich.markdown import Markdown

from reproduction.cell import paper_cell
from reproduction.experiment import Entry, Experiment, Printed, find_experiment
from reproduction.grid import make_grid
from reproduction.records import FORMAT, write_record
from reproduction.reports import (
    read_sections,
    to_csv,
    to_latex,
    to_markdown,
    to_section,
    write_report,
)
from tests.reproduction.helpers import find

OURS, THEIRS = paper_cell(dim=3, prototypes="ours"), paper_cell(dim=3, prototypes="one-hot")
VALUES = {("ours", 0): 0.5, ("ours", 1): 0.54, ("one-hot", 0): 0.45, ("one-hot", 1): 0.46}


def make_experiment(figure=""):
    entries = [
        Entry("One-hot | & <b>", "3 %", THEIRS, "class/accuracy", Printed(62.1, 0.1)),
        Entry("Ours", "3 %", OURS, "class/accuracy", beyond=True),
        Entry("Ours", "never", paper_cell(dim=4, prototypes="ours"), "class/accuracy", beyond=True),
    ]
    return Experiment(
        "own",
        "Own",
        lambda scale: entries,
        figure=figure,
        compare=("One-hot | & <b>",),
        notes=("A note.",),
    )


@pytest.fixture
def results(tmp_path):
    for (kind, seed), value in VALUES.items():
        cell = (OURS if kind == "ours" else THEIRS).but(seed=seed)
        epochs = [{"epoch": i, "valid": {"class/accuracy": value * (i + 1) / 3}} for i in range(3)]
        record = {
            "format": FORMAT,
            "address": cell.address,
            "cell": asdict(cell),
            "state": "done",
            "epochs": epochs,
        }
        record |= {"protocol": {"train": 10, "test": 9, "parameters": 5}, "sphere": None}
        record["measures"] = {"class/accuracy": value}
        write_record(tmp_path, "own", record)
    return tmp_path


def make(results, scale="full", figure=""):
    experiment = make_experiment(figure)
    return make_grid(experiment, scale, results)


def test_markdown_has_the_papers_value_in_brackets(results):
    text = to_markdown(make(results))
    assert "| One-hot \\| & <b> | 45.5 ± 0.7 [2 of 3 seeds] (62.1 ± 0.1) |  |" in text
    assert "| Ours * | **52.0 ± 2.8 [2 of 3 seeds]** |" in text
    assert "mean of 3 seeds" in text
    assert "- A note." in text
    assert '"Ours" against' not in text  # one of three seeds is not done


def test_a_verdict_is_printed_with_the_difference(results):
    for cell, value in ((OURS, 0.55), (THEIRS, 0.45)):
        known = {"format": FORMAT, "state": "done", "epochs": [], "protocol": {}, "sphere": None}
        cell = cell.but(seed=2)
        values = {
            "address": cell.address,
            "cell": asdict(cell),
            "measures": {"class/accuracy": value},
        }
        write_record(results, "own", known | values)
    assert '- "Ours" against "One-hot | & <b>": 3 %: better (+7.7).' in to_markdown(make(results))


def test_every_row_that_ties_for_the_best_is_bold(results):
    for seed in (0, 1):
        cell = THEIRS.but(seed=seed)
        known = {"format": FORMAT, "state": "done", "epochs": [], "protocol": {}, "sphere": None}
        values = {
            "address": cell.address,
            "cell": asdict(cell),
            "measures": {"class/accuracy": VALUES["ours", seed]},
        }
        write_record(results, "own", known | values)
    assert to_markdown(make(results)).count("**52.0 ± 2.8 [2 of 3 seeds]**") == 2


def test_what_was_not_run_is_said_and_the_papers_value_never_stands_in(tmp_path):
    grid = make(tmp_path)
    text = to_markdown(grid)
    assert "| One-hot \\| & <b> | not run (62.1 ± 0.1) |" in text
    assert "9 of 9 runs behind these numbers are not done." in text
    assert "**" not in text


def test_csv_has_numbers_in_full(results):
    first, second, third = csv.DictReader(io.StringIO(to_csv(make(results))))
    assert float(first["mean"]) == pytest.approx(45.5)
    assert [first[key] for key in ("paper_mean", "paper_std", "seeds", "seeds_asked")] == [
        "62.1",
        "0.1",
        "2",
        "3",
    ]
    assert second["beyond_the_paper"] == "True"
    assert (float(second["difference"]), second["verdict"]) == (pytest.approx(6.5), "")
    assert len(second["cells"].split()) == 2
    assert third["mean"] == ""


def test_latex_is_escaped_and_has_the_paper_below(results):
    text = to_latex(make(results))
    assert r" & 3 \% & never \\" in text
    assert r"One-hot | \& <b> & 45.5 $\pm$ 0.7" in text
    assert r"{\scriptsize \quad paper} & {\scriptsize 62.1 $\pm$ 0.1} &  \\" in text
    assert text.count(r"\midrule") == 2  # below the head, and before what goes beyond the paper
    assert text.count("{") == text.count("}")


def test_the_terminal_shows_both(results):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(Markdown(to_markdown(make(results))))
    text = console.export_text()
    for part in ("52.0 ± 2.8", "62.1 ± 0.1", "beyond the paper", "One-hot | &", "A note."):
        assert part in text


def test_a_report_is_written_in_every_form(results, tmp_path):
    _, written = write_report(make_experiment("curves"), "full", results, tmp_path / "reports")
    assert [path.name for path in written] == [
        *("own.md", "own-full.csv", "own-full.tex", "own-full.png", "own-full.svg")
    ]
    assert (tmp_path / "reports" / "own-full.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "reports" / "own-full.svg").read_text(encoding="utf-8")[:1000]


def test_a_page_has_a_section_for_every_scale(results, tmp_path):
    folder = tmp_path / "reports"
    for scale in ("cpu", "full", "cpu"):
        grid, (page, *_) = write_report(make_experiment(), scale, results, folder)
        assert read_sections(page)[scale] == to_section(grid)
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^#.*", text, re.MULTILINE) == ["# Own", "## Scale full", "## Scale cpu"]
    assert text.count("52.0 ± 2.8") == 2


def test_columns_stand_in_the_order_of_the_fullest_row(tmp_path):
    experiment = find_experiment("table1")
    grid = make_grid(experiment, "full", tmp_path)
    assert grid.columns[:4] == tuple(f"CIFAR-100 {dim}" for dim in (10, 25, 50, 100))
    assert grid.columns[4:] == tuple(f"ImageNet-200 {dim}" for dim in (25, 50, 100, 200))


def test_without_the_package_that_draws_numbers_are_reported_all_the_same(
    results, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _, written = write_report(make_experiment("curves"), "full", results, tmp_path / "reports")
    assert {path.suffix for path in written} == {".md", ".csv", ".tex"}
    assert "No pictures: Drawing a picture needs matplotlib" in written[0].read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("figure", ["", "curves"])
def test_nothing_is_drawn_without_records(figure, tmp_path):
    _, written = write_report(make_experiment(figure), "full", tmp_path, tmp_path / "reports")
    assert {path.suffix for path in written} == {".md", ".csv", ".tex"}


def test_shares_of_softmax_are_drawn_and_what_was_not_run_is_said(tmp_path):
    experiment = find("beyond-dimensions")
    entries = {(entry.row, entry.column): entry for entry in experiment.entries("head")}
    for row, value in (
        ("Softmax CE", 0.5),
        ("Free norm, axes of the prior (the default from scratch)", 0.4),
    ):
        for cell in entries[row, "5 epochs"].cells(()).values():
            record = {
                "format": FORMAT,
                "address": cell.address,
                "cell": asdict(cell),
                "state": "done",
                "epochs": [],
            }
            write_record(
                tmp_path, "own", record | {"protocol": {}, "measures": {"class/accuracy": value}}
            )
    grid, written = write_report(experiment, "head", tmp_path, tmp_path / "reports")
    share = experiment.figure.__globals__["share"]
    assert share(
        grid, "Free norm, axes of the prior (the default from scratch)", "5 epochs"
    ) == pytest.approx((80, 0))
    assert share(grid, "Softmax CE", "30 epochs") is None
    drawn = re.findall(r"<text[^>]*>([^<]+)</text>", written[-1].read_text(encoding="utf-8"))
    assert drawn.count("not run") == 5 + 2  # every number of dimensions, 30 and 100 epochs
    assert {
        "Softmax CE",
        "share of softmax's accuracy, %",
        "Does a quarter of the dimensions suffice?",
    } <= set(drawn)


def test_the_picture_of_dimensions_asks_for_nothing_that_other_tables_do_not():
    places = {
        "head": ("beyond-losses", "table1"),
        "medium": ("table3", "beyond-long"),
        "cpu": ("beyond-short-runs",),
    }
    known = {
        e.cell.address
        for scale in places
        for name in places[scale]
        for e in find(name).entries(scale)
    }
    assert {entry.cell.address for entry in find("beyond-dimensions").entries("head")} <= known
