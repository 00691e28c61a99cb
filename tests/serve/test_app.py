"""The server as its clients see it, without a socket: protocol, people's requests, limits and
hostile ones.
"""

import asyncio
import base64
import hashlib
import io
import json
import re
import struct
import threading
import time
import zlib

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from hyperproto.runtime import Predictor
from hyperproto.runtime.serve import protocol
from hyperproto.runtime.serve.app import make_app
from hyperproto.runtime.serve.options import ServeOptions
from tests.serve.models import NAMES, write_model

INFER = "/v2/models/pets/infer"


def client_of(folder, **options):
    predictor = Predictor(folder, threads=1)
    limits = ServeOptions(**{"most_bytes": 2**18, "most_pixels": 2**20, "timeout": 10.0} | options)
    client = TestClient(make_app(predictor, "pets", limits), raise_server_exceptions=False)
    client.predictor = predictor
    return client


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    made = {}

    def get(kind):
        if kind not in made:
            made[kind] = client_of(write_model(tmp_path_factory.mktemp("models") / kind, kind))
        return made[kind]

    return get


def png(size=(20, 10), color="red"):
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "png")
    return file.getvalue()


def tensor(data, datatype="FP32", name="input", shape=None):
    shape = list(np.shape(data)) if shape is None else shape
    return {"name": name, "shape": shape, "datatype": datatype, "data": data}


ROWS = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)


def test_the_server_and_the_model_describe_themselves(clients):
    client = clients("table")
    assert client.get("/v2").json()["extensions"] == ["binary_tensor_data"]
    assert client.get("/v2/health/live").json() == {"live": True}
    assert (
        client.get("/v2/health/ready").status_code
        == client.get("/v2/models/pets/ready").status_code
        == 200
    )
    about = client.get("/v2/models/pets").json()
    assert about["inputs"] == [
        {"name": "age", "datatype": "FP64", "shape": [-1]},
        {"name": "job", "datatype": "BYTES", "shape": [-1]},
    ]
    assert {"name": "kind/probabilities", "datatype": "FP32", "shape": [-1, 4]} in about["outputs"]
    assert "InferRequest" in client.get("/openapi.json").text


def test_a_model_has_one_version_with_addresses_of_its_own(clients):
    client, one, request = (
        clients("rows"),
        "/v2/models/pets/versions/1",
        {"inputs": [tensor(ROWS.tolist())]},
    )
    assert client.get(one).json() == client.get("/v2/models/pets").json()
    assert client.get(one).json()["versions"] == ["1"]
    assert client.get(f"{one}/ready").json() == {"name": "pets", "ready": True}
    answer = client.post(f"{one}/infer", json=request).json()
    assert answer == client.post(INFER, json=request).json()
    assert answer["model_version"] == "1"
    for other in ("/v2/models/pets/versions/2", "/v2/models/pet/versions/1"):
        for reply in (
            client.get(other),
            client.get(f"{other}/ready"),
            client.post(f"{other}/infer", json=request),
        ):
            assert reply.status_code == 404
            assert "here, only" in reply.json()["error"]


def test_less_json_is_taken_than_bytes(tmp_path):
    client = client_of(write_model(tmp_path / "model"), most_json=2**10)
    lists = b"[" + b"[]," * 2**10 + b"[]]"  # cheap to send, and each becomes an object
    for path in (INFER, "/predict"):
        reply = client.post(path, content=lists, headers={"content-type": "application/json"})
        assert reply.status_code == 413
        assert reply.json() == {
            "error": "The JSON of a request must have at most 1,024 bytes; got 3,076."
        }
    rows = np.repeat(ROWS, 30, axis=0)  # 1,800 bytes
    about = {
        "name": "input",
        "shape": [90, 5],
        "datatype": "FP32",
        "parameters": {"binary_data_size": rows.nbytes},
    }
    head = json.dumps({"inputs": [about]}).encode()
    headers = {
        "Inference-Header-Content-Length": str(len(head)),
        "Content-Type": "application/octet-stream",
    }
    assert client.post(INFER, content=head + rows.tobytes(), headers=headers).status_code == 200
    assert ServeOptions().most_json < ServeOptions().most_bytes


