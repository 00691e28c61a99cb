"""Two processes learn what one learns."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training import two_processes

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_two_processes_learn_what_one_learns(tmp_path, reduction):
    two_processes.main(str(tmp_path / "one.pt"), reduction)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc_per_node=2",
        f"--master_port={port}",
    ]
    command += ["-m", "tests.training.two_processes", str(tmp_path / "two.pt"), reduction]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    one, two = (torch.load(tmp_path / name, weights_only=True) for name in ("one.pt", "two.pt"))
    torch.testing.assert_close(one["weights"], two["weights"], atol=1e-5, rtol=1e-5)
    for alone, together in zip(one["history"], two["history"], strict=True):
        assert together["valid"] == pytest.approx(alone["valid"], abs=1e-4)
        assert together["loss"] == pytest.approx(alone["loss"], rel=1e-4)
