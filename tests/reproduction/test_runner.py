"""Cells are planned, spread, left out and answered for; Ctrl-C leaves cells that can be resumed, no
process, and a sentence that says how to go on.
"""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from hyperproto._core.errors import InputError, MissingExtraError
from hyperproto._core.files import read_json_lines, write_json_lines
from hyperproto._core.processes import run_tasks
from reproduction import placements as module
from reproduction.cell import paper_cell
from reproduction.experiment import Entry, Experiment, find_experiment
from reproduction.placements import Places, cell_prototypes
from reproduction.records import FORMAT, find_record, records_file, write_record
from reproduction.runner import make_plan
from tests.reproduction.helpers import comparable, run_experiment


def two_placements():
    """Return an experiment of two cells that train nothing."""
    cells = [
        paper_cell(job="separation", first_classes=k, dim=3, prototypes="ours", scale="smoke")
        for k in (3, 4)
    ]
    return Experiment(
        "own",
        "Own",
        lambda scale: [
            Entry(str(s.run.data.first_classes), "min", s, "separation/min") for s in cells
        ],
        num_seeds=1,
    )


@pytest.fixture
def places(tmp_path):
    return Places(results=tmp_path / "results", runs=tmp_path / "runs")


def test_cells_without_their_data_are_left_out_with_the_reason(places):
    plan = make_plan(find_experiment("table1"), "smoke", places)
    assert not plan.todo
    assert any("docs/how-to/data.md" in str(error) for _, error in plan.skipped)
    plan = make_plan(find_experiment("table2"), "full", places)
    folder = "`authors` must be the authors' folder of prototypes."
    assert {cell.run.space.prototypes: str(error) for cell, error in plan.skipped} == {
        "word2vec": f"{folder} Or give word vectors: words=FILE.",
        "authors": folder,
    }


def test_the_authors_sizes_are_told_apart(small_places, tmp_path):
    table = find_experiment("table2")
    theirs = ("authors", "word2vec")
    only = replace(
        table,
        entries=lambda scale: [
            e for e in table.entries(scale) if e.cell.run.space.prototypes in theirs
        ],
    )
    places = replace(small_places, results=tmp_path)
    assert {outcome.state for outcome in run_experiment(only, "smoke", places, jobs=1)} == {"done"}
    plan = make_plan(only, "full", places)
    assert plan.todo == ()
    reasons = {cell.run.space.prototypes: str(error) for cell, error in plan.skipped}
    size = "prototypes of 100 classes in 100 dimensions; got /"
    for kind, folder in (("authors", "sgd"), ("word2vec", "sem")):
        assert f"with {folder} {size}" in reasons[kind]


def test_processes_give_the_records_of_one(places, tmp_path):
    alone = replace(places, results=tmp_path / "alone")
    run_experiment(two_placements(), "smoke", alone, jobs=1)
    assert len(run_experiment(two_placements(), "smoke", places, jobs=2)) == 2
    for cell in two_placements().cells("smoke"):
        assert comparable(find_record(places.results, cell)) == comparable(
            find_record(alone.results, cell)
        )


def test_a_failing_cell_does_not_stop_the_others(places, monkeypatch):
    from reproduction import runner

    run = runner.run_cell

    def run_or_fail(cell, where):
        if cell.run.data.first_classes == 3:
            raise InputError("Three must not be.")
        return run(cell, where)

    monkeypatch.setattr(runner, "run_cell", run_or_fail)
    ended = run_experiment(two_placements(), "smoke", places, jobs=1)
    assert [(held.cell.run.data.first_classes, held.state, str(held.error)) for held in ended] == [
        (3, "failed", "Three must not be."),
        (4, "done", "None"),
    ]
    assert [
        cell.run.data.first_classes for cell in make_plan(two_placements(), "smoke", places).done
    ] == [4]


def test_prototypes_that_do_not_fit_the_data_leave_a_cell_out(small_places, tmp_path):
    """The authors have prototypes of 46 schools; the data at hand may have fewer, which shows when
    they are read.
    """
    authors = tmp_path / "authors"
    (authors / "sgd").mkdir(parents=True)
    np.save(
        authors / "sgd" / "prototypes-2d-46c.npy", np.random.default_rng(0).normal(size=(46, 2))
    )
    places = replace(small_places, authors=authors, results=tmp_path)
    table = find_experiment("table6")
    only = replace(
        table,
        entries=lambda scale: [
            e for e in table.entries(scale) if e.cell.run.space.prototypes == "authors"
        ],
    )
    plan = make_plan(only, "smoke", places)
    assert plan.todo == ()
    assert len(plan.skipped) == 2
    assert "sgd prototypes of 2 classes in 2 dimensions" in str(plan.skipped[0][1])


def test_a_record_of_something_else_is_refused(places):
    first, second = two_placements().cells("smoke")
    run_experiment(two_placements(), "smoke", places, jobs=1)
    path = records_file(places.results, "own")
    records = {record["address"]: record for record in read_json_lines(path)}
    assert set(records) == {first.address, second.address}
    other = records[second.address] | {"address": first.address}
    for lines in ([other], [records[first.address]] * 2, [{"format": "hyperproto.cell/1"}]):
        write_json_lines(path, lines)
        with pytest.raises(InputError) as caught:
            make_plan(two_placements(), "smoke", places)
        assert caught.value.argument == f'Line {len(lines)} of "{path}"'


def _write_one(results, cell):
    record = {"format": FORMAT, "address": cell.address, "cell": asdict(cell)}
    write_record(results, "own", record | {"state": "done", "measures": {}})


