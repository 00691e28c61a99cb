import subprocess
import sys

import pytest

from hyperproto import __version__
from hyperproto.cli.main import VERBS, main


def run(capsys, *arguments):
    """Return (exit code, standard output, standard error) of one command."""
    try:
        main(list(arguments))
        code = 0
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "--folder", "/proc/nowhere", "--epochs", "1"], "cannot be written"),
        (["train", "--dim", "1"], "--dim must be at least 2; got 1"),
    ],
)
def test_a_mistake_prints_one_sentence_and_exits_with_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_an_unknown_option_exits_with_2(capsys):
    assert run(capsys, "place", "3", "3", "--colour", "red")[0] == 2
    assert run(capsys, "plaice")[0] == 2


def test_a_mistyped_option_names_the_nearest_of_its_verb_alone(capsys):
    code, out, err = run(capsys, "evaluate", "runs/a", "--unknwon", "x")
    assert (code, out) == (2, "")
    assert "--unknown" in err
    assert "hyperproto place" not in err
    assert "hyperproto evaluate --help" in err


def test_the_help_lists_the_version_and_hides_defaults_of_none(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "--version" in out
    for verb in VERBS:
        code, out, _ = run(capsys, verb, "--help")
        assert code == 0
        assert "default: None" not in out
        assert "{None" not in out
        assert "--no-json" not in out


def test_an_unknown_verb_gets_one_sentence_with_the_nearest(capsys):
    code, out, err = run(capsys, "trian", "--data", "birds.csv")
    assert (code, out) == (2, "")
    assert err.startswith('hyperproto: Unknown command "trian".')
    assert err.endswith('Did you mean "train"?\n')


@pytest.mark.parametrize(
    "words", [["--classes", "a", "--classes", "b"], ["--classes=a", "--classes=b"]]
)
def test_a_list_in_two_parts_is_refused_for_only_the_last_would_count(capsys, words):
    code, _, err = run(capsys, "train", "--data", "birds.csv", *words)
    assert code == 2
    assert (
        err
        == "hyperproto: --classes must be given once; got it 2 times. List all after one: --classes A B.\n"
    )


def test_the_command_alone_shows_the_three_most_common(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    shown = [line.split()[1] for line in out.splitlines() if line.startswith("  hyperproto ")]
    assert shown == ["train", "evaluate", "predict"]
    assert set(shown) <= set(VERBS)


def test_a_shell_can_complete_verbs(capsys):
    code, out, _ = run(capsys, "--tyro-print-completion", "bash")
    assert not code
    assert all(verb in out for verb in VERBS)
    assert subprocess.run(["bash", "-n"], input=out, text=True).returncode == 0


def test_version(capsys):
    assert run(capsys, "--version")[1] == f"hyperproto {__version__}\n"


def test_train_stores_a_run_that_loads(capsys, tmp_path):
    folder = tmp_path / "run"
    code, out, err = run(capsys, "train", "--epochs", "1", "--dim", "4", "--folder", str(folder))
    assert (code, err) == (0, "")
    assert "accuracy" in out
    assert (folder / "metrics.json").exists()
    for verb in ("evaluate", "report", "predict", "export"):  # what to do next
        assert f"\n  hyperproto {verb} {folder}" in out


def test_train_knows_the_joint_task(capsys):
    code, out, _ = run(
        capsys,
        "train",
        "--data",
        "rotated-digits",
        "--dim",
        "3",
        "--epochs",
        "1",
        "--margin",
        "0.1",
    )
    assert code == 0
    assert "digit/accuracy" in out
    assert "angle/mae" in out


def test_the_installed_command_works():
    done = subprocess.run(
        [sys.executable, "-m", "hyperproto.cli.main", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"hyperproto {__version__}\n"


def test_a_defect_of_ours_keeps_its_traceback(monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("a bug")

    monkeypatch.setattr("hyperproto.prototypes.place", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(["place", "3", "3"])
