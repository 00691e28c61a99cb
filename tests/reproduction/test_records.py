"""The records that are committed are found by the tables, and give the reports that are committed."""

from pathlib import Path

import pytest

import reproduction
from hyperproto._core.files import read_json_lines
from reproduction.cell import Cell
from reproduction.grid import make_grid
from reproduction.records import FORMAT, OUTCOMES, find_record, unpack
from reproduction.reports import read_sections, to_page, to_section
from tests.reproduction.helpers import NAMES, find

RESULTS = Path(reproduction.__file__).parent
FILES = sorted((RESULTS / "records").glob("*.jsonl"))
# every report that is committed, by name and scale
PAGES = sorted((RESULTS / "reports").glob("*.md"))
REPORTED = [(page.stem, scale) for page in PAGES for scale in read_sections(page)]


def addresses():
    return [record["address"] for path in FILES for record in read_json_lines(path)]


def test_a_file_has_its_records_sorted_by_address():
    for path in FILES:
        records = read_json_lines(path)
        assert [record["address"] for record in records] == sorted(
            Cell.from_dict(record["cell"]).address for record in records
        )
        assert {record["format"] for record in records} == {FORMAT}
        assert path.stem in ("paper", "beyond")


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


def test_a_page_is_its_sections():
    for page in PAGES:
        assert to_page(find(page.stem), read_sections(page)) == page.read_text(encoding="utf-8")


def test_outcomes_are_of_records_and_agree_with_them():
    known = {record["address"]: record for path in FILES for record in read_json_lines(path)}
    for line in read_json_lines(RESULTS / OUTCOMES):
        measures = known[line["address"]]["measures"]
        for name, packed in line["outcomes"].items():
            assert unpack(packed).mean() == pytest.approx(measures[name], rel=1e-3)


@pytest.mark.parametrize(("name", "scale"), REPORTED)
def test_every_table_finds_its_records_and_reports_the_committed_numbers(name, scale):
    experiment = find(name)
    assert any(find_record(RESULTS, cell, name) for cell in experiment.cells(scale, RESULTS))
    section = read_sections(RESULTS / "reports" / f"{name}.md")[scale]
    assert to_section(make_grid(experiment, scale, RESULTS)) == section
