"""Reading a file of 400,000 word vectors for 100 class names: time against a plain line count, and
memory.

The line count is ``sum(1 for _ in open(path, "rb"))``, timed in turn with the reading. Memory is
the peak that reading adds to a process of its own, which has imported everything before.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import compare

WORDS, DIM, CLASSES = 400_000, 100, 100


def measure() -> tuple[str, list[dict[str, object]]]:
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder))
        return f"Reading {WORDS:,} word vectors of {DIM} dimensions", [row(path) for path in files]


def write_files(folder: Path) -> tuple[Path, ...]:
    """Write the same vectors as text and as word2vec's binary, and the text gzipped; a thousand
    words at a time.
    """
    text, binary = folder / "words.txt", folder / "words.bin"
    rng = np.random.default_rng(0)
    line = "%s " + " ".join(["%.5f"] * DIM) + "\n"
    with text.open("w") as lines, binary.open("wb") as raw:
        raw.write(f"{WORDS} {DIM}\n".encode())
        for first in range(0, WORDS, 1000):
            for index, vector in enumerate(rng.standard_normal((1000, DIM)).astype("<f4"), first):
                lines.write(line % (f"word{index}", *vector.tolist()))
                raw.write(f"word{index} ".encode() + vector.tobytes() + b"\n")
    return text, binary, packed(text)


def packed(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    with path.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)
    return packed


def row(path: Path) -> dict[str, object]:
    rounds = 3 if path.suffix == ".gz" else 9
    mine, theirs, ratio = compare(lambda: read(path), lambda: count_lines(path), rounds=rounds)
    command = [sys.executable, "-m", "benchmarks.word_vectors", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {
        "file": path.name,
        "size, MB": round(path.stat().st_size / 1e6),
        "ours, s": round(mine, 2),
        "line count, s": round(theirs, 2),
        "times the line count": round(1 / ratio, 2),
        "added peak, MB": round(json.loads(done.stdout.splitlines()[-1]), 1),
    }


def read(path: Path) -> None:
    from hyperproto.priors import from_vectors

    from_vectors(path, tuple(f"word{i}" for i in range(0, WORDS, WORDS // CLASSES)), progress=False)


def count_lines(path: Path) -> int:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return sum(1 for _ in file)


def added_peak_mb(path: Path) -> float:
    import rich.console  # noqa: F401 (what a terminal needs is not the reader's)

    import hyperproto.priors  # noqa: F401

    before = peak_mb()
    read(path)
    return peak_mb() - before


def peak_mb() -> float:
    """Return the peak of this process alone; getrusage's would count the process that started it,
    too.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    print(json.dumps(added_peak_mb(Path(sys.argv[1]))))
