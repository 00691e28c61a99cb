"""``hyperproto train`` on people's own data."""

import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

import hyperproto as hp
from hyperproto.spec import SCHEDULES
from hyperproto.training import read_run
from hyperproto.training.keeper import Keeper
from tests.cli.test_cli import run
from tests.data import layouts
from tests.training.test_spec import numbers_table

ROOT = Path(__file__).parents[2]
SMALL = [
    "--backbone",
    "resnet",
    "--backbone-options",
    "depth=8",
    "width=4",
    "--size",
    "32",
    "--epochs",
    "1",
]
SMALL += ["--workers", "0", "--batch-size", "4"]


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """Runs are stored in the working directory unless told otherwise."""
    monkeypatch.chdir(tmp_path)


def test_a_table_of_images_with_a_class_and_a_number(capsys, tmp_path):
    layouts.write_painting_table(tmp_path)
    command = [
        "train",
        "--data",
        "paintings.csv",
        "--image",
        "path",
        "--classes",
        "style",
        "--range",
        "year",
    ]
    code, out, err = run(capsys, *command, "--bounds", "year=1500:1900", *SMALL)
    assert (code, err) == (0, "")
    assert "paintings: 8 examples to train on, 2 to measure on; resnet with" in out
    assert "style/accuracy" in out
    assert "year/mae" in out
    assert 'hyperproto.load("runs/paintings-1")' in out
    config = read_run("runs/paintings-1").config
    assert config["spec"]["data"]["path"] == str(tmp_path / "paintings.csv")
    assert [task["name"] for task in config["space"]["tasks"]] == ["style", "year"]
    assert config["space"]["tasks"][1]["high"] == 1900
    _, space = hp.load("runs/paintings-1")
    assert space.tasks["style"].names == ("baroque", "cubism")
    code, out, _ = run(capsys, "predict", "runs/paintings-1", "paintings.csv", "--format", "json")
    assert code == 0
    told = json.loads(out)
    assert [row["row"] for row in told] == list(range(1, 11))
    assert told[0]["predictions"]["style"]["name"] in ("baroque", "cubism")
    code, out, _ = run(capsys, "train", "--resume", "runs/paintings-1")
    assert code == 0
    assert "runs/paintings-1 is finished: 1 epochs are done." in out
    assert run(capsys, *command, *SMALL)[0] == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["paintings-1", "paintings-2"]


@pytest.mark.parametrize("options", [[], ["--text", "about"]])
def test_a_table_of_words_and_one_of_text(capsys, tmp_path, options):
    words = {"sweet": ["apple", "pear"], "fast": ["car", "train"]}
    rows = [[f"one {words[kind][n % 2]}", n % 2 == 0, kind] for n in range(20) for kind in words]
    layouts.write_csv(tmp_path / "things.csv", ["about", "even", "kind"], rows)
    code, _, err = run(
        capsys, "train", "--table", "things.csv", "--classes", "kind", *options, "--epochs", "20"
    )
    assert (code, err) == (0, "")
    new = [["one apple", "True"], ["one train", "False"], ["the plane", "maybe"], ["", ""]]
    layouts.write_csv(tmp_path / "new.csv", ["about", "even"], new)
    code, out, _ = run(capsys, "predict", "runs/things-1", "new.csv", "--format", "json")
    assert code == 0
    assert [row["predictions"]["kind"]["name"] for row in json.loads(out)][:2] == ["sweet", "fast"]
    layouts.write_csv(
        tmp_path / "other.csv",
        ["about", "even", "kind"],
        [rows[0], rows[3], ["a plane", "", "fast"]],
    )
    code, out, _ = run(capsys, "evaluate", "runs/things-1", "--data", "other.csv", "--json")
    assert code == 0, "categories and words are those of the run, not those of the other table"


def test_a_folder_of_images(capsys, tmp_path):
    layouts.write_image_folder(tmp_path / "pets")
    code, out, _ = run(
        capsys, "train", "--data", "pets", *SMALL, "--space", "conventional", "--held-out", "0.4"
    )
    assert code == 0
    assert "pets: 6 examples to train on, 4 to measure on" in out
    assert "softmax and squared error in 2 dimensions" in out


