"""The command line of experiments: what is planned, what is printed, what is written."""

import pytest

from hyperproto.cli.main import main
from tests.data import layouts


def test_the_idea_is_drawn_from_nothing(tmp_path, capsys):
    folders = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "1"]
    main(["reproduce", "figure-idea", *folders])
    out = capsys.readouterr().out
    assert "[2/2]" in out
    assert "cosine after" in out
    reports = tmp_path / "results" / "reports"
    for name in ("figure-idea-cpu.png", "figure-idea-cpu.svg", "figure-idea-cpu-sphere.html", "figure-idea-cpu.html"):
        assert (reports / name).stat().st_size > 1000
    before = (reports / "figure-idea-cpu.csv").read_text()
    main(["report", "figure-idea", "--results", str(tmp_path / "results")])
    assert (reports / "figure-idea-cpu.csv").read_text() == before


def test_rotated_mnist_shows_the_sphere(tmp_path, capsys):
    layouts.write_mnist(tmp_path / "data")
    folders = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "1"]
    main(["reproduce", "figure-rotated-mnist", "--scale", "smoke", "--data", str(tmp_path / "data"), *folders])
    assert "[4/4]" in capsys.readouterr().out
    written = {path.name for path in (tmp_path / "results" / "reports").iterdir()}
    stem = "figure-rotated-mnist-smoke"
    assert {f"{stem}-1.png", f"{stem}-1.svg", f"{stem}-1-sphere.html", f"{stem}.md", f"{stem}.tex"} <= written
    assert "images" in (tmp_path / "results" / "reports" / f"{stem}-1-sphere.html").read_text(encoding="utf-8")


def test_a_dry_run_prints_cells_protocol_and_time_and_runs_nothing(tmp_path, capsys):
    layouts.write_mnist(tmp_path / "data")
    folders = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "2"]
    arguments = ["--scale", "smoke", "--data", str(tmp_path / "data"), "--dry-run"]
    main(["reproduce", "figure-rotated-mnist", *arguments, *folders])
    out = capsys.readouterr().out
    assert out.count("to do  ") == 4
    assert "rotated-mnist: rotated-mnist, 2 epochs, batch 6, rate 0.01 (paper, loss sum)" in out
    assert "epochs 2 (paper: 250)" in out
    assert "4 cells to do, 0 done, 0 left out; about" in out
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "runs").exists()


def test_cells_left_out_are_counted(tmp_path, capsys):
    main(["reproduce", "table2", "--scale", "smoke", "--dry-run", "--results", str(tmp_path)])
    out = capsys.readouterr().out
    assert "1 cell left out: it needs the authors' prototypes: --authors DIR." in out
    assert "3 cells to do, 0 done, 2 left out" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "tabel1"], 'Unknown table or figure "tabel1"'),
        (["report", "table1", "--results", "nowhere"], "There must be records of table1 at scale cpu in"),
        (
            ["reproduce", "table1", "--report-only", "--results", "nowhere"],
            "there are none. Run hyperproto",
        ),
        (["reproduce", "table1", "--data", "nowhere"], '--data must be there; "nowhere" is not'),
    ],
)
def test_mistakes_are_answered_by_a_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert sentence in capsys.readouterr().err
