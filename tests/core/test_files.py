"""Writing files: what a kill, a full disk or another process may do, and what stays as it was."""

import errno
import json
import os
import resource
import signal
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import HyperprotoError, InputError, MissingDataError, StorageError
from hyperproto._core.files import owning, read_json, read_text, replacing, write_json
from hyperproto._core.folders import filling, whole
from hyperproto.data import read_source
from hyperproto.evaluation import calibrate_run, list_runs
from hyperproto.models import create_backbone, load_weights
from hyperproto.runtime.csv_files import read_table
from hyperproto.runtime.images import ImagePreprocessing, decode
from hyperproto.training import resume_run
from hyperproto.training.checkpoint import read_checkpoint
from hyperproto.training.folder import take_folder


def killed(work):
    """Do something in a process that is killed at the end of it, if it gets there."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)


@contextmanager
def full_disk(size=50):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def half_written(path):
    def work():
        with replacing(path) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    return work


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_next_file_removes_what_a_killed_process_left(tmp_path):
    killed(half_written(tmp_path / "a.json"))
    assert len(names(tmp_path)) == 1
    (tmp_path / ".download.part").write_text("of another program")
    write_json(tmp_path / "b.json", 1)
    assert names(tmp_path) == [".download.part", "b.json"]


def test_an_empty_file_that_a_library_left_beside_a_temporary_one_is_removed_too(tmp_path):
    def work():
        with replacing(tmp_path / "a.safetensors") as temporary:
            temporary.with_name(
                ".tmpAbC123"
            ).touch()  # as safetensors does before it writes the first byte
            os.kill(os.getpid(), signal.SIGKILL)

    killed(work)
    write_json(tmp_path / "b.json", 1)
    assert names(tmp_path) == ["b.json"]


def test_what_a_removal_that_was_killed_left_is_removed_too(tmp_path):
    (tmp_path / ".hyperproto-def.part").mkdir()
    (tmp_path / ".hyperproto-def.part" / "new").write_text("{")
    write_json(tmp_path / "b.json", 1)
    assert names(tmp_path) == ["b.json"]


@pytest.mark.parametrize("content", [b"", b"of another", b"\x40\0\0\0\0\0\0\0{"])
def test_a_foreign_file_called_like_a_temporary_one_of_tensors_stays(tmp_path, content):
    killed(half_written(tmp_path / "a.json"))
    (tmp_path / ".tmpAbC123").write_bytes(content)
    write_json(tmp_path / "b.json", 1)
    assert names(tmp_path) == [".tmpAbC123", "b.json"]


def test_a_folder_of_somebody_else_is_no_leftover(tmp_path):
    mine = tmp_path / ".hyperproto-mine.part"
    mine.mkdir()
    (mine / "notes.txt").write_text("keep me")
    write_json(tmp_path / "a.json", {})
    assert [path.name for path in mine.iterdir()] == ["notes.txt"]


def test_a_link_in_a_leftover_creates_no_file_outside(tmp_path):
    (tmp_path / "mine" / ".hyperproto-abc.part").mkdir(parents=True)
    (tmp_path / "mine" / ".hyperproto-abc.part" / "lock").symlink_to(tmp_path / "outside")
    (tmp_path / "mine" / ".hyperproto-def.part").symlink_to(tmp_path)
    write_json(tmp_path / "mine" / "b.json", 1)
    assert names(tmp_path) == ["mine"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_any_other_and_the_umask_is_never_touched(
    tmp_path, monkeypatch, mask
):
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patched:
            patched.delattr(os, "umask")
            hp.place(3, 2).save(tmp_path / "p.safetensors")  # the library makes private files
    finally:
        os.umask(before)
    assert (tmp_path / "p.safetensors").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_file_that_is_still_written_is_no_leftover(tmp_path):
    with replacing(tmp_path / "a.txt") as first:
        first.write_text("whole")
        write_json(tmp_path / "b.json", 1)
        assert first.read_text() == "whole"
    assert names(tmp_path) == ["a.txt", "b.json"]


def test_a_child_does_not_keep_the_lock_of_a_parent_that_is_gone(tmp_path):
    read, write = os.pipe()

    def work():
        with replacing(tmp_path / "a.txt"):
            if os.fork() == 0:  # as the workers of a data loader
                os.close(write)
                os.read(read, 1)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)

    killed(work)
    os.close(read)
    write_json(tmp_path / "b.json", 1)
    os.close(write)
    assert names(tmp_path) == ["b.json"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    path = tmp_path / ("x" * 250 + ".json")
    write_json(path, 1)
    assert path.read_text() == "1\n"


def test_a_full_disk_gets_a_sentence_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "p.safetensors"
    hp.place(3, 2).save(path)
    before = path.read_bytes()
    with (
        full_disk(),
        pytest.raises(
            StorageError, match=r"written \(File too large\); got a disk with .* Make room"
        ),
    ):
        hp.place(4, 3).save(path)
    with full_disk(), pytest.raises(StorageError, match="File too large"):
        write_json(path, torch.arange(30).tolist())
    assert path.read_bytes() == before
    assert names(tmp_path) == ["p.safetensors"]


def test_what_is_wrong_with_another_file_is_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(FileNotFoundError, match="No prototype file"), replacing(tmp_path / "a.txt"):
        hp.Prototypes.load(tmp_path / "nothing")
    with pytest.raises(KeyError), replacing(tmp_path / "a.txt"):
        raise KeyError("mine")
    assert names(tmp_path) == []


def test_a_folder_belongs_to_one_process_at_a_time(tmp_path):
    with owning(tmp_path):
        code = os.waitstatus_to_exitcode(
            os.waitpid(start(lambda: owning(tmp_path).__enter__()), 0)[1]
        )
    assert code == 1
    assert (
        os.waitstatus_to_exitcode(os.waitpid(start(lambda: owning(tmp_path).__enter__()), 0)[1])
        == 0
    )


def start(work):
    """Start a process that ends with 1 where something is refused."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except HyperprotoError:
            os._exit(1)
        os._exit(0)
    return process