def test_a_published_data_set_trained_as_in_the_paper(capsys, tmp_path):
    layouts.write_cifar100_binary(tmp_path)
    command = [
        "train",
        "--data",
        ".",
        "--reader",
        "cifar-100-uneven",
        "--reader-options",
        "least=2",
        "most=4",
    ]
    code, out, _ = run(
        capsys,
        *command,
        "--loss",
        "squared_cosine",
        "--schedule",
        "paper",
        "--epochs",
        "1",
        "--backbone",
        "resnet-8",
    )
    assert code == 0
    assert "cifar-100-uneven: 9 examples" in out
    record = read_run("runs/cifar-100-uneven-1")
    assert (record.settings["schedule"], record.settings["epochs"], record.settings["lr"]) == (
        "paper",
        1,
        0.01,
    )
    assert record.config["network"]["depth"] == 8
    assert record.spec.data.options == {"least": 2, "most": 4, "seed": 0}


def broken_image(root):
    path = layouts.write_image_folder(root / "pets") / "dog" / "2.png"
    path.write_text("<html>not found</html>")
    return ["--data", "pets", *SMALL]


def unseen_label(root):
    numbers_table(root)
    layouts.write_csv(root / "test.csv", ["x", "y", "way", "amount"], [[1, 2, "sideways", 3]])
    return ["--data", "numbers.csv", "--test", "test.csv", "--classes", "way", "--range", "amount"]


def constant_target(root):
    layouts.write_csv(root / "flat.csv", ["x", "y"], [[i, 7] for i in range(9)])
    return ["--data", "flat.csv", "--range", "y"]


def missing_column(root):
    numbers_table(root)
    return ["--data", "numbers.csv", "--classes", "wya"]


def no_target(root):
    numbers_table(root)
    return ["--data", "numbers.csv"]


def column_of_a_folder(root):
    layouts.write_image_folder(root / "pets")
    return ["--data", "pets", "--classes", "style"]


def wrong_size(root):
    layouts.write_image_folder(root / "pets")
    return ["--data", "pets", "--size", "0"]


def two_data_sets(root):
    layouts.write_cub200(root)
    layouts.write_mnist(root)
    return ["--data", "."]


MISTAKES = {
    broken_image: "Replace it, or use --skip-corrupt to leave such images out",
    unseen_label: 'got "sideways" (1 unseen in 1 of 1 rows)',
    constant_target: '"y" must vary in the training data; got 7 in all of',
    missing_column: 'must have a column "wya". Did you mean "way"?',
    no_target: "--classes must name a column to predict, or --number; got none in either",
    column_of_a_folder: 'Unknown option for reading "image-folder" "classes"',
    lambda root: ["--data", "nowhere"]: '"nowhere" must be an existing folder or file of data',
    lambda root: ["pets"]: '"pets" must come after an option. hyperproto train --data pets',
    lambda root: [
        "--backbone",
        "mlp",
        "--backbone-options",
        "hidden=8",
        "in_features=64",
    ]: "`hidden` must be a list",
    wrong_size: "--size must be at least 1; got 0",
    lambda root: ["--epochs", "0"]: "--epochs must be at least 1; got 0",
    lambda root: [
        "--space",
        "conventional",
        "--dim",
        "3",
    ]: "--prototypes, --prior and --dim must be left out of a conventional space",
    two_data_sets: 'got "cub-200-2011", "mnist". Choose one by --reader',
    lambda root: ["--resume", "nowhere"]: '"nowhere" must hold a run',
    lambda root: [
        "--resume",
        "x",
        "--batch-size",
        "3",
    ]: "--batch-size must be left out with --resume, which reads it from the run",
    lambda root: [
        "--bounds",
        "year=1",
    ]: '--bounds must be COLUMN=LOW:HIGH, such as year=1500:1900; got "year=1"',
    lambda root: [
        "--backbone",
        "mlp",
        "--backbone-options",
        "deep",
    ]: '--backbone-options must be KEY=VALUE, such as depth=8; got "deep"',
    lambda root: ["--backbone", "resnet-9", "--epochs", "1"]: 'Did you mean "resnet-8"',
    lambda root: [
        "--backbone-options",
        "depth=8",
    ]: "--backbone-options must come with a named --backbone.",
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda make: make.__name__.strip("<>"))
def test_a_mistake_prints_one_sentence_and_leaves_nothing_behind(capsys, tmp_path, mistake):
    code, out, err = run(capsys, "train", *mistake(tmp_path))
    assert (code, out) == (2, "")
    assert MISTAKES[mistake] in err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("runs/*"))


