"""Writing files: what a kill, a full disk or another process may do, and what stays as it was."""

import os
import resource
import signal
from contextlib import contextmanager

import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import StorageError
from hyperproto._core.files import append_json_line, owning, replacing, write_json


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
    with full_disk(), pytest.raises(StorageError, match=r"written \(File too large\); got a disk with .* Make room"):
        hp.place(4, 3).save(path)
    with full_disk(), pytest.raises(StorageError, match="File too large"):
        write_json(path, torch.arange(30).tolist())
    assert path.read_bytes() == before
    assert names(tmp_path) == ["p.safetensors"]
    with full_disk(0), pytest.raises(StorageError, match="File too large"):
        append_json_line(tmp_path / "lines.jsonl", "line")


def test_what_is_wrong_with_another_file_is_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(FileNotFoundError, match="No prototype file"), replacing(tmp_path / "a.txt"):
        hp.Prototypes.load(tmp_path / "nothing")
    with pytest.raises(KeyError), replacing(tmp_path / "a.txt"):
        raise KeyError("mine")
    assert names(tmp_path) == []


def test_a_folder_belongs_to_one_process_at_a_time(tmp_path):
    with owning(tmp_path):
        code = os.waitstatus_to_exitcode(os.waitpid(start(lambda: owning(tmp_path).__enter__()), 0)[1])
    assert code == 1
    assert os.waitstatus_to_exitcode(os.waitpid(start(lambda: owning(tmp_path).__enter__()), 0)[1]) == 0


def start(work):
    """Start a process that ends with 1 where something is refused."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except ValueError:
            os._exit(1)
        os._exit(0)
    return process