@pytest.mark.parametrize("flat", [False, True])
def test_tensors_come_nested_or_flat_and_answers_are_those_of_the_predictor(clients, flat):
    client = clients("rows")
    data = ROWS.ravel().tolist() if flat else ROWS.tolist()
    request = {"id": "7", "inputs": [tensor(data, shape=[3, 5])], "parameters": {"unheard": 1}}
    answer = client.post(INFER, json=request).json()
    assert answer["model_name"] == "pets"
    assert answer["id"] == "7"
    outputs = {output["name"]: output for output in answer["outputs"]}
    expected = client.predictor.predict(ROWS)
    assert outputs["kind/class"]["data"] == expected["kind"].tolist()
    np.testing.assert_allclose(outputs["size/value"]["data"], expected["size"], rtol=1e-5)
    chances = np.reshape(
        outputs["kind/probabilities"]["data"], outputs["kind/probabilities"]["shape"]
    )
    np.testing.assert_allclose(chances, client.predictor.predict_proba(ROWS)["kind"], rtol=1e-5)
    assert outputs["size/interval"]["data"] == [None] * 6  # infinite, which JSON does not have
    assert outputs["kind/set"]["datatype"] == "BOOL"
    assert outputs["point"]["shape"] == [3, 3]


def test_only_the_outputs_that_are_asked_for_come(clients):
    request = {"inputs": [tensor(ROWS.tolist(), "FP64")], "outputs": [{"name": "kind/prediction"}]}
    answer = clients("rows").post(INFER, json=request).json()
    expected = clients("rows").predictor.scores(ROWS)["kind"].argmax(axis=1)
    assert answer["outputs"] == [
        {"name": "kind/prediction", "datatype": "INT64", "shape": [3], "data": expected.tolist()}
    ]


def test_tensors_may_be_bytes_behind_the_json_as_tritons_clients_send_them(clients):
    content = ROWS.tobytes()
    about = {
        "name": "input",
        "shape": [3, 5],
        "datatype": "FP32",
        "parameters": {"binary_data_size": len(content)},
    }
    head = json.dumps({"inputs": [about], "parameters": {"binary_data_output": True}}).encode()
    headers = {
        "Inference-Header-Content-Length": str(len(head)),
        "Content-Type": "application/octet-stream",
    }
    reply = clients("rows").post(INFER, content=head + content, headers=headers)
    split = int(reply.headers["Inference-Header-Content-Length"])
    described, rest, found = json.loads(reply.content[:split]), reply.content[split:], {}
    for output in described["outputs"]:
        size = output["parameters"]["binary_data_size"]
        found[output["name"]], rest = rest[:size], rest[size:]
    assert not rest
    expected = clients("rows").predictor
    np.testing.assert_allclose(
        np.frombuffer(found["kind/scores"], "<f4").reshape(3, 4),
        expected.scores(ROWS)["kind"],
        rtol=1e-5,
    )
    first = expected.predict(ROWS)["kind"][0].encode()
    assert found["kind/class"].startswith(struct.pack("<I", len(first)) + first)
    for wrong in (b"x" * 7, content + b"1", b""):
        assert clients("rows").post(INFER, content=head + wrong, headers=headers).status_code == 422
    longer = headers | {"Inference-Header-Content-Length": "99999"}
    assert clients("rows").post(INFER, content=head, headers=longer).status_code == 400


def test_tables_come_by_column_and_texts_as_bytes(clients):
    inputs = [
        tensor([30, None], "FP64", "age"),
        tensor([["cook"], ["<i>cook</i>"]], "BYTES", "job"),
    ]
    answer = (
        clients("table")
        .post(INFER, json={"inputs": inputs, "outputs": [{"name": "kind/class"}]})
        .json()
    )
    rows = [{"age": 30, "job": "cook"}, {"age": None, "job": "<i>cook</i>"}]
    assert answer["outputs"][0]["data"] == clients("table").predictor.predict(rows)["kind"].tolist()
    texts = ["sweet and red", "tall"]
    answer = clients("text").post(INFER, json={"inputs": [tensor(texts, "BYTES", "text")]}).json()
    assert answer["outputs"][0]["data"] == clients("text").predictor.predict(texts)["kind"].tolist()