CALLS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.chmod",
    "os.rmdir",
    "shutil.rmtree",
    "shutil.copyfile",
}


def killed_at(call, work):
    """Do something in a process that is killed at its n-th call of the file system; return whether
    it was.
    """

    def hook(event, args):
        nonlocal call
        if event in CALLS:
            call -= 1
            if call < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    process = os.fork()
    if process == 0:
        sys.addaudithook(hook)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def fill(folder, files, *, overwrite):
    def names_of(path):
        return json.loads(path.read_text())["files"] if overwrite else ()

    with filling(folder, "closing.json", names_of) as place:
        for name, text in files.items():
            (place / name).write_text(text)
        write_json(place / "closing.json", {"files": ["closing.json", *files]})


def held(folder):
    return {path.name: path.read_text() for path in whole(folder).iterdir() if path.is_file()}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_is_filled_is_whole_at_every_moment(tmp_path, overwrite):
    old, new = {"a": "old", "b": "old"}, {"a": "new", "c": "new"}
    fill(tmp_path / "old", old, overwrite=False)
    fill(tmp_path / "new", new, overwrite=False)
    before, after = held(tmp_path / "old"), held(tmp_path / "new")
    seen, call = [], 0
    while True:
        folder = tmp_path / f"killed{call}"
        if overwrite:
            fill(folder, old, overwrite=False)
        was_killed = killed_at(call, partial(fill, folder, new, overwrite=overwrite))
        if overwrite:
            found = {
                name: text
                for name, text in held(folder).items()
                if name in {"closing.json", *before, *after}
            }
            seen.append(found.keys() & {"b", "c"})
            assert found in (before, after), call
        if was_killed:
            with suppress(InputError):  # that it is not empty, where it was whole already
                fill(folder, new, overwrite=overwrite)
        assert held(folder) == after, call
        assert names(folder) == sorted(after), call
        call += 1
        if not was_killed:
            break
    assert call > 20
    assert not overwrite or (seen[0], seen[-1]) == ({"b"}, {"c"})


