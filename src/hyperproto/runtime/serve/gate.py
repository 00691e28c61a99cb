"""What every request passes: limits on size, number and time, metrics, and the way out when the
server stops.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeAlias

from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from .options import ServeOptions

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

KNOWN = frozenset(
    {"infer", "predict", "metrics", "live", "ready", "model", ""}
)  # what a metric may call a request
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
IN_MEMORY = 8  # of the longest requests there may be so much in memory
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class RefusedError(Exception):
    """A request that is not answered, with the status and the sentence that say why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status

    def response(self, *, close: bool = False) -> JSONResponse:
        """Return the answer, as the Open Inference Protocol has it."""
        headers = {"retry-after": "1"} if self.status == 503 else {}
        return JSONResponse(
            {"error": str(self)}, self.status, headers | ({"connection": "close"} if close else {})
        )


class JsonBounds(NamedTuple):
    """How much JSON is read: while it is, no other request is answered."""

    most_bytes: int
    most_lists: float  # each takes as long as tens of numbers

    def check(self, body: bytes) -> None:
        """Refuse what is more, before it is read."""
        if len(body) > self.most_bytes:
            got = f"{self.most_bytes:,} bytes; got {len(body):,}"
            raise RefusedError(413, f"The JSON of a request must have at most {got}.")
        if body.count(b"[") > self.most_lists:
            got = f"{self.most_lists:,} lists, as its inputs have"
            raise RefusedError(413, f"The JSON of a request must have at most {got}.")


class Metrics:
    """What ``/metrics`` says, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "hyperproto_requests",
            "Requests that were answered",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "hyperproto_request_seconds",
            "From request to answer",
            ["route"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.rows = Histogram(
            "hyperproto_batch_rows",
            "Inputs per run of the model",
            buckets=ROWS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "hyperproto_requests_in_flight", "Requests not yet answered", registry=self.registry
        )


class Gate:
    """An ASGI application around another: counts, limits, and refuses.

    The body of a POST is read here, so that what is inside gets it whole and never larger than it
    may be.

    Parameters
    ----------
    app : ASGI application
    limits : ServeOptions
    metrics : Metrics
    hosts : set of str, optional
        What requests may call this server: a page elsewhere that had its own name point here is
        refused.
    """

    def __init__(
        self, app: Any, limits: ServeOptions, metrics: Metrics, hosts: frozenset[str] | None = None
    ) -> None:
        self.app, self.limits, self.metrics, self.hosts = app, limits, metrics, hosts
        self.stopping = False
        self.posts = 0  # that are not answered yet
        self._in_memory = 0  # bytes of bodies

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0
        last = scope["path"].rpartition("/")[2]
        route = last if last in KNOWN else "other"

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if message["type"] == "http.response.start":
                message["headers"].append((b"x-content-type-options", b"nosniff"))
                if self.stopping and scope["method"] != "POST":
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        self.metrics.in_flight.inc()
        try:
            await self._pass(scope, receive, noted)
        except RefusedError as error:
            await error.response(close=True)(scope, receive, noted)  # its body may not be read
        except TimeoutError:
            if not status:
                refused = RefusedError(
                    504, f"The answer took more than {self.limits.timeout:g} seconds."
                )
                await refused.response()(scope, receive, noted)
        finally:
            self.metrics.in_flight.dec()
            self.metrics.requests.labels(route, str(status or "gone")).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - started)

    async def _pass(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        host = re.sub(r":\d+$", "", headers.get("host", "")).strip("[]").lower()
        if self.hosts is not None and host not in self.hosts:
            raise RefusedError(
                403, f"This server is called {', '.join(sorted(self.hosts))}; --hosts adds names."
            )
        if scope["method"] != "POST":
            async with asyncio.timeout(self.limits.timeout):
                await self.app(scope, receive, send)
            return
        if self.stopping:
            raise RefusedError(503, "The server is stopping.")
        if self.posts >= self.limits.most_requests:
            raise RefusedError(503, f"The server is busy with {self.posts} requests.")
        if headers.get("content-encoding", "identity") != "identity":
            raise RefusedError(415, "A request must not be compressed.")
        self.posts += 1
        parts: list[bytes] = []
        try:
            if await self._read(headers, receive, parts):
                whole = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

                async def read() -> Message:
                    return whole.pop() if whole else await receive()

                async with asyncio.timeout(self.limits.timeout):
                    await self.app(scope, read, send)
        finally:
            self.posts -= 1
            self._in_memory -= sum(map(len, parts))

    async def _read(self, headers: dict[str, str], receive: Receive, parts: list[bytes]) -> bool:
        """Read a body in parts; False where the client has gone."""
        most, length = self.limits.most_bytes, headers.get("content-length", "0")
        too_large = RefusedError(413, f"A request must have at most {most:,} bytes.")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > most:
            raise too_large
        size, more = 0, True
        try:
            async with asyncio.timeout(self.limits.timeout):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return False
                    part = message.get("body", b"")
                    more, size = message.get("more_body", False), size + len(part)
                    parts.append(part)
                    self._in_memory += len(part)
                    if size > most:
                        raise too_large
                    if self._in_memory > IN_MEMORY * most:
                        raise RefusedError(503, "The server is busy with large requests.")
        except TimeoutError:
            raise RefusedError(
                408, f"The request took more than {self.limits.timeout:g} seconds to arrive."
            ) from None
        return True
