"""How soon the command line answers, and the library in a new process, against importing torch.

The last rows are seconds of one processor in one new process, each after those before it; the least
of five.
"""

import subprocess
import sys

from benchmarks.timing import compare


def start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


FIRST = """
import time
def lap(since=[0.0]):
    now = time.process_time()
    print(now - since[0])
    since[0] = time.process_time()
lap()
import torch
lap()
import hyperproto as hp
hp.Space, hp.fit
lap()
hp.Space(10, hp.Classes(10))
lap()
data = torch.randn(64, 8), torch.arange(64) % 10
hp.fit(torch.nn.Linear(8, 10), hp.Space(10, hp.Classes(10)), data, epochs=1, progress=False)
lap()
"""


def first_calls() -> list[dict[str, object]]:
    """Return what a process pays once, in seconds of one processor."""
    runs = [
        subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True)
        for _ in range(5)
    ]
    _, theirs, *ours = (
        min(times) for times in zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    )
    names = (
        "import hyperproto, after torch",
        "the first hp.Space(...)",
        "the first hp.fit(...), one step",
    )
    return [
        {
            "command": name,
            "ours, s": round(mine, 3),
            "import torch, s": round(theirs, 3),
            "times faster": round(theirs / mine, 1),
        }
        for name, mine in zip(names, ours, strict=True)
    ]


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for arguments in (["--help"], ["place", "--help"]):
        command = f"import sys; sys.argv = ['hyperproto'] + {arguments}; from hyperproto.cli.main import main; main()"
        mine, theirs, ratio = compare(
            lambda c=command: start(c), lambda: start("import torch"), rounds=7
        )
        rows.append(
            {
                "command": "hyperproto " + " ".join(arguments),
                "ours, s": round(mine, 3),
                "import torch, s": round(theirs, 3),
                "times faster": round(ratio, 1),
            }
        )
    return "Start of the command line and of the library", rows + first_calls()
