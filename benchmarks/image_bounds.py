"""What it costs that small files which take minutes to decode are refused: ordinary images, read as
for training with the checks and without, and asked of a server that decodes in processes and in
threads. Times are those of processors, which other processes disturb less; on Linux.
"""

import asyncio
import io
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import psutil
from PIL import Image

from benchmarks.timing import compare
from hyperproto.runtime import Predictor, images
from hyperproto.runtime.images import ImagePreprocessing, Pixels, decode
from hyperproto.runtime.model import InputForm
from hyperproto.runtime.serve.app import make_app
from hyperproto.runtime.serve.decoding import Decoders
from hyperproto.runtime.serve.gate import Message
from tests.serve import models

FORM = ImagePreprocessing(224)
SIZES = {"photograph": (500, 375), "of a camera": (4000, 3000)}
FORMATS: dict[str, dict[str, object]] = {
    "JPEG": {"quality": 90},
    "progressive JPEG": {"quality": 90, "progressive": True},
    "PNG": {},
}
MOST_SERVED = 2**24  # bytes


def encode(kind: str, size: tuple[int, int]) -> bytes:
    """Return a smooth picture with some noise, as a file."""
    draw = np.random.default_rng(0)
    coarse = Image.fromarray(draw.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize(size)
    pixels = np.asarray(coarse) + draw.normal(0, 4, (*size[::-1], 3))
    file = io.BytesIO()
    picture = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    picture.save(file, kind.rpartition(" ")[2].lower(), **FORMATS[kind])
    return file.getvalue()


def decode_unchecked(content: bytes) -> None:
    with (
        patch.object(images, "check_content", lambda content: None),
        patch.object(images, "check_opened", lambda image: None),
    ):
        decode(content, FORM)


def decode_in_thread(
    decoders: Decoders, sources: Sequence[bytes], given_up: threading.Event
) -> Pixels:
    return np.stack([decode(source, FORM) for source in sources])


class Server:
    """A server of images without a socket."""

    def __init__(self, folder: Path) -> None:
        form = InputForm("images", (224, 224, 3), "uint8", images=FORM)
        with patch.dict(models.FORMS, images=form):
            self.gate = make_app(Predictor(models.write_model(folder, "images"), threads=1))
        children = psutil.Process().children()
        self.told = [Path(f"/proc/{child.pid}/schedstat") for child in children]
        self.loop = asyncio.new_event_loop()

    def clock(self) -> float:
        """Return the processor time of this process and those that decode, in seconds."""
        spent = sum(int(told.read_text().split()[0]) for told in self.told)
        return time.process_time() + spent / 1e9

    def ask(self, content: bytes) -> None:
        self.loop.run_until_complete(self._ask(content))

    def ask_threads(self, content: bytes) -> None:
        with patch.object(Decoders, "decode", decode_in_thread):
            self.ask(content)

    async def _ask(self, content: bytes) -> None:
        asked: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]
        told: list[Message] = []

        async def receive() -> Message:
            return asked.pop() if asked else await asyncio.Future()

        async def send(message: Message) -> None:
            told.append(message)

        headers = [(b"content-type", b"image/png")]
        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b""}
        await self.gate(scope | {"headers": headers}, receive, send)
        assert told[0]["status"] == 200


def measure() -> tuple[str, list[dict[str, object]]]:
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place) / "model")
        for name, size in SIZES.items():
            for kind in FORMATS:
                content = encode(kind, size)
                rows.append(
                    {
                        "image": f"{name}, {kind}, {size[0]} x {size[1]}",
                        "KB": len(content) >> 10,
                        **measure_file(server, content, 200 if size[0] < 1000 else 30),
                    }
                )
    return "ordinary images with bounds", rows


def measure_file(server: Server, content: bytes, rounds: int) -> dict[str, object]:
    read, _, without = compare(
        lambda: decode(content, FORM),
        lambda: decode_unchecked(content),
        rounds=rounds,
        clock=time.process_time,
    )
    found: dict[str, object] = {"read, ms": round(1000 * read, 2)}
    found |= {
        "of that without checks": round(without, 2),
        "served, ms": "",
        "of that in a thread": "",
    }
    if len(content) <= MOST_SERVED:
        served, _, threads = compare(
            lambda: server.ask(content),
            lambda: server.ask_threads(content),
            rounds=rounds,
            clock=server.clock,
        )
        found |= {"served, ms": round(1000 * served, 2), "of that in a thread": round(threads, 2)}
    return found
