"""How soon the command line answers, against importing torch."""

import subprocess
import sys

from benchmarks.timing import compare


def start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for arguments in (["--help"], ["place", "--help"]):
        command = f"import sys; sys.argv = ['hyperproto'] + {arguments}; from hyperproto.cli.main import main; main()"
        mine, theirs, ratio = compare(lambda c=command: start(c), lambda: start("import torch"), rounds=7)
        rows.append(
            {
                "command": "hyperproto " + " ".join(arguments),
                "ours, s": round(mine, 3),
                "import torch, s": round(theirs, 3),
                "times faster": round(ratio, 1),
            }
        )
    return "Start of the command line", rows
