"""Ctrl-C leaves cells that can be resumed, no process, and a sentence that says how to go on."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from reproduction import placements as module
from reproduction.cell import paper_cell
from reproduction.experiment import find_experiment
from reproduction.placements import Places, cell_prototypes
from reproduction.records import find_record
from tests.reproduction.helpers import comparable, run_experiment

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
