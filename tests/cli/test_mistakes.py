"""What a newcomer types wrong gets one sentence that says what to type."""

import re
import socket

import pytest

from hyperproto._core.errors import HyperprotoError
from hyperproto._core.progress import ProgressBar
from hyperproto.cli.main import main
from hyperproto.loading import load
from hyperproto.training.loop import LINES, EpochLog
from tests.data.layouts import write_csv, write_image_folder
from tests.runtime.conftest import exported  # noqa: F401  # a fixture

HELP = "hyperproto train --help lists all."
SPACES = '"sphere", "spheres", "conventional".'


def said(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    assert left.value.code == 2
    return capsys.readouterr().err.strip()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--lerning-rate", "1"],
            '"--lerning-rate" is no option of hyperproto train. Did you mean "--lr"? ' + HELP,
        ),
        (
            ["--learning-rate=1"],
            '"--learning-rate" is no option of hyperproto train. Did you mean "--lr"? ' + HELP,
        ),
        (
            ["--clases", "a"],
            '"--clases" is no option of hyperproto train. Did you mean "--classes"? ' + HELP,
        ),
        (["--epochs", "two"], '--epochs must be a whole number; got "two".'),
        (["--lr=fast"], '--lr must be a number; got "fast".'),
        (
            ["--class-weight", "foo"],
            'Unknown value of --class-weight "foo". Choose from: "balanced".',
        ),
        (
            ["--space=sfere"],
            'Unknown value of --space "sfere". Choose from: ' + SPACES + ' Did you mean "sphere"?',
        ),
    ],
)
def test_an_option_that_cannot_work_is_a_sentence(capsys, words, sentence):
    assert said(capsys, "train", *words) == f"hyperproto: {sentence}"


def test_folders_of_images_that_cannot_work_are_a_sentence(capsys, tmp_path):
    one = write_image_folder(tmp_path / "one", classes=("cat",))
    assert 'must hold two subfolders or more, one for each class; got only "cat"' in said(
        capsys, "train", "--data", str(one)
    )
    assert "must hold images in subfolders; got images without any" in said(
        capsys, "train", "--data", str(one / "cat")
    )


def test_what_is_no_run_is_named(capsys, tmp_path, exported):  # noqa: F811
    with pytest.raises(
        HyperprotoError, match=re.escape("got an exported model. hyperproto predict takes it")
    ):
        load(exported)
    (tmp_path / "estimator.json").write_text("{}")
    assert "got a saved estimator. hyperproto export takes it" in said(
        capsys, "evaluate", str(tmp_path)
    )


def test_a_port_that_is_taken_is_a_sentence(capsys, exported):  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = said(capsys, "serve", str(exported), "--port", port)
    assert f"--port must be one that is free; got 127.0.0.1, {port} (" in found
    assert found.endswith("--port 0 takes any.")


@pytest.mark.parametrize("epochs", [1, 30, 31, 119, 300])
def test_many_epochs_get_few_lines(capsys, epochs):
    log = EpochLog(ProgressBar(), epochs)
    for epoch in range(epochs):
        log.add({"epoch": epoch, "loss": 1.0, "lr": 0.1, "valid": {}})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == epochs if epochs <= LINES else LINES // 2 < len(lines) <= LINES + 2
    assert lines[0].startswith(f"epoch 1/{epochs} ")
    assert lines[-1].startswith(f"epoch {epochs}/{epochs} ")


def test_rows_without_a_label_are_counted_apart(capsys, tmp_path):
    rows = [[i, "ab"[i % 2] if i % 4 else ""] for i in range(40)]
    path = write_csv(tmp_path / "t.csv", ["x", "kind"], [[x * x, kind] for x, kind in rows])
    main(
        [
            "train",
            "--table",
            str(path),
            "--classes",
            "kind",
            "--epochs",
            "1",
            "-o",
            str(tmp_path / "run"),
        ]
    )
    assert "32 examples to train on (8 of them without a label)" in capsys.readouterr().out
