"""Start the server, and stop it such that nothing is lost."""

import asyncio
import re
import socket
import sys
from pathlib import Path

import uvicorn

from ..._core.checks import check_finite_number, check_integer
from ..._core.errors import InputError, arg
from ..predictor import Predictor
from .app import make_app
from .gate import LOOPBACK, Gate
from .options import ServeOptions

# seconds in which requests that were on their way are refused in words, before connections are
# closed
GRACE = 0.5


class _Server(uvicorn.Server):
    """A server that, told to stop, first refuses what is new and finishes what it has."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gate.stopping = True
        await asyncio.sleep(GRACE)
        while self._gate.posts and not self.force_exit:  # each ends by its timeout
            await asyncio.sleep(0.01)
        await super().shutdown(sockets)


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
    config = uvicorn.Config(
        gate,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        limit_concurrency=4 * options.most_requests,  # connections
        timeout_graceful_shutdown=round(options.timeout) + 1,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, options.port), family=family, backlog=1024)
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
        try:
            _Server(config, gate).run(sockets=[listener])
        except KeyboardInterrupt:
            print("Stopped; every request was answered.", file=sys.stderr)
