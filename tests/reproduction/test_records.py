"""The records that are committed are found by the tables, and give the reports that are committed."""

from pathlib import Path

import pytest

import reproduction
from hyperproto._core.files import read_json_lines
from reproduction.cell import Cell
from reproduction.grid import make_grid
from reproduction.records import FORMAT, find_record
from reproduction.reports import to_markdown
from tests.reproduction.helpers import NAMES, find

RESULTS = Path(reproduction.__file__).parent
FILES = sorted((RESULTS / "records").glob("*.jsonl"))
# every report that is committed, by name and scale
REPORTED = sorted(tuple(path.stem.rsplit("-", 1)) for path in (RESULTS / "reports").glob("*.md"))
# of Table 6 the authors' prototypes: their file is for more styles than the data have
NOT_RUN = {
    ("table1", "cpu"): 4,
    ("table3", "cpu"): 8,
    ("table4", "cpu"): 14,
    ("table5", "cpu"): 24,
    ("table6", "cpu"): 2,
    ("table7", "cpu"): 2,
    ("figure-deepncm", "cpu"): 2,
    ("beyond-prototypes", "cpu"): 2,
    ("table3", "head"): 20,  # the weighted prior
    ("beyond-rates", "medium"): 24,  # on other data than CIFAR-100
}


def addresses():
    return [record["address"] for path in FILES for record in read_json_lines(path)]


def test_a_file_has_the_records_of_one_table_and_scale_sorted_by_address():
    for path in FILES:
        records = read_json_lines(path)
        assert [record["address"] for record in records] == sorted(
            Cell.from_dict(record["cell"]).address for record in records
        )
        assert {record["format"] for record in records} == {FORMAT}
        name, scale = path.stem.rsplit("-", 1)
        assert name in NAMES
        assert {record["cell"]["scale"] for record in records} == {scale}


def test_every_address_occurs_once():
    assert len(addresses()) == len(set(addresses())) >= 1183


def test_every_name_has_a_report():
    with_cpu = {name for name in NAMES if find(name).entries("cpu")}
    assert {name for name, scale in REPORTED if scale == "cpu"} == with_cpu
    assert {scale for _, scale in REPORTED} <= {"cpu", "medium", "head"}


def test_no_record_is_left_of_what_no_table_asks_for():
    """Such as those of 10,000 steps of descent where the authors' files show 1,000, or of images
    drawn otherwise.
    """
    asked = {cell.address for name, scale in REPORTED for cell in find(name).cells(scale, RESULTS)}
    assert set(addresses()) <= asked


@pytest.mark.parametrize(("name", "scale"), REPORTED)
def test_every_table_finds_its_records_and_reports_the_committed_numbers(name, scale):
    experiment = find(name)
    cells = experiment.cells(scale, RESULTS)
    lacking = [cell for cell in cells if find_record(RESULTS, cell, name) is None]
    assert len(lacking) == NOT_RUN.get((name, scale), 0)
    report = RESULTS / "reports" / f"{name}-{scale}.md"
    assert to_markdown(make_grid(experiment, scale, RESULTS)) == report.read_text(encoding="utf-8")