def test_images_come_as_pixels_or_as_files(clients):
    client, file = clients("images"), png()
    pixels = next(client.predictor.prepare([file]))
    as_pixels = client.post(INFER, json={"inputs": [tensor(pixels.tolist(), "UINT8")]})
    encoded = base64.b64encode(file).decode()
    as_file = client.post(INFER, json={"inputs": [tensor([encoded], "BYTES")]})
    assert as_pixels.json() == as_file.json()
    for bad in (tensor(["/etc/passwd"], "BYTES"), tensor([encoded[:40]], "BYTES"), tensor((pixels + 0.5).tolist()),
                tensor((pixels.astype(int) + 300).tolist(), "UINT8")):  # fmt: skip
        assert client.post(INFER, json={"inputs": [bad]}).status_code == 422


def test_people_send_an_image_by_itself_or_in_a_form(clients):
    client, file = clients("images"), png()
    alone = client.post(
        "/predict?top=2&sphere=true", content=file, headers={"content-type": "image/png"}
    ).json()
    form = client.post("/predict?top=2&sphere=true", files={"image": ("a.png", file)}).json()
    assert alone == form
    assert alone["predictions"]["kind"]["name"] == client.predictor.predict([file])["kind"][0]
    assert len(alone["predictions"]["kind"]["top"]) == 2
    np.testing.assert_allclose(alone["sphere"]["input"], alone["point"], atol=1e-4)
    assert alone["predictions"]["size"]["low"] is None
    for name, body in (("text", b"/etc/passwd"), ("nothing", b""), ("cut", file[:40])):
        reply = client.post(
            "/predict", content=body, headers={"content-type": "application/octet-stream"}
        )
        assert reply.status_code == 422, name
        assert "skip" not in reply.json()["error"]
    assert client.post("/predict", json=["/etc/passwd"]).status_code == 415
    assert (
        client.post("/predict", data={"a": "b"}, files=[("a", b"1"), ("b", b"2")]).status_code
        == 422
    )
    assert (
        client.post(
            "/predict", content=b"--x", headers={"content-type": "multipart/form-data"}
        ).status_code
        == 422
    )


def test_people_send_rows_and_texts_one_by_itself_or_a_list(clients):
    one = clients("rows").post("/predict", json=ROWS[0].tolist()).json()
    several = clients("rows").post("/predict", json=ROWS.tolist()).json()
    np.testing.assert_allclose(one["point"], several[0]["point"], rtol=1e-5)
    assert len(several) == 3
    row = {"height": 1, "width": 2.5}
    by_name = clients("named").post("/predict", json=row).json()
    assert by_name == clients("named").post("/predict", json=[1, 2.5]).json()
    assert clients("named").post("/predict", json=[row]).json() == [by_name]
    text = (
        clients("text")
        .post("/predict", content="red", headers={"content-type": "text/plain"})
        .json()
    )
    assert text == clients("text").post("/predict", json="red").json()
    assert (
        text == clients("text").post("/predict", json={"text": "red"}).json()
    )  # by the name of its column
    assert [text] == clients("text").post("/predict", json=[{"text": "red"}]).json()
    assert clients("text").post("/predict", json={"other": "red"}).status_code == 422
    assert (
        clients("table")
        .post("/predict", json={"age": 3, "job": None})
        .json()["predictions"]["kind"]["name"]
        in NAMES
    )


def test_the_sphere_in_many_dimensions_keeps_the_cosines_to_the_nearest_classes(tmp_path):
    client = client_of(write_model(tmp_path / "model", dim=9))
    answer = client.post("/predict?sphere=true", json=ROWS[0].tolist()).json()
    sphere, top = answer["sphere"], answer["predictions"]["kind"]["top"]
    assert [near["name"] for near in sphere["classes"]] == [near["name"] for near in top]
    places = np.array([near["at"] for near in sphere["classes"]])
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(
        places @ sphere["input"], [near["cosine"] for near in top], atol=1e-3
    )


