"""Memory and speed of streaming, by the number of files: parent and workers together, shared pages
counted once.

Each set has its own process. The files are a few hundred JPEGs made on the spot, listed over and
over; a pass stops after two thousand images, by when the memory has reached its height. Linux only:
it reads ``smaps_rollup``.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES, SIZES, BATCH, IMAGES = 400, (2_000, 200_000, 1_000_000), 128, 2_048
CASES = ((SIZES[0], 64), (SIZES[1], 64), (SIZES[2], 64), (SIZES[1], 224))


def measure() -> tuple[str, list[dict[str, object]]]:
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        rows = []
        for n, size in CASES:
            command = [
                sys.executable,
                "-m",
                "benchmarks.streaming_memory",
                folder,
                str(n),
                str(size),
            ]
            rows.append(
                json.loads(
                    subprocess.run(command, check=True, capture_output=True, text=True).stdout
                )
            )
    return (
        f"Streaming JPEGs of 320 x 240 pixels with resized crop and flip, batches of {BATCH}, two workers",
        rows,
    )


def make_files(folder: Path) -> None:
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(FILES):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        coarse.resize((320, 240)).save(folder / f"{number}.jpg", quality=90)


def measure_here(folder: Path, n: int, size: int) -> dict[str, object]:
    import torch

    from hyperproto.data import Augment, Batches, ImageData, ImageFiles, ImagePreprocessing, Split

    files = ImageFiles(folder / f"{row % FILES}.jpg" for row in range(n))
    split = Split(files, {"class": torch.zeros(n, dtype=torch.int64)})
    preprocessing = ImagePreprocessing(size=size, resize=size * 8 // 7)
    data = ImageData(
        split,
        preprocessing,
        augment=Augment(flip=True, resized_crop=(0.08, 1.0)),
        keep="stream",
        workers=2,
    )
    before, most, started = megabytes(), 0.0, time.perf_counter()
    for number, _ in enumerate(Batches(data, BATCH, shuffle=True).epoch(0)):
        most = max(most, megabytes())
        if (number + 1) * BATCH >= IMAGES:
            break
    return {
        "files": n,
        "size": size,
        "before, MB": round(before),
        "peak with workers, MB": round(most),
        "images a second": round(IMAGES / (time.perf_counter() - started)),
    }


def megabytes() -> float:
    """Return the memory of this process and its children, each shared page counted once."""
    children = Path("/proc/self/task").glob("*/children")
    ids = ["self", *(child for file in children for child in file.read_text().split())]
    return sum(proportional_set(Path(f"/proc/{process}/smaps_rollup")) for process in ids) / 1024


def proportional_set(file: Path) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    print(json.dumps(measure_here(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
