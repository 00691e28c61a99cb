"""Start the server, and stop it such that nothing is lost."""

import asyncio
import math
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from ..._core.checks import check_finite_number, check_integer
from ..._core.errors import InputError, arg
from ..predictor import Predictor
from .app import make_app
from .connections import TOGETHER, connections_of, most_connections
from .gate import LOOPBACK, Gate
from .options import ServeOptions

GRACE = 0.5  # seconds in which a server that stops takes new connections, to refuse in words
WAITING = 1024  # connections that the system holds until they are taken
KEEP_ALIVE = 30  # seconds for which a connection is kept that asks nothing
LINGER = 5.0  # and when the server stops


class _Server(uvicorn.Server):
    """A server that, told to stop, first refuses what is new and finishes what it has."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(WAITING)  # while asyncio takes at most TOGETHER of them at a time

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, which is no failure; the second Ctrl-C ends what is not finished."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gate.stopping = True
        await self._wait(GRACE, lambda: True)
        await self._wait(math.inf, lambda: self._gate.posts > 0)  # each ends by its timeout
        for server in self.servers:
            server.close()
        # those that are kept may ask once more, and close
        await self._wait(LINGER, lambda: len(self.server_state.connections) > 0)
        await super().shutdown(sockets)

    async def _wait(self, seconds: float, condition: Callable[[], bool]) -> None:
        """Wait while a condition holds, at most some seconds."""
        end = time.monotonic() + seconds
        while condition() and time.monotonic() < end and not self.force_exit:
            await asyncio.sleep(0.01)


def serve(folder: str | Path, options: ServeOptions | None = None) -> None:
    """Serve an exported model over HTTP until SIGINT (Ctrl-C) or SIGTERM; what was accepted is
    answered first.
    """
    options = ServeOptions() if options is None else options
    host, name = options.host, options.name
    for limit, least in {
        "port": 0,
        "most_bytes": 1,
        "most_json": 1,
        "most_rows": 1,
        "most_requests": 1,
    }.items():
        check_integer(getattr(options, limit), limit, at_least=least)
    check_finite_number(options.timeout, "timeout", above=0)
    if options.port > 65535:
        raise InputError("port", "be at most 65535", options.port)
    found = (
        name
        if name is not None
        else re.sub(r"[^\w.-]", "-", Path(folder).resolve().name) or "model"
    )
    if not re.fullmatch(r"[\w.-]+", found):
        raise InputError("name", "be of letters, digits, and . _ -", repr(found))
    predictor = Predictor(folder, threads=options.threads)
    known = LOOPBACK | {other.lower() for other in options.hosts} if host in LOOPBACK else None
    gate = make_app(predictor, found, options, known)
    most = most_connections(4 * options.most_requests)
    config = uvicorn.Config(
        gate,
        http=connections_of(most, options.timeout),
        log_level="error",  # a refused request is not one of the server
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        backlog=TOGETHER,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=round(options.timeout) + 1,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, options.port), family=family, backlog=WAITING)
    except OSError as error:
        got = f"{host}, {options.port} ({error.strerror or error})"
        raise InputError(
            "port", "be one that is free", got, f"{arg('port', 0)} takes any."
        ) from None
    with opened as listener:
        # without it the body of an answer waits 40 ms for the client to confirm its head
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        where = f"[{host}]" if ":" in host else host
        address = f"http://{where}:{listener.getsockname()[1]}/"
        print(f'Serving "{found}" at {address} (Ctrl-C stops)', file=sys.stderr, flush=True)
        server = _Server(config, gate)
        server.run(sockets=[listener])
        if not server.force_exit:
            print("Stopped; every request was answered.", file=sys.stderr)
