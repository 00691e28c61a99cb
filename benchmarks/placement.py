"""Placement from ten prototypes to a million: time, memory, maximum cosine and bound; and against
random draws.

Each case runs in a process of its own, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
import time

CASES = (
    (10, 3, "fast"),
    (100, 3, "balanced"),
    (100, 10, "balanced"),
    (100, 25, "balanced"),
    (200, 50, "balanced"),
    (1000, 64, "balanced"),
    (1000, 128, "balanced"),
    (10_000, 128, "fast"),
    (10_000, 255, "fast"),
    (100_000, 128, "fast"),
    (1_000_000, 128, "fast"),
)


def measure() -> tuple[str, list[dict[str, object]]]:
    return "Placement", [in_own_process(*case) for case in CASES]


def in_own_process(num_classes: int, dim: int, effort: str) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks.placement", str(num_classes), str(dim), effort]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def one(num_classes: int, dim: int, effort: str) -> dict[str, object]:
    import torch

    import hyperproto as hp

    _ = hp.place
    before = peak_gb()
    started = time.perf_counter()
    certificate = hp.place(num_classes, dim, effort=effort).certificate
    seconds = time.perf_counter() - started
    memory = peak_gb() - before
    started = time.perf_counter()
    points = torch.randn(num_classes, dim)
    points /= points.norm(dim=1, keepdim=True)
    bare = time.perf_counter() - started
    return {
        "K": num_classes,
        "D": dim,
        "effort": effort,
        "maximum cosine": round(certificate.max_cosine, 6),
        "bound": round(certificate.bound, 6),
        "seconds": round(seconds, 2),
        "added peak, GB": round(memory, 2),
        "times torch.randn + norm": round(seconds / bare, 1),
        "method": certificate.method.partition(" (")[0],
    }


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    print(json.dumps(one(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
