"""A run that was cut off anywhere ends in the bits of one that was not."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import hyperproto as hp
from hyperproto.training import DataSpec, RunSpec, read_run, rebuild
from hyperproto.training.folder import RunFolder
from tests.training.conftest import make_blobs, make_network
from tests.training.lives import KINDS

ROOT = Path(__file__).parents[2]
TIMES = {"times.jsonl"}


def contents(folder):
    """Return every file but the times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in TIMES}


@pytest.fixture(scope="module")
def lives(tmp_path_factory):
    """Run every kind without a break and three times with deaths, in one process that imports torch
    once.
    """
    folder = tmp_path_factory.mktemp("lives")
    command = [sys.executable, "-m", "tests.training.lives", str(folder), "3"]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_killed_at_random_ends_in_the_same_bits(lives, kind):
    folder, deaths = lives[0] / kind, lives[1][kind]
    assert sum(deaths) >= 6
    unbroken = contents(folder / "unbroken")
    assert {
        "config.json",
        "last.safetensors",
        "best.safetensors",
        "epochs.jsonl",
        "metrics.json",
    } <= set(unbroken)
    for seed in range(len(deaths)):
        broken = contents(folder / f"broken{seed}")
        assert set(broken) == set(unbroken)
        for name, held in unbroken.items():
            assert broken[name] == held, name


def fit(folder, *, hook=None, after=-1, blobs=None, **settings):
    """Train, and call ``hook`` after so many steps."""
    space = hp.Space(3, kind=hp.Classes(["a", "b", "c"]), size=hp.Range(-1, 1))
    seen = []

    def observe(z, targets):
        seen.append(len(z))
        if len(seen) == after:
            hook()

    space.observe = observe
    data = make_blobs() if blobs is None else blobs
    settings = {"epochs": 3, "batch_size": 30, **settings}
    return hp.fit(
        make_network(), space, data, valid=make_blobs(40, seed=1), folder=folder, **settings
    )


def test_a_full_disk_leaves_the_last_checkpoint_and_a_sentence(tmp_path):
    fit(tmp_path / "whole")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(
            OSError,
            match=r'safetensors" must be a file that can be written \(File too large\); got a disk with .* MB',
        ) as caught:
            fit(
                tmp_path / "full",
                hook=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard)),
                after=6,  # within the second epoch
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert r"The last checkpoint (epoch 2, 0 steps done) is intact: make room" in str(caught.value)
    assert not list((tmp_path / "full").glob(".*"))  # nothing half written is left
    load_file(tmp_path / "full" / "last.safetensors")
    fit(tmp_path / "full", resume=True)
    assert contents(tmp_path / "full") == contents(tmp_path / "whole")


