"""Damage every kind of file, read it, and count what happens: ``python -m tests.attack [KIND ...]
--seed S -n N``.

Anything but success or a sentence of ours is a failure, and is printed with the command that
repeats it. A case may take 10 seconds and 2 GB; cases run in a process of their own, which is
replaced when it dies. The kinds ``kill-...``, ``full-...`` and ``two-...`` break off what writes
files, as ``kills.py`` says; ``--kills`` of them are shared out.
"""

import argparse
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

SECONDS, MEMORY = 10, 2 << 30


def run_cases(
    kind: str, seed: int, cases: range, keep: Path | None = None
) -> tuple[Counter[str], dict[str, str]]:
    """Return counts by outcome, and the first case of each failure."""
    from tests.attack.kills import (  # also all that is read, before processes are forked
        TARGETS,
        WAYS,
        attack,
    )

    way, _, name = kind.partition("-")
    if way in WAYS and name in TARGETS:
        return attack(name, way, seed, cases)
    counts: Counter[str] = Counter()
    failures: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        good = Path(place) / "good"
        good.mkdir()
        process, replies = _start(kind, seed, cases, good, keep)
        case = cases.start
        while case < cases.stop:
            wait = SECONDS if counts else 20 * SECONDS  # the first also writes the good files
            try:
                outcome, text = replies.recv() if replies.poll(wait) else ("hang", f"over {wait} s")
            except EOFError:
                process.join()
                outcome, text = "crash", f"the process ended with {process.exitcode}"
            counts[outcome] += 1
            if outcome not in ("read", "refused"):
                failures.setdefault(f"{outcome}: {text.partition(':')[0]}", f"{case}: {text}")
            case += 1
            if outcome in ("hang", "crash") and case < cases.stop:
                process.kill()
                process, replies = _start(kind, seed, range(case, cases.stop), good, keep)
        process.kill()
        process.join()
    return counts, failures


def _start(
    kind: str, seed: int, cases: range, good: Path, keep: Path | None
) -> tuple[multiprocessing.Process, Connection]:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_work, args=(kind, seed, cases, good, keep, theirs)
    )
    process.start()
    theirs.close()
    return process, ours


def _work(
    kind: str, seed: int, cases: range, good: Path, keep: Path | None, replies: Connection
) -> None:
    from hyperproto._core.errors import HyperprotoError
    from tests.attack.kinds import KINDS
    from tests.attack.mutate import damage

    warnings.simplefilter("ignore")
    if keep is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    target = KINDS[kind]
    marker = good / "which"
    if not marker.exists():
        whole = good / "files"
        whole.mkdir()
        path = target.write(whole)
        if kind != "npz":  # which is not supported
            target.read(
                shutil.copytree(whole, good / "tried"), good / "tried" / path.relative_to(whole)
            )
        marker.write_text(str(path.relative_to(whole)))
    name = marker.read_text()
    content = (good / "files" / name).read_bytes()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for case in cases:
        folder = Path(tempfile.mkdtemp(dir=good))
        shutil.copytree(good / "files", folder, dirs_exist_ok=True)
        (folder / name).write_bytes(damage(content, random.Random(f"{kind} {seed} {case}")))
        if keep is not None:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
        try:
            target.read(folder, folder / name)
            replies.send(("read", ""))
        except BaseException as error:
            ours = isinstance(error, HyperprotoError) or (
                isinstance(error, FileNotFoundError) and error.errno is None
            )
            where, at = "", error.__traceback__
            while at is not None:
                file = at.tb_frame.f_code.co_filename
                where = f"{Path(file).name}:{at.tb_lineno}" if "hyperproto/" in file else where
                at = at.tb_next
            replies.send(
                (
                    "refused" if ours else "fault",
                    f"{type(error).__name__} at {where}: {str(error)[:100]!r}",
                )
            )
            if keep is not None and not ours:
                raise
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="of file (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-n", type=int, default=1000, help="cases of each kind")
    parser.add_argument(
        "--kills", type=int, default=50, help="processes to kill, where all kinds are tried"
    )
    parser.add_argument("--case", type=int, help="repeat one case")
    parser.add_argument(
        "--keep", type=Path, help="folder to keep the damaged files of that case in"
    )
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if len(args.kinds) == 1:
        cases = range(args.n) if args.case is None else range(args.case, args.case + 1)
        counts, failures = run_cases(args.kinds[0], args.seed, cases, args.keep)
        outcomes = "  ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        print(f"{args.kinds[0]:32}{outcomes}  (at most {peak:,} MB)")
        for failure in failures.values():
            print(f"  {args.kinds[0]} --seed {args.seed} --case {failure}", flush=True)
        return int(bool(failures))
    from tests.attack.kills import TARGETS, WAYS
    from tests.attack.kinds import KINDS

    breaks = {f"{way}-{name}": -(-args.kills // len(TARGETS)) for way in WAYS for name in TARGETS}

    def attack(kind: str) -> int:
        cases = str(breaks.get(kind, args.n))
        command = [
            sys.executable,
            "-m",
            "tests.attack",
            kind,
            "--seed",
            str(args.seed),
            "-n",
            cases,
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        print(done.stdout + done.stderr, end="", flush=True)
        return done.returncode

    with ThreadPoolExecutor(args.jobs) as pool:
        return max(pool.map(attack, args.kinds or [*breaks, *KINDS]))


if __name__ == "__main__":
    sys.exit(main())