def test_unseen_labels_and_corrupt_images_are_left_out_where_asked(capsys, tmp_path):
    assert (
        run(capsys, "train", *unseen_label(tmp_path), "--unseen", "missing", "--epochs", "1")[0]
        == 0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, err = run(
            capsys, "train", *broken_image(tmp_path), "--skip-corrupt", "--held-out", "0"
        )
    assert code == 0
    assert "pets: 9 examples to train on, nothing to measure on" in out
    assert "Nothing to measure on, so no measures" in out
    assert err == (
        f'hyperproto: 1 of 10 images cannot be read and are left out; the first is "{tmp_path}/pets/dog/2.png".\n'
    )


def test_a_run_is_resumed_where_its_data_were_moved(capsys, tmp_path):
    numbers_table(tmp_path)
    command = [
        "train",
        "--data",
        "numbers.csv",
        "--classes",
        "way",
        "--range",
        "amount",
        "-o",
        "run",
    ]
    assert (
        run(capsys, *command, "--epochs", "2", "--patience", "1", "--monitor", "amount/mae")[0] == 0
    )
    Path("numbers.csv").rename("moved.csv")
    code, _, err = run(capsys, "train", "--resume", "run")
    assert code == 2
    assert "If they were moved, give --data PATH" in err
    assert run(capsys, "train", "--resume", "run", "--data", "moved.csv")[0] == 0


def test_digits_are_trained_stored_and_resumed_like_everything_else(capsys):
    assert run(capsys, "train", "--epochs", "1", "--dim", "3", "-o", "digits")[0] == 0
    code, out, _ = run(capsys, "train", "--resume", "digits")
    assert code == 0
    assert "1,348 examples to train on, 449 to measure on; digit-net" in out


def test_ctrl_c_says_by_which_command_to_go_on(capsys, tmp_path, monkeypatch):
    end_epoch = Keeper.end_epoch
    interrupted = lambda *given: signal.raise_signal(signal.SIGINT) or end_epoch(*given)  # noqa: E731
    monkeypatch.setattr(Keeper, "end_epoch", interrupted)
    code, _, err = run(
        capsys, "train", "--epochs", "2", "--dim", "3", "--folder", str(tmp_path / "mine")
    )
    assert code == 130
    command = f"hyperproto train --resume {tmp_path / 'mine'}"
    assert err == f"hyperproto: Stopped after epoch 1. Continue with resume=True, or: {command}\n"


def test_two_processes_train_as_one_does(capsys, tmp_path):
    numbers_table(tmp_path)
    command = [
        "train",
        "--data",
        "numbers.csv",
        "--classes",
        "way",
        "--range",
        "amount",
        "--epochs",
        "1",
    ]
    command += ["--batch-size", "10"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc_per_node=2",
        f"--master_port={port}",
    ]
    paths = os.pathsep.join([str(ROOT / "src"), *sys.path])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    command = [*launch, "-m", "hyperproto.cli.main", *command]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Measured:") == 1
    assert [path.name for path in Path("runs").iterdir()] == ["numbers-1"]
    metrics = json.loads(Path("runs/numbers-1/metrics.json").read_text())
    assert set(metrics) == {"way/accuracy", "amount/mae"}
    with safe_open("runs/numbers-1/checkpoint.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["state"])["machine"]["processes"] == 2


def test_classes_weigh_by_how_rare_they_are(capsys, tmp_path):
    table = str(numbers_table(tmp_path))
    command = ["train", "--table", table, "--classes", "way", "--columns", "y", "--epochs", "1"]
    assert run(capsys, *command, "--class-weight", "balanced")[0] == 0
    (folder,) = Path("runs").iterdir()
    weights = hp.load(folder).space.tasks["way"].class_weight
    assert len(weights) == 2
    assert weights[0] != weights[1]
    assert run(capsys, "train", "--resume", str(folder))[0] == 0


def write_things(path, kinds, rows=40):
    """Write a table of two numbers and a word, and classes that follow from the first number."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(rows, 2, generator=generator).tolist()
    cells = [
        [f"{x:.3f}", f"{y:.3f}", "ab"[y > 0], kinds[int(x > 0) + int(x > 1)]] for x, y in values
    ]
    return layouts.write_csv(path, ["x", "y", "word", "kind"], cells)


def test_a_run_is_trained_longer_and_that_to_the_same_bits(capsys, tmp_path, monkeypatch):
    write_things(tmp_path / "things.csv", ["low", "mid", "high"])
    command = [
        "train",
        "--table",
        "things.csv",
        "--classes",
        "kind",
        "--batch-size",
        "8",
        "--epochs",
        "2",
    ]
    for name in ("whole", "cut"):
        assert run(capsys, *command, "-o", name)[0] == 0
    first = read_run("whole").history
    assert run(capsys, "train", "--resume", "whole", "--epochs", "5")[0] == 0
    assert read_run("whole").finished
    assert run(capsys, "train", "--resume", "whole", "--epochs", "5")[1].startswith(
        "whole is finished: 5 epochs"
    )
    history, steps = read_run("whole").history, 4
    assert history[:2] == first
    peak = read_run("whole").settings["lr"]
    expected = [
        peak * SCHEDULES["one-cycle"](((epoch + 1) * steps - 1) / (5 * steps))
        for epoch in range(2, 5)
    ]
    assert [record["lr"] for record in history[2:]] == pytest.approx(expected)
    save = Keeper.save
    calls = []

    def cut(self, run, losses, epoch, step):
        save(self, run, losses, epoch, step)
        calls.append(epoch)
        if epoch == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Keeper, "save", cut)
    assert run(capsys, "train", "--resume", "cut", "--epochs", "5")[0] == 130
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert calls == [3, 4]
    assert not read_run("cut").finished
    assert run(capsys, "train", "--resume", "cut")[0] == 0
    assert read_run("cut").history == history
    assert Path("cut/last.safetensors").read_bytes() == Path("whole/last.safetensors").read_bytes()
    code, _, err = run(capsys, "train", "--resume", "cut", "--epochs", "3")
    assert (code, err) == (2, "hyperproto: --epochs must be more than the 5 of the run; got 3.\n")


def test_the_network_of_a_run_learns_another_table(capsys, tmp_path):
    write_things(tmp_path / "things.csv", ["low", "mid", "high"])
    write_things(tmp_path / "others.csv", ["a", "b", "b"], rows=20)
    assert (
        run(
            capsys,
            "train",
            "--table",
            "things.csv",
            "--classes",
            "kind",
            "-o",
            "first",
            "--epochs",
            "3",
        )[0]
        == 0
    )
    command = [
        "train",
        "--table",
        "others.csv",
        "--classes",
        "kind",
        "--from",
        "first",
        "--epochs",
        "1",
    ]
    code, out, err = run(capsys, *command, "--lr", "1e-9", "-o", "second")
    assert (code, err) == (0, "")
    assert 'The network of "' in out
    before, after = read_run("first").config, read_run("second").config
    assert after["preprocessing"] == before["preprocessing"]
    assert after["space"]["tasks"][0]["classes"] == ["a", "b"]
    assert after["network"]["hidden"] == before["network"]["hidden"]
    old, new = (load_file(f"{name}/last.safetensors") for name in ("first", "second"))
    torch.testing.assert_close(new["network.layers.0.weight"], old["network.layers.0.weight"])
    assert run(capsys, *command, "-o", "third")[0] == 0
    assert read_run("third").settings["lr"] == before["settings"]["lr"], (
        "rows learn at the usual rate"
    )
    layouts.write_image_folder(tmp_path / "pets")
    code, _, err = run(capsys, "train", "--data", "pets", "--from", "first", "--held-out", "0.4")
    assert code == 2
    assert "The data must be rows of a table, as those of" in err
    code, _, err = run(capsys, *command[:5], "--weights", "pretrained")
    assert code == 2
    assert '--weights must be a file or a run for a network without features; got "mlp"' in err


def test_the_network_of_a_run_learns_other_images(capsys, tmp_path):
    layouts.write_image_folder(tmp_path / "pets")
    command = ["train", "--data", "pets", "--held-out", "0.4", "--epochs", "1", "--workers", "0"]
    small = ["--backbone", "resnet", "--backbone-options", "depth=8", "width=4", "--size", "16"]
    assert run(capsys, *command, *small, "-o", "first")[0] == 0
    assert run(capsys, *command, "--from", "first", "-o", "second")[0] == 0
    before, after = read_run("first").config, read_run("second").config
    assert after["network"] == before["network"]
    assert after["preprocessing"] == before["preprocessing"]
    assert after["settings"]["lr"] == pytest.approx(before["settings"]["lr"] / 1000)
