"""Images of requests are decoded in processes of their own, which end where one takes too long.

A process reads ``REQUEST`` and a file from its input, and writes ``REPLY`` and pixels, or what was
wrong as JSON. It ends itself at the deadline, even within a decoder, and when the server is gone.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from queue import SimpleQueue
from typing import IO

import numpy as np

from ..._core.errors import InputError
from ..images import Allowance, ImagePreprocessing, Pixels, center, decode

DEADLINE = 10.0  # seconds for one image
LATE = 1.0  # seconds after which a process is not counted on
TOGETHER = 8  # of the largest images, a request may have as many pixels
PIPE = 2**20  # bytes that a pipe holds, where systems allow that: most files, and all pixels
REQUEST = struct.Struct("<?Q")  # whether another request begins, and the length of a file
REPLY = struct.Struct("<?Q")  # whether it was decoded, and the length of the answer


class Decoders:
    """Processes that decode images, one at a time each."""

    def __init__(self, preprocessing: ImagePreprocessing, most_pixels: int, count: int) -> None:
        self._preprocessing = preprocessing
        told = json.dumps([asdict(preprocessing), most_pixels, DEADLINE])
        self._workers = [_Worker(told) for _ in range(count)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    @property
    def are_late(self) -> bool:
        """Whether each has been at an image for longer than images take."""
        now = time.monotonic()
        return all(now - worker.since > LATE for worker in self._workers)

    def decode(self, sources: Sequence[bytes], given_up: threading.Event) -> Pixels:
        """Return images as the model takes them; stop between two where the request was given
        up.
        """
        form = self._preprocessing
        pixels = np.empty((len(sources), form.size, form.size, form.channels), dtype=np.uint8)
        worker = self._idle.get()
        try:
            for place, source in enumerate(sources):
                if given_up.is_set():
                    raise TimeoutError
                worker.decode(source, pixels[place], is_first=place == 0)
        finally:
            self._idle.put(worker)
        return pixels


class _Worker:
    """One process, which is replaced when it has ended."""

    def __init__(self, told: str) -> None:
        self._command = [sys.executable, "-P", "-m", __name__, told]
        self.since = float("inf")  # when it was given what it has
        self._start()

    def _start(self) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            pipesize=PIPE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._end = weakref.finalize(self, _end, self._process, self._input, self._output)

    def decode(self, source: bytes, pixels: Pixels, *, is_first: bool) -> None:
        """Decode an image into ``pixels``."""
        if self._process.poll() is not None:
            self._restart()
        self.since = time.monotonic()
        try:
            self._input.write(REQUEST.pack(is_first, len(source)))
            self._input.write(source)
            self._input.flush()
            is_decoded, length = REPLY.unpack(self._output.read(REPLY.size))
            if is_decoded:
                self._output.readinto(pixels.data)  # type: ignore[attr-defined]  # it is buffered
                return
            argument, rule, got = json.loads(self._output.read(length))
        except (OSError, struct.error):  # it has ended
            self._restart()
            rule, got = f"be one that is decoded within {DEADLINE:g} seconds", "another"
            raise InputError("The image", rule, got) from None
        finally:
            self.since = float("inf")
        raise InputError(argument, rule, got)

    def _restart(self) -> None:
        self._end()
        self._start()


def _end(process: subprocess.Popen[bytes], *pipes: IO[bytes]) -> None:
    process.kill()
    for pipe in pipes:
        with suppress(OSError):  # what it did not read any more
            pipe.close()
    process.wait()


def main() -> None:
    """Decode what comes in until nothing does."""
    for number in (signal.SIGINT, signal.SIGTERM):  # which are for the server: it has work to end
        signal.signal(number, signal.SIG_IGN)
    about, most_pixels, deadline = json.loads(sys.argv[1])
    preprocessing = ImagePreprocessing(**about)
    source, answer = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(REQUEST.size):
        is_first, length = REQUEST.unpack(head)
        if is_first:
            allowed = Allowance(most_pixels, TOGETHER * most_pixels)
        content = source.read(length)
        _end_after(deadline)
        try:
            square = decode(content, preprocessing, allowed=allowed)
            reply = np.ascontiguousarray(center(square[None], preprocessing.size)).tobytes()
            is_decoded = True
        except InputError as error:
            reply = json.dumps([error.argument, error.rule, str(error.got)]).encode()
            is_decoded = False
        _end_after(0)
        answer.write(REPLY.pack(is_decoded, len(reply)))
        answer.write(reply)
        answer.flush()


def _end_after(seconds: float) -> None:
    """Have the system end this process, wherever it is then; 0 calls that off."""
    if hasattr(signal, "setitimer"):  # Windows has none
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