def test_a_full_disk_at_the_start_gets_a_sentence_too(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
        with pytest.raises(
            OSError, match="can be written .File too large.*Nothing can be resumed yet"
        ):
            fit(tmp_path / "full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_end_is_followed_after_the_step_with_a_checkpoint(tmp_path, number):
    fit(tmp_path / "whole")
    previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        ends, sentence = (
            (
                KeyboardInterrupt,
                "Stopped in epoch 2 after step 2. Continue with .*hyperproto train --resume",
            )
            if number == signal.SIGINT
            else (SystemExit, "143")
        )
        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(ends, match=sentence):
            fit(tmp_path / "run", hook=lambda: signal.raise_signal(number), after=6)
        assert signal.getsignal(signal.SIGINT) is before
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert len(read_run(tmp_path / "run").history) == 1
    assert not read_run(tmp_path / "run").finished
    run = fit(tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    lines = (tmp_path / "run" / "times.jsonl").read_text().splitlines()
    assert [json.loads(line)["steps"] for line in lines] == [4, 2, 4]
    assert run.history == read_run(tmp_path / "whole").history


def test_without_a_folder_signals_are_left_alone():
    with pytest.raises(KeyboardInterrupt):
        fit(None, hook=lambda: signal.raise_signal(signal.SIGINT), after=2)


def test_resuming_what_is_finished_changes_nothing_and_gives_the_run_back(tmp_path):
    first = fit(tmp_path / "run")
    before = contents(tmp_path / "run")
    again = fit(tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == before
    assert again.history == first.history
    for mine, theirs in zip(again.network.parameters(), first.network.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_run_killed_at_its_start_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(
        hp.Prototypes, "save", lambda self, path: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["config.json"]
    monkeypatch.undo()
    (tmp_path / "run" / ".hyperproto-abc.part").mkdir()
    (tmp_path / "run" / "prototypes.0.safetensors").write_text("cut short")
    with pytest.raises(ValueError, match="must be resumed as it was started"):
        fit(tmp_path / "run", resume=True, epochs=7)
    fit(tmp_path / "run", resume=True)
    fit(tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_run_killed_before_its_config_leaves_no_trouble(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".hyperproto-abc.part").mkdir()
    fit(tmp_path / "run", resume=True)
    fit(tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


THEIRS = {
    "one file called like ours": {"prototypes.0.safetensors": "mine"},
    "a name that only begins like ours": {"prototypes.final.safetensors": "mine"},
    "a saved model": {
        "prototypes.0.safetensors": "mine",
        "estimator.json": "{}",
        "last.safetensors": "mine",
    },
    "a temporary file of another program": {".download.part": "mine"},
    "a description of another kind": {"spec.json": '{"flour": 500}'},
    "features of the user next to a description": {
        "spec.json": json.dumps(RunSpec(data=DataSpec(reader="table", path="blobs.csv")).to_dict()),
        "features.safetensors": "mine",
    },
    "a recipe": {"recipe.json": '{"flour": 500}'},
    "something next to a run that was killed": {".hyperproto-abc.part": "{", "thesis.tex": "mine"},
}


@pytest.mark.parametrize("files", THEIRS.values(), ids=THEIRS)
@pytest.mark.parametrize("resume", [True, False])
def test_training_into_a_folder_with_files_of_the_user_removes_none(tmp_path, files, resume):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    with pytest.raises(ValueError, match="must be new or empty|must be the description of a run"):
        fit(folder, resume=resume)
    assert {path.name: path.read_text() for path in folder.iterdir()} == files


def test_a_run_that_is_refused_because_it_is_complete_keeps_no_leftover(tmp_path):
    fit(tmp_path / "run")
    whole = sorted((tmp_path / "run").iterdir())
    (tmp_path / "run" / ".hyperproto-abc.part").mkdir()
    with pytest.raises(ValueError, match="must be new or empty"):
        fit(tmp_path / "run", resume=False)
    assert sorted((tmp_path / "run").iterdir()) == whole


def test_resuming_leaves_temporary_files_of_other_programs_alone(tmp_path):
    fit(tmp_path / "run")
    (tmp_path / "run" / ".download.part").write_text("mine")
    fit(tmp_path / "run", resume=True)
    assert (tmp_path / "run" / ".download.part").read_text() == "mine"


def test_a_line_cut_short_does_not_hide_the_others(tmp_path):
    fit(tmp_path / "run")
    lines = tmp_path / "run" / "epochs.jsonl"
    lines.write_text(lines.read_text()[:-20])
    assert [record["epoch"] for record in read_run(tmp_path / "run").history] == [0, 1]
    fit(tmp_path / "run", resume=True)
    assert [record["epoch"] for record in read_run(tmp_path / "run").history] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"lr": 0.02},
            r"must be resumed as it was started, with lr=[0-9.]+; got 0\.02\. Choose another folder",
        ),
        ({"epochs": 4}, "with epochs=3; got 4"),
        ({"blobs": make_blobs(90)}, "with data.train=120; got 90"),
        ({"preprocessing": {"kind": "table"}}, "with preprocessing.kind=None; got 'table'"),
    ],
)
def test_resuming_with_something_else_gets_a_sentence(tmp_path, change, sentence):
    fit(tmp_path / "run")
    with pytest.raises(ValueError, match=sentence):
        fit(tmp_path / "run", resume=True, **change)


def test_resuming_with_another_space_or_network_gets_a_sentence(tmp_path, blobs, blob_space):
    settings = {"epochs": 1, "folder": tmp_path / "run"}
    hp.fit(make_network(), blob_space, blobs, **settings)
    renamed = hp.Space(3, kind=hp.Classes(["a", "b", "d"]), size=hp.Range(-1, 1))
    with pytest.raises(ValueError, match=r"with space.tasks.0.classes.2='c'; got 'd'"):
        hp.fit(make_network(), renamed, blobs, resume=True, **settings)
    held = blob_space.prototypes["kind"]
    turned = hp.Prototypes(held.vectors.flip(0), held.certificate, held.names)
    moved = hp.Space(3, kind=hp.Classes(turned), size=hp.Range(-1, 1))
    with pytest.raises(
        ValueError, match="with its own prototypes, prototypes.0.safetensors; got others"
    ):
        hp.fit(make_network(), moved, blobs, resume=True, **settings)
    other = torch.nn.Sequential(torch.nn.Linear(4, 3))
    with pytest.raises(ValueError, match="The weights must fit the network given"):
        hp.fit(other, blob_space, blobs, resume=True, **settings)
    with pytest.raises(
        ValueError, match="`folder` must be that of the run to continue with resume=True"
    ):
        hp.fit(make_network(), blob_space, blobs, epochs=1, resume=True)


def test_a_damaged_checkpoint_gets_a_sentence(tmp_path):
    fit(tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="must be a readable checkpoint"):
        fit(tmp_path / "run", resume=True)
    path.write_bytes((tmp_path / "run" / "last.safetensors").read_bytes())
    with pytest.raises(
        ValueError,
        match="must be a checkpoint of format hyperproto.checkpoint/1; got a file without a format",
    ):
        fit(tmp_path / "run", resume=True)


def test_continuing_on_another_machine_is_remarked_on(tmp_path, monkeypatch):
    def stop():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "run", hook=stop, after=6)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    run = fit(tmp_path / "run", resume=True)
    assert "note" not in run.history[0]
    assert run.history[1]["note"].startswith("continued with threads=77 instead of ")
    assert "note" not in run.history[2]


def test_settings_space_and_network_of_a_run_are_what_resuming_needs(tmp_path, blobs):
    """What ``hyperproto train --resume RUN`` does."""
    folder = tmp_path / "run"
    spec = RunSpec(data=DataSpec(reader="table", path="blobs.csv"))
    fit(RunFolder(folder, spec), preprocessing={"kind": "table", "mean": (1.0, 2.0)})
    record = read_run(folder)
    assert record.spec == spec
    assert record.preprocessing == {"kind": "table", "mean": [1.0, 2.0]}
    assert record.finished
    assert record.metrics == record.history[-1]["valid"]
    assert record.best in record.history
    before = contents(folder)
    network, space = rebuild(folder, network=make_network(seed=5))
    hp.fit(
        network,
        space,
        blobs,
        valid=make_blobs(40, seed=1),
        folder=RunFolder(folder, record.spec),
        resume=True,
        preprocessing=record.preprocessing,
        **record.settings,
    )
    assert contents(folder) == before


def test_a_folder_that_is_removed_under_a_run_is_named(tmp_path):
    with pytest.raises((OSError, ValueError), match="was removed|be a folder to write") as caught:
        fit(tmp_path / "gone", hook=lambda: shutil.rmtree(tmp_path / "gone"), after=6)
    assert "make room" not in str(caught.value)


def test_two_processes_do_not_write_one_folder(tmp_path):
    refused = []

    def second():
        with pytest.raises(ValueError, match="must be used by one process at a time") as caught:
            fit(tmp_path / "run", resume=True)
        refused.append(caught.value)

    fit(tmp_path / "run", hook=second, after=6)
    fit(tmp_path / "whole")
    assert len(refused) == 1
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    fit(tmp_path / "run", resume=True)  # afterwards the folder is free
