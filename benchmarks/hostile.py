"""``hyperproto serve`` with a hostile client of each kind: ``python -m benchmarks.hostile SECONDS``.

A model of images is asked by 62 connections with an ordinary photograph each, while two send,
in turn, files that take minutes to decode, requests of many large images, and floods of JSON, and
1,060 more are opened that ask nothing, or one line a second, of a server with 1,024 files.
"""

import asyncio
import base64
import io
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from benchmarks.serve import Load
from tests.attack.images import HOSTILE, encode
from tests.serve.models import write_model

CONNECTIONS, IDLE, FILES = 62, 1060, 1024


def post(path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def hostile_requests() -> list[bytes]:
    files = [post("/predict", make(), "image/png") for make in HOSTILE.values()]
    large = base64.b64encode(encode("PNG", (4096, 4096))).decode()
    tensor = {"name": "input", "shape": [20], "datatype": "BYTES", "data": [large] * 20}
    many = json.dumps({"inputs": [tensor]}).encode()
    lists = b'{"inputs": [{"name": "input", "data": [' + b"[0]," * 999_900 + b"[0]]}]}"
    return [*files, *(post("/v2/models/pets/infer", body) for body in (many, lists))]


async def attack(port: int, load: Load, requests: list[bytes], answers: dict[bytes, int]) -> None:
    for request in cycle(requests):
        if asyncio.get_running_loop().time() > load.until:
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(request)
            status = (await reader.readline())[9:12]
        except OSError:
            status = b"closed"
        answers[status] = answers.get(status, 0) + 1
        writer.close()


async def wait(port: int, load: Load, lines: bool) -> None:
    """Hold a connection without a request, and open another where it is closed."""
    while asyncio.get_running_loop().time() < load.until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\n" if lines else b"")
            while asyncio.get_running_loop().time() < load.until:
                writer.write(b"a: b\r\n" if lines else b"")
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.readexactly(1), 1)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(1)
        else:
            writer.close()


async def measure(port: int, server: subprocess.Popen[bytes], seconds: float) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((500, 375)).save(file, "jpeg")
    requests, process = hostile_requests(), psutil.Process(server.pid)
    for attackers, share in ((0, 0.1), (2, 1.0)):
        answers: dict[bytes, int] = {}
        load = Load(port, post("/predict", file.getvalue(), "image/jpeg"))
        load.until = asyncio.get_running_loop().time() + share * seconds
        attacks = [
            asyncio.create_task(attack(port, load, requests, answers)) for _ in range(attackers)
        ]
        idle = range(IDLE if attackers else 0)
        attacks += [asyncio.create_task(wait(port, load, number % 10 == 0)) for number in idle]
        await load.run(CONNECTIONS, float("inf"), share * seconds)
        await asyncio.gather(*attacks)
        memory = [p.memory_info().rss >> 20 for p in (process, *process.children())]
        half, most = np.quantile(load.latencies, (0.5, 0.99))
        print(f"{attackers} hostile: {dict(load.outcomes)}, median {half:.2f} s, p99 {most:.2f} s,")
        print(f"  hostile answers {answers}, MB of the server and its decoders {memory}")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = write_model(Path(place) / "pets", "images")
        command = [sys.executable, "-m", "hyperproto.runtime.cli", "serve", str(folder)]
        log = Path(place) / "log"
        with log.open("w") as file:
            server = subprocess.Popen(
                [*command, "--port", "0"],
                stderr=file,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
            )
        try:
            while (found := re.search(r":(\d+)/", log.read_text())) is None:
                time.sleep(0.1)
            asyncio.run(measure(int(found[1]), server, float(sys.argv[1])))
            server.terminate()
            print(f"exit status {server.wait()}, {log.stat().st_size} bytes of log")
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
