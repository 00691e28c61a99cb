"""The command line of the reproduction: what is planned, what is printed, what is written."""

import subprocess
import sys
from pathlib import Path

import pytest

import reproduction
from hyperproto._core.errors import InputError
from reproduction import runner
from reproduction.__main__ import Reproduce, main
from tests.data import layouts


def test_the_idea_is_drawn_from_nothing(tmp_path, capsys):
    folders = [
        "--results",
        str(tmp_path / "results"),
        "--runs",
        str(tmp_path / "runs"),
        "--jobs",
        "1",
    ]
    main(["figure-idea", *folders])
    out = capsys.readouterr().out
    assert "[2/2]" in out
    assert "cosine after" in out
    reports = tmp_path / "results" / "reports"
    for name in ("figure-idea-cpu.png", "figure-idea-cpu.svg"):
        assert (reports / name).stat().st_size > 1000
    before = (reports / "figure-idea-cpu.csv").read_text()
    main(["figure-idea", "--report-only", "--results", str(tmp_path / "results")])
    assert (reports / "figure-idea-cpu.csv").read_text() == before


def test_rotated_mnist_shows_the_sphere(tmp_path, capsys):
    layouts.write_mnist(tmp_path / "data")
    folders = [
        "--results",
        str(tmp_path / "results"),
        "--runs",
        str(tmp_path / "runs"),
        "--jobs",
        "1",
    ]
    main(
        [
            "figure-rotated-mnist",
            "--scale",
            "smoke",
            "--data",
            str(tmp_path / "data"),
            *folders,
        ]
    )
    assert "[5/5]" in capsys.readouterr().out
    written = {path.name for path in (tmp_path / "results" / "reports").iterdir()}
    stem = "figure-rotated-mnist-smoke"
    assert {
        f"{stem}-1.png",
        f"{stem}-1.svg",
        f"{stem}-1-sphere.html",
        "figure-rotated-mnist.md",
        f"{stem}.tex",
    } <= written
    assert "images" in (tmp_path / "results" / "reports" / f"{stem}-1-sphere.html").read_text(
        encoding="utf-8"
    )


def test_a_dry_run_prints_cells_and_runs_nothing(tmp_path, capsys):
    layouts.write_mnist(tmp_path / "data")
    folders = [
        "--results",
        str(tmp_path / "results"),
        "--runs",
        str(tmp_path / "runs"),
        "--jobs",
        "2",
    ]
    arguments = ["--scale", "smoke", "--data", str(tmp_path / "data"), "--dry-run"]
    main(["figure-rotated-mnist", *arguments, *folders])
    out = capsys.readouterr().out
    assert out.count("to do  ") == 5
    assert "epochs 2 (paper: 250)" in out
    assert "5 cells to do, 0 done, 0 left out." in out
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("failing", [["one-hot"], ["one-hot", "paper", "ours"]])
def test_what_is_done_is_reported_and_what_failed_is_named(failing, tmp_path, capsys, monkeypatch):
    run = runner.run_cell

    def run_or_fail(cell, places):
        if cell.run.space.prototypes in failing:
            raise InputError(f"{cell.run.space.prototypes} must not be.")
        return run(cell, places)

    monkeypatch.setattr(runner, "run_cell", run_or_fail)
    folders = [
        "--results",
        str(tmp_path / "results"),
        "--runs",
        str(tmp_path / "runs"),
        "--jobs",
        "1",
    ]
    with pytest.raises(SystemExit, match="1"):
        main(["table2", "--scale", "smoke", *folders])
    told = capsys.readouterr()
    assert f"reproduction: {len(failing)} cell" in told.err
    for kind in failing:
        assert f"{kind}, D = 3, seed 0: {kind} must not be." in told.err
    assert (tmp_path / "results" / "reports" / "table2.md").is_file() == (len(failing) == 1)
    assert ("Our placement" in told.out) == (len(failing) == 1)


def test_the_package_is_the_command():
    command = [sys.executable, "-m", "reproduction", "table2", "--scale", "smoke", "--dry-run"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cells to do, " in told.stdout


def test_cells_left_out_are_counted(tmp_path, capsys):
    main(["table2", "--scale", "smoke", "--dry-run", "--results", str(tmp_path)])
    out = capsys.readouterr().out
    assert "1 cell left out: --authors must be the authors' folder of prototypes." in out
    assert "3 cells to do, 0 done, 2 left out" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tabel1"], 'Unknown table or figure "tabel1"'),
        (
            ["table1", "--report-only", "--results", "nowhere"],
            'records" must hold records of table1 at scale cpu; got none. Give --results the folder of records',
        ),
        (
            ["table1", "--report-only", "--results", "nowhere"],
            "or run python -m reproduction table1 --scale cpu --data DIR first.",
        ),
        (
            ["table1", "--data", "nowhere"],
            '--data must exist; got "nowhere". Check the path.',
        ),
    ],
)
def test_mistakes_are_answered_by_a_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert sentence in capsys.readouterr().err


def test_an_experiment_without_records_is_run_by_its_path(tmp_path):
    path = str(Path(reproduction.__file__).with_name("beyond_losses.py"))
    with pytest.raises(InputError) as caught:
        Reproduce(path, scale="head", results=tmp_path, report_only=True).run()
    assert f"python -m reproduction {path} --scale head --data DIR" in caught.value.advice
