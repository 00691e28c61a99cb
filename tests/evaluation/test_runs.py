import json
import shutil

import pytest

from hyperproto.evaluation import list_runs, sort_runs


@pytest.fixture
def shelf(tmp_path, image_run, table_run):
    """Two good runs, one of them deeper, one without an end, and several that are damaged."""
    shutil.copytree(image_run.folder, tmp_path / "images")
    shutil.copytree(table_run.folder, tmp_path / "old" / "table")
    shutil.copytree(image_run.folder, tmp_path / "cut")
    (tmp_path / "cut" / "metrics.json").unlink()
    lines = (tmp_path / "cut" / "epochs.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut" / "epochs.jsonl").write_text("".join(lines[:2]) + lines[2][:10])
    damage = {
        "no-json": "{",
        "list": "[]",
        "strange": json.dumps(
            {"format": "hyperproto.run/3", "network": 3, "space": [], "settings": {"epochs": 1}}
        ),
        "deep": "[" * 100_000,
    }
    for name, text in damage.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "config.json").write_text("{}")
    return tmp_path


def test_good_runs_say_what_they_are(shelf, image_run):
    rows = {row.name: row for row in list_runs(shelf)}
    assert set(rows) == {"images", "old/table", "cut", "no-json", "list", "strange", "deep"}
    images = rows["images"]
    assert (images.state, images.epochs, images.total_epochs) == ("finished", 4, 4)
    assert (images.network, images.space, images.data) == (
        "digit-net",
        "sphere 3, free_norm_softmax",
        "15 examples",
    )
    assert images.last == image_run.run.metrics
    assert images.best == image_run.run.best["valid"]
    assert images.seconds > 0
    assert rows["old/table"].data == "table numbers.csv"
    assert (
        rows["old/table"].space == "sphere 3, free_norm_softmax"
    )  # of the class: a number has no loss by name


def test_an_interrupted_run_counts_the_epochs_that_ended(shelf, image_run):
    cut = next(row for row in list_runs(shelf) if row.name == "cut")
    assert (cut.state, cut.epochs, cut.total_epochs) == ("unfinished", 2, 4)
    assert cut.last == image_run.run.history[1]["valid"]


def test_a_damaged_run_is_a_row_with_its_reason(shelf):
    rows = {row.name: row for row in list_runs(shelf) if row.state == "damaged"}
    assert set(rows) == {"no-json", "list", "strange", "deep"}
    assert "is not readable as JSON" in rows["no-json"].reason
    assert "is not readable as JSON" in rows["deep"].reason
    assert "must be a run of format" in rows["list"].reason
    assert "must be complete and unchanged (`network` must be a mapping" in rows["strange"].reason


def test_a_run_of_no_finite_dimension_is_damaged(tmp_path, image_run):
    shutil.copytree(image_run.folder, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    config["space"]["dim"] = 1e308 * 10
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    (row,) = list_runs(tmp_path)
    assert (row.state, "infinity" in row.reason) == ("damaged", True)


def test_a_run_itself_is_its_only_row(image_run):
    assert [row.name for row in list_runs(image_run.folder)] == [image_run.folder.name]


def test_runs_are_sorted_by_a_measure_the_best_first_and_those_without_it_last(shelf):
    rows = sort_runs(list_runs(shelf), "class/accuracy")
    values = [row.last.get("class/accuracy") for row in rows]
    there = [value for value in values if value is not None]
    assert there == sorted(there, reverse=True)
    assert values[len(there) :] == [None] * (len(rows) - len(there))
    assert sort_runs(rows, "height/mae")[0].name == "old/table"
    assert sort_runs(rows, "name")[0].name == "cut"
    with pytest.raises(ValueError, match='Did you mean "class/accuracy"'):
        sort_runs(rows, "clas/accuracy")


def test_a_folder_that_is_not_there_gets_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a folder of runs; got nothing"):
        list_runs(tmp_path / "none")
    assert list_runs(tmp_path) == []