def test_inputs_unlike_those_of_training_are_unknown(tmp_path):
    client = client_of(write_model(tmp_path / "model", reject=-2.0))
    found = client.post("/predict", json=ROWS[0].tolist()).json()["predictions"]["kind"]
    assert found["unknown"] is True
    assert found["name"] == "unknown"
    asked = {"inputs": [tensor(ROWS.tolist())], "outputs": [{"name": "kind/class"}]}
    assert client.post(INFER, json=asked).json()["outputs"][0]["data"] == ["unknown"] * 3


def bomb():
    """A PNG of 50,000 x 50,000 pixels in a few bytes."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 9999))
        + chunk(b"IEND", b"")
    )


JSON, ONE = {"content-type": "application/json"}, tensor(ROWS[:1].tolist())
WRITTEN = b'{"inputs": [{"name": "input", "shape": [1, 5], "datatype": "FP32", "data": [%b, 1, 2, 3, 4]}]}'
TWO_JOBS = tensor(["a", "b"], "BYTES", "job")
HOSTILE = {
    "not JSON": ("rows", INFER, b"{", JSON, 400),
    "deep JSON": ("rows", INFER, b"[" * 100_000, JSON, 413),
    "deep JSON, people": ("rows", "/predict", b"[" * 100_000, JSON, 413),
    "deep data": ("rows", INFER, {"inputs": [{**ONE, "data": json.loads("[" * 90 + "1" + "]" * 90)}]}, JSON, 422),
    "a list": ("rows", INFER, [1], JSON, 422),
    "no inputs": ("rows", INFER, {"inputs": []}, JSON, 422),
    "no data": ("rows", INFER, {"inputs": [{**ONE, "data": None}]}, JSON, 422),
    "another name": ("rows", INFER, {"inputs": [{**ONE, "name": "x"}]}, JSON, 422),
    "twice": ("rows", INFER, {"inputs": [ONE, ONE]}, JSON, 422),
    "unknown output": ("rows", INFER, {"inputs": [ONE], "outputs": [{"name": "<script>"}]}, JSON, 422),
    "unknown datatype": ("rows", INFER, {"inputs": [{**ONE, "datatype": "OBJECT"}]}, JSON, 422),
    "texts for numbers": ("rows", INFER, {"inputs": [{**ONE, "data": ["a" * 9999, "1", "2", "3", "4"]}]}, JSON, 422),
    "BYTES for numbers": ("rows", INFER, {"inputs": [{**ONE, "datatype": "BYTES", "data": ["1"] * 5}]}, JSON, 422),
    "fractions for INT64": ("rows", INFER, {"inputs": [{**ONE, "datatype": "INT64"}]}, JSON, 422),
    "wrong width": ("rows", INFER, {"inputs": [tensor([[1, 2]])]}, JSON, 422),
    "wrong rank": ("rows", INFER, {"inputs": [tensor([1.0] * 5)]}, JSON, 422),
    "no rows": ("rows", INFER, {"inputs": [tensor([], shape=[0, 5])]}, JSON, 422),
    "negative shape": ("rows", INFER, {"inputs": [{**ONE, "shape": [-1, -5]}]}, JSON, 422),
    "huge shape": ("rows", INFER, {"inputs": [{**ONE, "shape": [1000, 2**31, 2**31, 2**31]}]}, JSON, 422),
    "many rows": ("rows", INFER, {"inputs": [{**ONE, "shape": [2**31, 5]}]}, JSON, 422),
    "ragged": ("rows", INFER, {"inputs": [{**ONE, "data": [[1, 2], [3, 4, 5]]}]}, JSON, 422),
    "NaN": ("rows", INFER, WRITTEN % b"NaN", JSON, 422),
    "infinity": ("rows", INFER, {"inputs": [{**ONE, "data": [1e300, 1, 2, 3, 4]}]}, JSON, 422),
    "digits": ("rows", INFER, WRITTEN % (b"1" + b"0" * 400), JSON, 422),
    "XML": ("rows", INFER, b"<a/>", {"content-type": "application/xml"}, 415),
    "XML, people": ("rows", "/predict", b"<a/>", {"content-type": "application/xml"}, 415),
    "gzip": ("rows", INFER, zlib.compress(b"{}"), {**JSON, "content-encoding": "gzip"}, 415),
    "too large": ("rows", INFER, b" " * (2**18 + 1), JSON, 413),
    "length is no number": ("rows", INFER, b"", {**JSON, "content-length": "many"}, 413),
    "another model": ("rows", "/v2/models/../infer", b"{}", JSON, 404),
    "path trick": ("rows", "/v2/models/..%2f..%2fetc%2fpasswd/infer", b"{}", JSON, 404),
    "no numbers": ("rows", "/predict", ["a"] * 5, JSON, 422),
    "null": ("rows", "/predict", None, JSON, 422),
    "top": ("rows", "/predict?top=0", [0] * 5, JSON, 422),
    "digits, people": ("table", "/predict", b'{"age": 1' + b"0" * 400 + b', "job": null}', JSON, 422),
    "long cell": ("table", "/predict", {"age": "x" * 99_999, "job": None}, JSON, 422),
    "nested cell": ("table", "/predict", {"age": {"a": [1]}, "job": None}, JSON, 422),
    "no column": ("table", "/predict", {"age": 1}, JSON, 422),
    "unequal columns": ("table", INFER, {"inputs": [tensor([1], "FP64", "age"), TWO_JOBS]}, JSON, 422),
    "not UTF-8": ("text", "/predict", b"\xff\xfe", {"content-type": "text/plain"}, 422),
    "texts in texts": ("text", "/predict", [["a"]], JSON, 422),
    "bomb": ("images", "/predict", bomb(), {"content-type": "image/png"}, 422),
    "an EPS": ("images", "/predict", b"%!PS-Adobe-3.0 EPSF-3.0\n", {"content-type": "image/png"}, 422),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_answered_gets_one_sentence_and_the_server_goes_on(clients, name):
    kind, path, body, headers, status = HOSTILE[name]
    client = clients(kind)
    reply = client.post(
        path, content=body if isinstance(body, bytes) else json.dumps(body), headers=headers
    )
    assert reply.status_code == status, reply.text
    assert 0 < len(reply.json()["error"]) < 500
    assert client.get("/v2/health/ready").status_code == 200


def test_other_methods_and_addresses_are_refused_in_the_same_form(clients):
    for reply, status in (
        (clients("rows").get("/nowhere"), 404),
        (clients("rows").get("/../../etc/passwd"), 404),
        (clients("rows").delete("/predict"), 405),
    ):
        assert reply.status_code == status
        assert reply.json()["error"]


def slow(client, monkeypatch, seconds):
    run, seen = client.predictor.run_prepared, []

    def wait(prepared, outputs):
        seen.append(len(prepared))
        time.sleep(seconds)
        return run(prepared, outputs)

    monkeypatch.setattr(client.predictor, "run_prepared", wait)
    return seen


def all_at_once(client, bodies):
    replies = [None] * len(bodies)

    def post(place):
        replies[place] = client.post("/predict", json=bodies[place])

    threads = [threading.Thread(target=post, args=(place,)) for place in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def test_requests_at_the_same_time_run_together_and_each_gets_its_own_answer(tmp_path, monkeypatch):
    with client_of(write_model(tmp_path / "model")) as client:
        seen = slow(client, monkeypatch, 0.1)
        rows = np.random.default_rng(2).standard_normal((12, 5))
        expected = client.predictor.answer(rows)
        seen.clear()
        replies = all_at_once(client, [*rows.tolist(), [1e300, 0, 0, 0, 0]])
        assert replies.pop().status_code == 422
        for reply, wanted in zip(replies, expected, strict=True):
            np.testing.assert_allclose(reply.json()["point"], wanted["point"], rtol=1e-4, atol=1e-6)
        assert max(seen) > 1
        assert len(seen) < 12
        text = client.get("/metrics").text
    assert 'hyperproto_requests_total{route="predict",status="200"} 12.0' in text
    assert 'hyperproto_requests_total{route="predict",status="422"} 1.0' in text
    assert f"hyperproto_batch_rows_count {len(seen)}.0" in text
    assert 'hyperproto_request_seconds_bucket{le="+Inf",route="predict"} 13.0' in text
    assert "hyperproto_requests_in_flight 1.0" in text  # this one


def test_an_input_that_fails_in_the_model_fails_alone(tmp_path, monkeypatch):
    with client_of(write_model(tmp_path / "model")) as client:
        seen = slow(client, monkeypatch, 0.1)
        replies = all_at_once(
            client, [*[ROWS[0].tolist()] * 7, [3e38] * 5]
        )  # finite, but not times the weights
        assert [reply.status_code for reply in replies] == [200] * 7 + [422]
        assert max(seen) > 1


def test_more_requests_than_allowed_are_told_to_come_back(tmp_path, monkeypatch):
    with client_of(write_model(tmp_path / "model"), most_requests=2) as client:
        slow(client, monkeypatch, 0.5)
        replies = all_at_once(client, [ROWS[0].tolist()] * 6)
        statuses = sorted(reply.status_code for reply in replies)
        assert statuses == [200, 200, 503, 503, 503, 503]
        assert {reply.headers["retry-after"] for reply in replies if reply.status_code == 503} == {
            "1"
        }


def test_an_answer_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    with client_of(write_model(tmp_path / "model"), timeout=0.2) as client:
        slow(client, monkeypatch, 0.6)
        assert client.post("/predict", json=ROWS[0].tolist()).status_code == 504
        monkeypatch.undo()
        time.sleep(0.6)
        assert client.post("/predict", json=ROWS[0].tolist()).status_code == 200


def test_a_request_that_does_not_arrive_is_given_up(tmp_path):
    gate = make_app(Predictor(write_model(tmp_path / "model")), "pets", ServeOptions(timeout=0.1))
    sent = []

    async def receive():
        await asyncio.sleep(10)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/predict",
        "headers": [(b"content-length", b"5")],
    }
    asyncio.run(gate(scope, receive, send))
    assert sent[0]["status"] == 408
    assert gate.posts == 0


def test_a_server_that_stops_refuses_what_is_new(tmp_path):
    client = client_of(write_model(tmp_path / "model"))
    client.app.stopping = True
    assert client.post("/predict", json=ROWS[0].tolist()).status_code == 503
    assert (
        client.get("/v2/health/ready").status_code
        == client.get("/v2/models/pets/ready").status_code
        == 503
    )
    assert client.get("/v2/health/live").status_code == 200


def test_a_page_elsewhere_whose_name_points_here_is_refused(tmp_path):
    predictor = Predictor(write_model(tmp_path / "model"))
    app = make_app(predictor, "pets", hosts=frozenset({"localhost", "::1"}))
    for host, status in (
        ("localhost:8000", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("", 403),
    ):
        assert TestClient(app).get("/v2", headers={"host": host}).status_code == status


def test_the_page_runs_its_own_script_and_no_other_and_every_answer_keeps_its_type(clients):
    reply = clients("rows").get("/")
    rules = dict(
        rule.split(" ", 1) for rule in reply.headers["content-security-policy"].split("; ")
    )
    assert rules["default-src"] == "'none'"
    for part in ("script", "style"):
        (content,) = re.findall(rf"<{part}>(.*?)</{part}>", reply.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{part}-src"] == f"'sha256-{digest}'"
    for path, status in (("/", 200), ("/model", 200), ("/metrics", 200), ("/nowhere", 404)):
        reply = clients("rows").get(path)
        assert (reply.status_code, reply.headers["x-content-type-options"]) == (status, "nosniff")


@pytest.mark.parametrize("path", [INFER, "/predict"])
def test_a_flood_of_lists_is_refused_before_it_is_read(clients, path, monkeypatch):
    monkeypatch.setattr("hyperproto.runtime.serve.people.json", None)
    monkeypatch.setattr(protocol.InferRequest, "model_validate_json", None)
    flood = b'{"inputs": [{"name": "input", "data": [' + b"[0]," * 2**15 + b"[0]]}]}"
    reply = clients("rows").post(path, content=flood, headers={"content-type": "application/json"})
    assert reply.status_code == 413
    assert "lists" in reply.json()["error"]
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_lists_of_another_shape_are_refused_before_arrays_are_made(clients, monkeypatch):
    monkeypatch.setattr(protocol, "to_array", pytest.fail)
    for data in ([[0]] * 1000, [[[0] * 5]], [[0] * 4, 0]):
        asked = {"inputs": [{**ONE, "shape": [1, 5], "data": data}]}
        assert clients("rows").post(INFER, json=asked).status_code == 422
