import pytest

from hyperproto.data.hints import suggest_kinds
from hyperproto.data.table_files import read_columns
from hyperproto.tasks import KINDS
from tests.data.layouts import write_csv

ROWS = 60
COLUMNS = {
    "hour": lambda i: i % 24,
    "Wind Direction": lambda i: 6 * i,
    "turn": lambda i: 6 * i,  # the name says nothing
    "angle": lambda i: 0.1 * i,  # of another unit
    "level": lambda i: ("Low", "Medium", "High", "")[i % 4],
    "color": lambda i: ("red", "green", "blue")[i % 3],
    "genres": lambda i: ("drama;war", "drama", "comedy;war")[i % 3],
    "tags": lambda i: ("a|b", "b", "c|a")[i % 3],
    "note": lambda i: f"bought {i}; sold {i + 1}",  # as many parts as cells
    "y": lambda i: i * i,
}


@pytest.fixture
def columns(tmp_path):
    rows = [[make(i) for make in COLUMNS.values()] for i in range(ROWS)]
    return read_columns(write_csv(tmp_path / "table.csv", list(COLUMNS), rows))


def test_columns_suggest_kinds_by_their_names_and_cells(columns, monkeypatch):
    for kind in ("angle", "grades", "labels"):
        monkeypatch.setitem(KINDS, kind, "")
    assert suggest_kinds(columns) == {
        "hour": ("angle", "hour=24"),
        "Wind Direction": ("angle", "Wind Direction=360"),
        "level": ("grades", "level=Low,Medium,High"),
        "genres": ("labels", "genres"),
        "tags": ("labels", "tags"),
    }


def test_only_kinds_that_there_are_are_suggested(columns, monkeypatch):
    for kind in ("angle", "grades", "labels"):
        monkeypatch.delitem(KINDS, kind, raising=False)
    assert suggest_kinds(columns) == {}


def test_few_rows_suggest_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "angle", "")
    path = write_csv(tmp_path / "few.csv", ["hour"], [[hour] for hour in range(20)])
    assert suggest_kinds(read_columns(path)) == {}