def test_many_processes_write_their_records_to_one_file(tmp_path):
    cells = [paper_cell(dim=3, seed=seed) for seed in range(24)]
    tasks = [(_write_one, (tmp_path, cell)) for cell in cells]
    list(run_tasks(tasks, 4, in_order=False))
    path = records_file(tmp_path, "own")
    written = [record["address"] for record in read_json_lines(path)]
    assert written == sorted(cell.address for cell in cells)


def test_other_word_vectors_do_not_pass_for_those_of_a_record(small_places, tmp_path):
    places = replace(small_places, results=tmp_path)
    run_experiment(find_experiment("table2"), "smoke", places, jobs=1)
    words = tmp_path / "words.txt"
    rng = np.random.default_rng(0)
    words.write_text(
        "".join(
            f"{w} {' '.join(map(str, rng.normal(size=4)))}\n" for w in ("apple", "bear", "chair")
        )
    )
    with pytest.raises(
        InputError, match=r'be of the word vectors "words.txt"; got "the authors\' sem". Give'
    ):
        make_plan(find_experiment("table2"), "smoke", replace(places, words=words))
    other = replace(places, words=words, results=tmp_path / "other")
    run_experiment(find_experiment("table2"), "smoke", other, jobs=1)
    cell = next(
        s for s in find_experiment("table2").cells("smoke") if s.run.space.prototypes == "word2vec"
    )
    assert find_record(other.results, cell)["protocol"]["words"] == "words.txt"


HAS_DASK = importlib.util.find_spec("distributed") is not None


@pytest.mark.skipif(HAS_DASK, reason="Dask is installed: the other test uses it")
def test_without_dask_a_sentence_says_what_to_type(places):
    with pytest.raises(MissingExtraError, match=r'pip install "hyperproto\[dask\]"'):
        run_experiment(two_placements(), "smoke", places, jobs=2, dask="local")


@pytest.mark.skipif(not HAS_DASK, reason="Dask is not installed: pip install 'hyperproto[dask]'")
@pytest.mark.filterwarnings("ignore")  # Dask's own, of which there are many
def test_a_local_dask_cluster_runs_cells(places):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        run_experiment(two_placements(), "smoke", places, dask=cluster.scheduler_address)
    assert len(make_plan(two_placements(), "smoke", places).done) == 2


def test_jobs_must_be_a_number(places):
    with pytest.raises(InputError, match="`jobs` must be"):
        run_experiment(two_placements(), "smoke", places, jobs=0)


OWN = '''"""Three cells that take a moment."""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment

SMALL = at_scale(paper_cell(dim=3, prototypes="one-hot"), "smoke")
CELLS = [SMALL.but(epochs=12, lr=lr) for lr in (0.01, 0.02, 0.03)]
ENTRIES = [Entry(str(cell.run.train.lr), "3", cell, "class/accuracy") for cell in CELLS]
EXPERIMENT = Experiment("own", "Own", lambda scale: ENTRIES, num_seeds=1)
'''


def start(arguments):
    command = [sys.executable, "-m", "reproduction", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, start_new_session=True, **pipes)


def alive_in(session):
    """Return the processes of a session that are not zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
            found += [path.parent.name] if int(its_session) == session and state != "Z" else []
    return found


def wait_until(happened, seconds=100):
    for _ in range(int(seconds / 0.02)):
        if happened():
            return
        time.sleep(0.02)
    pytest.fail("it never came")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_ctrl_c_ends_all_processes_at_checkpoints_and_the_same_command_goes_on(
    small_places, tmp_path
):
    own = tmp_path / "own.py"
    own.write_text(OWN)
    folders = [
        "--data",
        small_places.data,
        "--results",
        tmp_path / "results",
        "--runs",
        tmp_path / "runs",
    ]
    running = start([own, "--scale", "smoke", "--jobs", 2, *folders])
    cells = tmp_path / "runs" / "cells"
    wait_until(lambda: list(cells.glob("*/epochs.jsonl")))
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does it
    _, told = running.communicate(timeout=100)
    assert running.returncode == 130
    assert "Traceback" not in told
    sentence = r"reproduction: Interrupted with [012] of 3 cells ended; run the same command again to go on"
    assert re.match(sentence, told.splitlines()[-1])
    wait_until(lambda: not alive_in(running.pid), 10)
    assert list(cells.glob("*/checkpoint.safetensors"))
    assert len(list((tmp_path / "results").rglob("*.json"))) < 3
    straight = replace(small_places, results=tmp_path / "straight", runs=tmp_path / "straight")
    experiment = find_experiment(str(own))
    run_experiment(experiment, "smoke", straight, jobs=1)
    run_experiment(
        experiment,
        "smoke",
        replace(straight, results=tmp_path / "results", runs=tmp_path / "runs"),
        jobs=1,
    )
    for cell in experiment.cells("smoke"):
        resumed = find_record(tmp_path / "results", cell)
        assert comparable(resumed) == comparable(find_record(straight.results, cell))


def test_an_interrupted_placement_leaves_nothing_for_later_cells_to_read(tmp_path, monkeypatch):
    finish = module.place

    def place_interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return finish(*arguments, **options)

    monkeypatch.setattr(module, "place", place_interrupted)
    places, cell = (
        Places(results=tmp_path / "results", runs=tmp_path / "runs"),
        paper_cell(job="idea", dim=3, prototypes="ours"),
    )
    with pytest.raises(KeyboardInterrupt):
        cell_prototypes(cell, 4, 3, None, places)
    assert not list((tmp_path / "runs" / "prototypes").iterdir())
    monkeypatch.setattr(module, "place", finish)
    assert cell_prototypes(cell, 4, 3, None, places).separation().min == pytest.approx(4 / 3)
