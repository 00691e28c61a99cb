"""The tables hold what the paper prints, and Table 2 comes out as it must."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hyperproto._core.errors import InputError
from reproduction.experiment import (
    ALL,
    Printed,
    find_experiment,
    find_experiments,
)
from reproduction.grid import make_grid
from reproduction.placements import Places
from reproduction.reports import to_markdown
from reproduction.summaries import summarize
from tests.reference.printed import ROWS, TABLES, printed_table, protocol
from tests.reproduction.helpers import NAMES, find, run_experiment

ROOT = Path(__file__).parents[2]
PAPER = "This paper"


def printed(name):
    return {(e.row, e.column): e.paper for e in find(name).entries("full") if e.paper}


@pytest.mark.parametrize("name", TABLES)
def test_every_printed_value_is_the_papers_and_none_is_missing(name):
    assert {
        place: (value.mean, value.std) for place, value in printed(name).items()
    } == printed_table(name)


def test_the_transcription_is_whole():
    counts = {
        "table1": 18,
        "table2": 9,
        "table3": 12,
        "table4": 7,
        "table5": 8,
        "table6": 20,
        "table7": 14,
    }
    assert {name: len(printed_table(name)) for name in TABLES} == counts


@pytest.mark.parametrize("name", ROWS)
def test_every_place_that_the_paper_prints_has_its_protocol(name):
    places = {(entry.row, entry.column): entry.cell for entry in find(name).entries("full")}
    for row, column in printed_table(name):
        values = places[row, column].values
        expected = protocol(name, row, column)
        assert {field: values[field] for field in expected} == expected, (row, column)


def test_each_column_has_its_dimensions():
    for name in ("table1", "table3", "table7"):
        for entry in find(name).entries("full"):
            assert entry.cell.run.space.dim == int(entry.column.split()[-1])
    for entry in find_experiment("table5").entries("full"):
        space, axes = entry.cell.run.space, {"S1": 2, "S2": 3}[entry.column.split()[0]]
        if entry.cell.job == "train":  # squared error reads its number off as many axes
            assert (space.dim, space.width) == (
                (axes, 1) if space.kind == "sphere" else (None, axes)
            )


@pytest.mark.parametrize("name", NAMES)
def test_a_row_to_compare_with_stands_in_the_columns_of_others(name):
    experiment = find(name)
    scales = [
        "cpu",
        *(
            scale
            for scale, names in ALL.items()
            if name in {Path(each).stem.replace("_", "-") for each in names}
        ),
        *(["medium"] if name == "beyond-settings" else []),
    ]
    every = [{(entry.row, entry.column) for entry in experiment.entries(scale)} for scale in scales]
    for row in experiment.compare:
        assert any(
            (row, column) in held for held in every for other, column in held if other != row
        ), row


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", ["full", "cpu", "smoke"])
def test_no_place_of_a_table_has_two_entries(name, scale):
    places = [(entry.row, entry.column) for entry in find(name).entries(scale)]
    assert len(places) == len(set(places))


def test_one_hot_stands_only_where_there_is_an_axis_for_every_class():
    columns = [
        entry.column
        for entry in find_experiment("table1").entries("full")
        if entry.row == "One-hot"
    ]
    assert columns == ["CIFAR-100 100", "ImageNet-200 200"]


def test_table_2_ours_is_farther_apart_than_the_papers(tmp_path):
    table = find_experiment("table2")
    ours = replace(
        table,
        entries=lambda scale: [
            e for e in table.entries(scale) if e.row in ("Our placement", "One-hot", PAPER)
        ],
    )
    run_experiment(ours, "full", Places(results=tmp_path, runs=tmp_path), jobs=1)
    found = {
        (held.entry.row, held.entry.column): held.mean for held in summarize(ours, "full", tmp_path)
    }
    assert found["Our placement", "min"] > 0.95
    assert found["Our placement", "min"] == pytest.approx(100 / 99, abs=1e-9)
    assert found["Our placement", "mean"] == pytest.approx(
        100 / 99, abs=1e-9
    )  # which nothing exceeds
    assert [found["One-hot", column] for column in ("min", "mean", "max")] == [1, 1, 1]
    # as printed, to its digits; the maximum depends on the start: the paper has 1.39, other seeds
    # 1.37 to 1.40
    assert [f"{found[PAPER, column]:.2f}" for column in ("min", "mean")] == ["0.95", "1.01"]
    assert found[PAPER, "max"] == pytest.approx(1.39, abs=0.05)
    assert "K/(K-1) = 100/99 = 1.0101" in table.notes[0]
    text = to_markdown(make_grid(ours, "full", tmp_path))
    for line in (
        line
        for line in text.splitlines()
        if line.startswith(("| One-hot", "| Our placement", "| This paper"))
    ):
        assert line.replace("*", "") in (ROOT / "docs" / "how-to" / "reproduce.md").read_text(
            encoding="utf-8"
        ).replace("*", "")


def test_an_unknown_name_is_answered():
    with pytest.raises(
        InputError, match='Unknown table or figure "figure-ncm".* Did you mean "figure-deepncm"'
    ):
        find_experiment("figure-ncm")


def test_a_file_without_an_experiment_is_answered(tmp_path):
    (tmp_path / "mine.py").write_text("EXPERIMENT = 3\n")
    with pytest.raises(InputError, match="must have an EXPERIMENT, an Experiment; got 3"):
        find_experiment(str(tmp_path / "mine.py"))
    with pytest.raises(InputError, match="must be a Python file with an EXPERIMENT; got no file"):
        find_experiment(str(tmp_path / "yours.py"))


def test_a_new_table_is_the_one_file_that_contributing_shows(small_places, tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if "EXPERIMENT" in block
    ]
    (tmp_path / "table8.py").write_text(block)
    table = find_experiment(str(tmp_path / "table8.py"))
    places = replace(small_places, results=tmp_path)
    run_experiment(table, "smoke", places, jobs=1)
    found = {held.entry.row: held for held in summarize(table, "smoke", tmp_path)}
    assert len(found["Batch 128"].values) == 2
    assert found["Batch 128"].entry.paper == Printed(65.0, 0.3)
    assert [cell.run.train.batch_size for cell in table.cells("full")] == [128] * 3 + [512] * 3


def test_all_has_what_goes_beyond_the_paper():
    assert sorted(experiment.name for experiment in find_experiments("all", "cpu")) == NAMES
    head = [experiment.name for experiment in find_experiments("all", "head")]
    assert (head[0], *head[-2:]) == ("beyond-losses", "beyond-successors", "beyond-rates")