def test_a_disk_with_no_room_for_a_folder_gets_a_sentence_and_leaves_none(tmp_path, monkeypatch):
    make = Path.mkdir

    def only_the_first(path, *args, **options):
        if path.parent != tmp_path:
            raise OSError(errno.ENOSPC, "No space left on device")
        make(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", only_the_first)
    with pytest.raises(StorageError, match=r"No space left on device\); got a disk .* Make room"):
        fill(tmp_path / "model", {"a": "new"}, overwrite=False)
    assert not any(tmp_path.iterdir())


def test_filling_a_folder_removes_no_file_of_the_user_and_fails_without_a_trace(tmp_path):
    fill(tmp_path / "model", {"a": "old"}, overwrite=False)
    with pytest.raises(ValueError, match="must be new or empty"):
        fill(tmp_path / "model", {"a": "new"}, overwrite=False)
    killed_at(5, partial(fill, tmp_path / "model", {"a": "new"}, overwrite=True))
    with pytest.raises(ValueError, match="must be new or empty"):
        fill(
            tmp_path / "model", {"a": "new"}, overwrite=False
        )  # that is not the call that was killed
    (tmp_path / "model" / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="must be new or empty"):
        fill(tmp_path / "model", {"a": "new"}, overwrite=True)
    assert held(tmp_path / "model").items() >= {"a": "old", "thesis.tex": "mine"}.items()
    with (
        full_disk(),
        pytest.raises(
            StorageError, match=r"written \(File too large\); got a disk with .* Make room"
        ),
    ):
        fill(tmp_path / "other", {"a": "new" * 50}, overwrite=False)
    assert names(tmp_path) == ["model"]


READERS = {
    "pipe.png": lambda path: decode(path, ImagePreprocessing(8)),
    "pipe.csv": read_table,
    "pipe.json": read_json,
    "pipe.txt": read_text,
    "spec.json": lambda path: take_folder(path.parent),
    "checkpoint.safetensors": read_checkpoint,
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    process = start(
        lambda: (signal.alarm(10), READERS[name](tmp_path / name))
    )  # which ends what does not return
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 1
    with pytest.raises((InputError, MissingDataError)) as caught:
        READERS[name](tmp_path / name)
    assert name in caught.value.argument


PATHS = {
    "a null byte": "a\0b.csv",
    "a long name": "x" * 300 + ".csv",
    "a surrogate": "\ud800.csv",
    "long": "x/" * 3000,
}
USES = {
    "load": hp.load,
    "Prototypes.load": hp.Prototypes.load,
    "from_npy": hp.Prototypes.from_npy,
    "save": lambda path: hp.place(3, 2).save(path),
    "read_source": lambda path: read_source(path, classes=["side"]),
    "taxonomy": lambda path: hp.priors.from_taxonomy(path, ("cat", "dog")),
    "prior": lambda path: hp.place(["cat", "dog", "cow"], 2, prior=path),
    "weights": lambda path: load_weights(create_backbone("resnet-8", out_dim=3), path),
    "list_runs": lambda path: list(list_runs(path)),
    "resume": resume_run,
    "fit": lambda path: hp.fit(
        torch.nn.Linear(2, 3), hp.Space(3, hp.Classes(3)), TINY, epochs=1, folder=path
    ),
    "calibrate": calibrate_run,
}
TINY = (torch.eye(3)[:, :2], torch.arange(3))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_path_that_cannot_be_is_a_sentence(tmp_path, monkeypatch, use, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        HyperprotoError, match=r"A path must be one that the system allows \(.*\). Choose another"
    ) as caught:
        USES[use](path)
    str(caught.value).encode()  # it can be printed
    assert not names(tmp_path)
