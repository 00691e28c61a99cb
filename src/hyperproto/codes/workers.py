"""Worker processes that do not run the caller's script again.

``multiprocessing`` imports the main module into every worker it spawns, which loads torch for nothing and
fails in a script without ``if __name__ == "__main__"``. These workers are told what to call over a pipe.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import IO, Any

__all__ = ["ordered_map"]

Task = tuple[Callable[..., Any], tuple[Any, ...]]


class ordered_map:  # noqa: N801 - used as a function
    """Call functions on their arguments in this process or several, giving results in the order of the tasks.

    Use as a context manager; leaving it ends the processes. One worker means this very process.
    """

    def __init__(self, workers: int) -> None:
        """Start the processes."""
        self._processes = [_start() for _ in range(workers)] if workers > 1 else []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(max(1, workers))

    def __enter__(self) -> "ordered_map":
        """Return the map itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes, whatever they are doing."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.communicate()  # closes the pipes

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Yield ``function(*arguments)`` for each task in turn."""
        if not self._processes:
            return (function(*arguments) for function, arguments in tasks)
        return self._threads.map(self._run, tasks)

    def _run(self, task: Task) -> Any:
        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            succeeded, value = pickle.load(process.stdout)
        finally:
            self._idle.put(process)
        if not succeeded:
            raise value
        return value


def _start() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, sys.path))  # what this process can import, a worker can
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the parent, which then ends the workers
    )


def serve() -> None:
    """Answer tasks from standard input until it closes. What a worker process runs."""
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write into the replies
    while (reply := _answer(requests)) is not None:
        pickle.dump(reply, replies)
        replies.flush()


def _answer(requests: IO[bytes]) -> tuple[bool, Any] | None:
    try:
        function, arguments = pickle.load(requests)
    except EOFError:
        return None
    try:
        return True, function(*arguments)
    except Exception as error:
        return False, error
