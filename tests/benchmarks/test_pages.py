"""Tables in pages are what ``python tools/docs_tables.py`` writes from what was measured."""

import csv
import runpy
from pathlib import Path

import pytest

pytest.importorskip("pandas")
ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "docs_tables.py"))


@pytest.mark.parametrize("page", TOOL["PAGES"], ids=lambda page: page.stem)
def test_writing_the_tables_again_changes_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert TOOL["PART"].search(text)
    assert TOOL["written"](text) == text


def test_a_table_that_was_changed_by_hand_is_written_again():
    text = "<!-- table: runtime -->\n| 1 |\n<!-- end -->"
    assert "Banking77" in TOOL["written"](text)


def test_the_page_on_training_has_what_a_folder_of_images_gets():
    (path,) = (ROOT / "results").glob("pretrained-*.csv")
    page = (ROOT / "docs" / "how-to" / "training.md").read_text(encoding="utf-8")
    with path.open(encoding="utf-8", newline="") as file:
        ours, peer = csv.DictReader(file)
    assert f"{ours['test accuracy, %']} % in {ours['seconds']} s on 2 cores" in page
    assert f"have {peer['test accuracy, %']} %" in page
