"""Start the server, and stop it such that nothing is lost."""

import asyncio
import re
import socket
import sys
from pathlib import Path

import uvicorn

from hyperproto_runtime.checks import check_finite_number, check_integer
from hyperproto_runtime.errors import InputError
from hyperproto_runtime.predictor import MOST_PIXELS, Predictor
from hyperproto_runtime.serve.app import make_app
from hyperproto_runtime.serve.gate import LOOPBACK, Gate, Limits

GRACE = 0.5  # seconds in which requests that were on their way are refused in words, before connections are closed


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


def serve(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    hosts: tuple[str, ...] = (),
    threads: int | None = None,
    most_bytes: int = Limits.most_bytes,
    most_pixels: int = MOST_PIXELS,
    most_requests: int = Limits.most_requests,
    timeout: float = Limits.timeout,
) -> None:
    """Serve an exported model over HTTP until SIGINT (Ctrl-C) or SIGTERM; what was accepted is answered first.

    Parameters
    ----------
    folder : path
        The exported model.
    host, port
        Where to listen: on this machine alone unless told otherwise; port 0 is any that is free.
    name : str, optional
        Of the model in addresses (default: that of the folder).
    hosts : tuple of str
        Further names by which requests may call a server that listens on this machine alone, such as behind a proxy.
    threads : int, optional
        How many compute one prediction (default: one for each core).
    most_bytes, most_pixels, most_requests, timeout
        What is refused: larger requests and images, more requests at a time, and slower ones, in seconds.
    """
    check_integer(port, "port", at_least=0)
    if port > 65535:
        raise InputError("port", "be at most 65535", port)
    limits = Limits(
        most_bytes=check_integer(most_bytes, "most_bytes", at_least=1),
        most_requests=check_integer(most_requests, "most_requests", at_least=1),
        timeout=check_finite_number(timeout, "timeout", above=0),
    )
    found = name if name is not None else re.sub(r"[^\w.-]", "-", Path(folder).resolve().name) or "model"
    if not re.fullmatch(r"[\w.-]+", found):
        raise InputError("name", "be of letters, digits, and . _ -", repr(found))
    predictor = Predictor(folder, threads=threads, most_pixels=most_pixels)
    local = host in LOOPBACK
    gate = make_app(predictor, found, limits, (LOOPBACK | {name.lower() for name in hosts}) if local else None)
    config = uvicorn.Config(
        gate,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        limit_concurrency=4 * limits.most_requests,  # connections
        timeout_graceful_shutdown=round(limits.timeout) + 1,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1024) as listener:
        # without it the body of an answer waits 40 ms for the client to confirm its head
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        where = f"[{host}]" if ":" in host else host
        address = f"http://{where}:{listener.getsockname()[1]}/"
        print(f'Serving "{found}" at {address} (Ctrl-C stops)', file=sys.stderr, flush=True)
        try:
            _Server(config, gate).run(sockets=[listener])
        except KeyboardInterrupt:
            print("Stopped; every request was answered.", file=sys.stderr)
