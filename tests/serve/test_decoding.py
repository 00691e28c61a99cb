"""Images that take long to decode, and requests with many: none keeps others waiting for long."""

import base64
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hyperproto.runtime.images import ImagePreprocessing
from hyperproto.runtime.serve import decoding
from hyperproto.runtime.serve.decoding import Decoders
from tests.attack.images import encode
from tests.serve.models import write_model
from tests.serve.test_app import INFER, client_of, tensor

FILE = {"content-type": "image/png"}


def slow_image(side):
    """Return a PGM whose largest value has Pillow decode it in Python, 2 µs for each pixel."""
    return b"P5 %d %d 254\n" % (side, side) + bytes(side * side)


def infer(client, files):
    texts = [base64.b64encode(file).decode() for file in files]
    return client.post(INFER, json={"inputs": [tensor(texts, "BYTES")]})


def test_an_image_that_takes_too_long_is_ended_and_says_so_while_it_lasts(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "DEADLINE", 0.5)
    monkeypatch.setattr(decoding, "LATE", 0.1)
    client = client_of(write_model(tmp_path / "model", "images"), most_bytes=2**21)
    assert client.post("/predict", content=encode("PNG"), headers=FILE).status_code == 200
    with ThreadPoolExecutor(4) as pool:
        body = slow_image(1000)
        posted = [
            pool.submit(client.post, "/predict", content=body, headers=FILE)
            for _ in range(min(4, os.cpu_count()))
        ]
        seen = set()
        while not all(post.done() for post in posted):
            assert client.get("/v2/health/live").status_code == 200
            seen.add(client.get("/v2/health/ready").status_code)
            time.sleep(0.02)
        for post in posted:
            assert post.result().status_code == 422
            assert "within 0.5 seconds" in post.result().json()["error"]
    assert 503 in seen
    assert client.get("/v2/health/ready").status_code == 200
    answer = client.post("/predict", content=encode("PNG"), headers=FILE).json()
    assert answer["point"] == client.predictor.answer([encode("PNG")])[0]["point"]


def test_a_request_may_have_the_pixels_of_eight_of_the_largest_images(tmp_path):
    client = client_of(write_model(tmp_path / "model", "images"), most_pixels=2**16)
    images = [encode("PNG", (256, 256))] * 8
    for _ in range(2):  # each request is counted by itself
        assert infer(client, images).status_code == 200
    refused = infer(client, [*images, encode("PNG", (1, 1))])
    assert refused.status_code == 422
    assert "fewer pixels together" in refused.json()["error"]


def test_a_request_that_was_given_up_stops_between_two_images():
    decoders = Decoders(ImagePreprocessing(8), 2**20, 1)
    given_up = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(decoders.decode, [slow_image(250)] * 50, given_up)
        time.sleep(0.5)
        assert not work.done()
        given_up.set()
        started = time.perf_counter()
        with pytest.raises(TimeoutError):
            work.result()
        assert time.perf_counter() - started < 2
    red = decoders.decode([encode("PNG")], threading.Event())
    assert np.array_equal(red, np.broadcast_to(np.uint8([255, 0, 0]), (1, 8, 8, 3)))


def test_a_process_that_has_ended_is_replaced():
    decoders = Decoders(ImagePreprocessing(8), 2**20, 1)
    (worker,) = decoders._workers
    worker._process.kill()
    worker._process.wait()
    assert decoders.decode([encode("PNG")], threading.Event()).shape == (1, 8, 8, 3)
