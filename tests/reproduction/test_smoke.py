"""Every table and figure runs in small: two seeds, interrupted once, resumed."""

import json
from dataclasses import replace

import pytest

from hyperproto.training.checkpoint import Checkpoint
from reproduction.experiment import find_experiment
from reproduction.records import find_record
from reproduction.reports import write_report
from reproduction.run_cell import run_cell
from reproduction.runner import make_plan
from tests.reproduction.helpers import NAMES, comparable, find, run_experiment

WITHOUT_TRAINING = {"table2", "figure-idea"}
ONE_SEED = {name for name in NAMES if find(name).num_seeds == 1}
SMALL = [name for name in NAMES if find(name).entries("smoke")]


def with_weights(name, request):
    """Have the pretrained weights where a name needs them; skip it where they are not installed."""
    if name in ("beyond-losses", "beyond-birds", "beyond-successors"):
        request.getfixturevalue("pretrained_weights")


class Interrupted:
    """Stands in for whoever presses Ctrl-C after the first checkpoint."""

    def __init__(self, monkeypatch):
        self.count, save = 0, Checkpoint.save

        def save_and_stop(checkpoint, path):
            save(checkpoint, path)
            self.count += 1
            if self.count == 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpoint, "save", save_and_stop)


def test_every_name_of_the_paper_is_there():
    tables = {f"table{number}" for number in range(1, 8)}
    figures = {"figure-deepncm", "figure-rotated-mnist", "figure-epochs", "figure-idea"}
    assert {name for name in NAMES if not name.startswith("beyond-")} == tables | figures
    assert all(find(name).name == name for name in NAMES)


@pytest.mark.parametrize("name", SMALL)
def test_a_name_runs_to_its_end_over_an_interrupt(name, small_places, monkeypatch, request):
    with_weights(name, request)
    experiment = find(name)
    begun = make_plan(experiment, "smoke", small_places)
    if begun.todo and name not in WITHOUT_TRAINING:
        interrupted = Interrupted(monkeypatch)
        with pytest.raises(KeyboardInterrupt, match="run the same command again to go on"):
            run_experiment(experiment, "smoke", small_places, jobs=1)
        assert interrupted.count == 1
        assert (
            small_places.runs / "cells" / begun.todo[0].address / "checkpoint.safetensors"
        ).is_file()
    outcomes = run_experiment(experiment, "smoke", small_places, jobs=1)
    assert [outcome.error for outcome in outcomes if outcome.state == "failed"] == []
    ended = make_plan(experiment, "smoke", small_places)
    assert ended.todo == ()
    # the authors' file is for more styles than these data have
    skipped = {cell.run.space.prototypes for cell, _ in ended.skipped}
    assert skipped == ({"authors"} if name == "table6" else set())
    assert {cell.seed for cell in ended.done} == ({0} if name in ONE_SEED else {0, 1})
    for entry in experiment.entries("smoke"):
        record = find_record(small_places.results, entry.cell, name)
        assert (
            record is None or record["state"] == "diverged" or entry.measure in record["measures"]
        )


@pytest.mark.parametrize("name", SMALL)
def test_a_name_is_reported_from_its_records(name, small_places, tmp_path, monkeypatch, request):
    with_weights(name, request)
    experiment = find(name)
    run_experiment(experiment, "smoke", small_places, jobs=1)
    monkeypatch.setattr(
        "reproduction.run_cell.fit", lambda *_, **__: pytest.fail("trained to redraw")
    )
    grid, written = write_report(experiment, "smoke", small_places.results, tmp_path)
    pictures = {"": set(), "sphere": {".png", ".svg", ".html"}}.get(
        experiment.figure, {".png", ".svg"}
    )
    assert {path.suffix for path in written} == {".md", ".csv", ".tex"} | pictures
    run = [
        held for held in grid.cells.values() if held.entry.cell.run.space.prototypes != "authors"
    ]
    assert all(len(held.records) == len(held.seeds) for held in run)


def test_an_interrupted_cell_ends_as_if_it_had_never_been(small_places, tmp_path, monkeypatch):
    cells = find_experiment("figure-deepncm").cells("smoke")
    cell = next(cell for cell in cells if cell.run.space.kind == "deep-ncm")  # which learns, too
    straight = run_cell(cell, replace(small_places, runs=tmp_path / "straight"))
    Interrupted(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run_cell(cell, replace(small_places, runs=tmp_path / "interrupted"))
    resumed = run_cell(cell, replace(small_places, runs=tmp_path / "interrupted"))
    assert json.dumps(comparable(straight)) == json.dumps(comparable(resumed))


def test_a_finished_cell_is_not_run_again(small_places, monkeypatch):
    experiment = find_experiment("figure-rotated-mnist")
    run_experiment(experiment, "smoke", small_places, jobs=1)
    monkeypatch.setattr("reproduction.runner.run_cell", lambda *_: pytest.fail("ran again"))
    assert run_experiment(experiment, "smoke", small_places, jobs=1) == []
    assert len(make_plan(experiment, "smoke", small_places).done) == 5


def test_a_record_has_no_times_outside_of_times(small_places):
    experiment = find_experiment("figure-rotated-mnist")
    run_experiment(experiment, "smoke", small_places, jobs=1)
    record = find_record(small_places.results, experiment.cells("smoke")[0])
    assert len(record["epochs"]) == 2
    assert {"digit/accuracy", "angle/mae"} <= set(record["epochs"][0]["valid"])
    assert record["times"]["epochs"]
    assert "seconds" not in json.dumps(comparable(record))
    assert len(json.dumps(record)) < 100_000
