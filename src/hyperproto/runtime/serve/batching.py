"""Requests that arrive while the model runs are run together next: one thread, and no waiting when
it is idle.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

import numpy as np

from ..._core.arrays import Array
from ..._core.errors import HyperprotoError
from ..predictor import Predictor
from .gate import RefusedError

Found: TypeAlias = dict[str, Array]
MOST_WAITING = 2**28  # bytes of prepared inputs


class _Job(NamedTuple):
    prepared: Array
    outputs: Sequence[str]
    answer: asyncio.Future[Found]


class Batcher:
    """Runs a model for several requests at a time.

    Parameters
    ----------
    predictor : Predictor
    observe : callable
        Is told how many inputs each run of the model had.
    """

    def __init__(self, predictor: Predictor, observe: Callable[[float], None]) -> None:
        self._predictor, self._observe = predictor, observe
        self._most = predictor.rows_at_once
        self._waiting: deque[_Job] = deque()
        self._bytes = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._work: asyncio.Task[None] | None = None

    async def run(self, prepared: Array, outputs: Sequence[str]) -> Found:
        """Return outputs of ``model.onnx`` for inputs as it takes them, together with what else is
        waiting.
        """
        if self._bytes + prepared.nbytes > MOST_WAITING and self._waiting:
            raise RefusedError(503, "The server is busy: too many inputs are waiting.")
        job = _Job(prepared, outputs, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._bytes += prepared.nbytes
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run_all())
        return await job.answer

    async def _run_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            jobs = self._take()
            if not jobs:
                continue
            try:
                answers = await loop.run_in_executor(self._thread, self._compute, jobs)
            except Exception as error:  # a defect of ours, which must not keep others waiting
                answers = [error] * len(jobs)
            for job, answer in zip(jobs, answers, strict=True):
                if job.answer.done():  # its request took too long
                    continue
                if isinstance(answer, Exception):
                    job.answer.set_exception(answer)
                else:
                    job.answer.set_result(answer)

    def _take(self) -> list[_Job]:
        """Take the next requests, as many as are computed at a time."""
        jobs: list[_Job] = []
        rows = 0
        while self._waiting and (not jobs or rows + len(self._waiting[0].prepared) <= self._most):
            job = self._waiting.popleft()
            self._bytes -= job.prepared.nbytes
            if not job.answer.done():
                jobs.append(job)
                rows += len(job.prepared)
        return jobs

    def _compute(self, jobs: list[_Job]) -> list[Found | Exception]:
        """Run the model once; where that fails, once for each request, so that only those at fault
        fail.
        """
        rows = np.concatenate([job.prepared for job in jobs]) if len(jobs) > 1 else jobs[0].prepared
        names = list(dict.fromkeys(name for job in jobs for name in job.outputs))
        try:
            parts = []
            for start in range(0, len(rows), self._most):
                part = rows[start : start + self._most]
                self._observe(len(part))
                parts.append(self._predictor.run_prepared(part, names))
        except HyperprotoError as error:
            return (
                [error]
                if len(jobs) == 1
                else [answer for job in jobs for answer in self._compute([job])]
            )
        found = {name: np.concatenate([part[name] for part in parts]) for name in names}
        answers: list[Found | Exception] = []
        start = 0
        for job in jobs:
            stop = start + len(job.prepared)
            answers.append({name: found[name][start:stop] for name in job.outputs})
            start = stop
        return answers
