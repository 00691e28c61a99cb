"""A real server in a process of its own: started, asked by plain clients, and stopped while it
works.
"""

import http.client
import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from importlib import import_module

import numpy as np
import pytest

from hyperproto.runtime import Predictor
from hyperproto.runtime.serve.connections import OTHER_FILES, most_connections
from hyperproto.runtime.serve.server import GRACE
from tests.serve.models import write_model

ROW = [0.5, -1, 2, 0, 1]


@contextmanager
def running(folder, *options, files=None):
    """Start a server on any free port, without torch to import, and with a limit of open files;
    give its process and its port.
    """
    script = (
        "import sys; sys.modules['torch'] = None; from hyperproto.runtime.cli import main; main()"
    )
    if files is not None:
        limit = f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))"
        script = f"import resource; {limit}; {script}"
    command = [sys.executable, "-c", script, "serve", str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        yield process, int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])
    finally:
        process.kill()
        process.communicate()


def post(port, path, body, headers=None, timeout=30):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request("POST", path, body, headers or {"Content-Type": "application/json"})
    reply = connection.getresponse()
    answer = json.loads(reply.read())
    connection.close()
    return reply.status, answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("served") / "pets")


def test_a_process_without_torch_answers_clients_and_survives_bad_ones(folder):
    with running(folder) as (_, port):
        request = {"inputs": [{"name": "input", "shape": [1, 5], "datatype": "FP32", "data": ROW}]}
        status, answer = post(port, "/v2/models/pets/infer", json.dumps(request))
        assert status == 200
        found = {output["name"]: output["data"] for output in answer["outputs"]}
        predictor = Predictor(folder)
        assert found["kind/class"] == predictor.predict(np.array([ROW]))["kind"].tolist()
        if curl := shutil.which("curl"):
            command = [curl, "-sS", "-d", json.dumps(ROW), f"http://localhost:{port}/predict"]
            shown = json.loads(
                subprocess.run(command, capture_output=True, check=True, text=True).stdout
            )
            assert shown["predictions"]["kind"]["name"] == found["kind/class"][0]
        raw = {
            b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": b" 404 ",
            b"\x16\x03\x01\x00\xa5\x01\x00\x00": b" 400 ",  # TLS
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n": b" 413 ",
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n": b" 400 ",
            b"POST /predict HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}": b" 403 ",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n": b" 400 ",
        }
        for sent, expected in raw.items():
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                client.sendall(sent)
                assert expected in client.recv(200).partition(b"\r\n")[0]
        chunked = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(chunked)
            try:
                for _ in range(40):
                    client.sendall(b"80000\r\n" + b" " * 0x80000 + b"\r\n")
            except OSError:
                pass  # the server did not wait for the rest
            else:
                assert b" 413 " in client.recv(200)
        assert post(port, "/predict", json.dumps(ROW))[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_answers_all_that_it_accepted(folder, number):
    with running(folder) as (process, port):
        outcomes = []

        def ask():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            while True:
                try:
                    connection.request("POST", "/predict", json.dumps(ROW))
                except OSError:
                    return outcomes.append("not accepted")
                try:
                    reply = connection.getresponse()
                    answer = json.loads(reply.read())
                except (OSError, http.client.HTTPException):
                    return outcomes.append("lost")
                outcomes.append(reply.status)
                if reply.status != 200:
                    assert answer["error"] == "The server is stopping."
                    return None

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        while outcomes.count(200) < 50:
            time.sleep(0.01)
        process.send_signal(number)
        for thread in threads:
            thread.join()
        process.wait(20)
        assert set(outcomes) == {200, 503}
        assert outcomes.count(503) == 8
        assert process.returncode == 0


def test_a_connection_that_is_kept_is_refused_in_words_long_after_the_signal(folder):
    with running(folder) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/v2/health/live")
        assert json.loads(connection.getresponse().read()) == {"live": True}
        process.send_signal(signal.SIGTERM)
        time.sleep(2 * GRACE)
        connection.request("POST", "/predict", json.dumps(ROW))
        reply = connection.getresponse()
        assert (reply.status, reply.headers["connection"]) == (503, "close")
        assert json.loads(reply.read())["error"] == "The server is stopping."
        assert process.wait(20) == 0


def test_a_client_that_closes_its_half_gets_its_answers(folder):
    body = json.dumps(ROW).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with running(folder) as (_, port):
        for sent, answers in ((head + body, 1), (2 * (head + body), 2), (head + body[:-1], 0)):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                received = client.makefile("rb").read()
                assert received.count(b"HTTP/1.1 200 OK") == answers
                assert received.count(b'"predictions"') == answers


def test_connections_that_wait_give_way_and_end_without_a_word(folder):
    files = OTHER_FILES + 20
    with running(folder, "--timeout", "4", files=files) as (process, port):
        kept = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        kept.request("GET", "/v2/health/live")
        kept.getresponse().read()
        first = kept.sock
        idle = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(files)]
        assert post(port, "/predict", json.dumps(ROW))[0] == 200
        kept.request("GET", "/v2/health/live")
        with kept.getresponse() as reply:
            assert (reply.status, kept.sock) == (200, first)
        kept.close()
        slow = socket.create_connection(("127.0.0.1", port), timeout=10)
        for word in b"GET", b" ", b"/", b" ", b"HTTP/1.1\r\n":
            slow.sendall(word)
            time.sleep(0.01)
        for client in (*idle, slow):
            with client, suppress(ConnectionResetError):
                assert client.recv(1) == b""
        assert post(port, "/predict", json.dumps(ROW))[0] == 200
        process.terminate()
        assert process.stderr.read() == "Stopped; every request was answered.\n"


@pytest.mark.parametrize(
    ("limits", "most"), [((64, 64), 1), ((1024, 1024), 832), ((1024, 5000), 1024)]
)
def test_connections_are_as_many_as_there_may_be_files(monkeypatch, limits, most):
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    raised = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: raised.append(given))
    assert most_connections(1024) == most
    assert all(hard == limits[1] and soft <= hard for soft, hard in raised)


def test_a_mistake_is_one_sentence(folder, tmp_path, capsys):
    from hyperproto.cli.main import main

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, sentence in (
            ([str(tmp_path)], "be the folder of an exported model"),
            ([str(folder), "--port", "99999"], "--port must be at most 65535; got 99999."),
            ([str(folder), "--name", "a/b"], "--name must be of letters, digits, and . _ -"),
            ([str(folder), "--timeout", "0"], "--timeout must be finite and greater than 0"),
            ([str(folder), "--port", port], "Address already in use"),
        ):
            with pytest.raises(SystemExit, match="2"):
                main(["serve", *arguments])
            assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("command", ["hyperproto.cli.main", "hyperproto.runtime.cli"])
def test_the_model_may_come_before_or_after_the_hosts(monkeypatch, capsys, command):
    main, served = import_module(command).main, []
    monkeypatch.setattr(
        "hyperproto.runtime.serve.server.serve", lambda *given: served.append(given)
    )
    orders = (
        "m --hosts a b --port 1",
        "--hosts a b m --port 1",
        "--port 1 --hosts a b m",
        "--hosts a b --port 1 m",
    )
    for words in orders:
        main(["serve", *words.split()])
        folder, options = served.pop()
        assert (str(folder), tuple(options.hosts), options.port) == ("m", ("a", "b"), 1), words
    for words in ([], ["--port", "1"], ["--hosts"]):
        with pytest.raises(SystemExit, match="2"):
            main(["serve", *words])
        assert "must be the folder of an exported model; got none." in capsys.readouterr().err
