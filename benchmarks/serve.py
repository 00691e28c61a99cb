"""``hyperproto serve`` under load, on loopback: requests a second and latencies, and a shutdown
that loses nothing.

The model is a classifier of digits, the request one row of 64 numbers by the Open Inference
Protocol. Client and server share the machine. The peer is the same server's ``/v2/health/live``:
HTTP without a model. What else the machine does falls on latencies, and not on the processor time
that the server takes for a request.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
from sklearn.datasets import load_digits

from hyperproto.estimators import HypersphericalClassifier

CONNECTIONS = (1, 8, 64)
REQUESTS, SECONDS = 3000, 10.0  # of each measurement, whichever ends first


class Load:
    """Connections that ask again as soon as they are answered, until there are enough answers."""

    def __init__(self, port: int, request: bytes) -> None:
        self.port, self.request = port, request
        self.latencies: list[float] = []
        self.outcomes: Counter[str] = Counter()

    async def run(self, connections: int, most: float, seconds: float) -> float:
        self.most, started = most, time.perf_counter()
        self.until = started + seconds
        await asyncio.gather(*(self._ask() for _ in range(connections)))
        return time.perf_counter() - started

    async def _ask(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while len(self.latencies) < self.most and time.perf_counter() < self.until:
            started = time.perf_counter()
            try:
                writer.write(self.request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head)[1])
                await reader.readexactly(length)
            except (OSError, asyncio.IncompleteReadError):
                self.outcomes["lost"] += 1
                break
            self.latencies.append(time.perf_counter() - started)
            self.outcomes[head[9:12].decode()] += 1
            if not head.startswith(b"HTTP/1.1 200"):
                break
        writer.close()


def post(name: str, row: np.ndarray) -> bytes:
    tensor = {"name": "input", "shape": [1, len(row)], "datatype": "FP64", "data": row.tolist()}
    body = json.dumps({"inputs": [tensor], "outputs": [{"name": f"{name}/class"}]}).encode()
    head = f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/json\r\n\r\n".encode() + body


def cpu(server: subprocess.Popen[str]) -> float:
    """Return the seconds of processor time that the server has taken."""
    times = psutil.Process(server.pid).cpu_times()
    return times.user + times.system


def batches(port: int) -> tuple[float, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        text = reply.read().decode()
    rows, runs = (
        re.search(rf"hyperproto_batch_rows_{part} (\S+)", text)[1] for part in ("sum", "count")
    )
    return float(rows), float(runs)


def measure() -> tuple[str, list[dict[str, object]]]:
    digits = load_digits()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "digits"
        model = HypersphericalClassifier(random_state=0).fit(
            digits.data[:1500], digits.target[:1500]
        )
        model.export(folder, digits.data[1500:])
        command = [
            sys.executable,
            "-m",
            "hyperproto.runtime.cli",
            "serve",
            str(folder),
            "--port",
            "0",
        ]
        started = time.perf_counter()
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r":(\d+)/", server.stderr.readline())[1])
            print(f"listening after {time.perf_counter() - started:.2f} s")
            return "hyperproto serve, one row of 64 numbers a request", asyncio.run(
                _measure(port, server, digits.data)
            )
        finally:
            server.kill()
            server.communicate()


async def _measure(
    port: int, server: subprocess.Popen[str], rows: np.ndarray
) -> list[dict[str, object]]:
    request, bare = (
        post("target", rows[1600]),
        b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    await Load(port, request).run(8, 300, SECONDS)  # warm
    table: list[dict[str, object]] = []
    for connections in CONNECTIONS:
        peer = Load(port, bare)
        started = cpu(server)
        await peer.run(connections, REQUESTS, SECONDS)
        peer_cost = 1000 * (cpu(server) - started) / len(peer.latencies)
        before, load, started = batches(port), Load(port, request), cpu(server)
        seconds = await load.run(connections, REQUESTS, SECONDS)
        cost = 1000 * (cpu(server) - started) / len(load.latencies)
        ran = np.subtract(batches(port), before)
        p50, p99 = np.percentile(load.latencies, [50, 99]) * 1000
        table.append(
            {
                "connections": connections,
                "requests/s": round(len(load.latencies) / seconds),
                "p50, ms": round(p50, 1),
                "p99, ms": round(p99, 1),
                "rows per run": round(ran[0] / ran[1], 1),
                "server CPU, ms/request": round(cost, 2),
                "of /v2/health/live": round(peer_cost, 2),
                "load of the machine": round(os.getloadavg()[0], 1),
                "answered": load.outcomes["200"],
                "refused": sum(n for key, n in load.outcomes.items() if key not in ("200", "lost")),
                "lost": load.outcomes["lost"],
            }
        )
    load = Load(port, request)
    asking = asyncio.create_task(load.run(64, float("inf"), SECONDS))
    await asyncio.sleep(1)
    server.send_signal(signal.SIGTERM)
    await asking
    empty: dict[str, object] = dict.fromkeys(table[0], "")
    refused = sum(n for key, n in load.outcomes.items() if key not in ("200", "lost"))
    stopped = {"answered": load.outcomes["200"], "refused": refused, "lost": load.outcomes["lost"]}
    return [*table, {**empty, "connections": "64, stopped after 1 s", **stopped}]
