"""Chromium as a person uses it: opens a page, types, clicks and drops files; over its debugging
pipe.
"""

import json
import os
import shutil
import subprocess
import time

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += [
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,800",
    "--remote-debugging-pipe",
]


class Browser:
    """A page in Chromium; close it in the end."""

    def __init__(self, profile):
        here, there = os.pipe(), os.pipe()  # commands to it, and answers from it
        self._write, self._read = os.fdopen(here[1], "wb", 0), os.fdopen(there[0], "rb", 0)

        def connect():
            os.dup2(os.dup(here[0]), 3)
            os.dup2(os.dup(there[1]), 4)

        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"]
        fds = (3, 4, here[0], there[1])
        self._process = subprocess.Popen(
            command, preexec_fn=connect, pass_fds=fds, stderr=subprocess.DEVNULL
        )
        os.close(here[0]), os.close(there[1])
        self._number, self._session, self._rest = 0, None, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]

    def close(self):
        self._process.kill()
        self._process.wait()
        self._write.close(), self._read.close()

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {} if self._session is None else {"sessionId": self._session}
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                part = self._read.read(2**16)
                assert part, "Chromium has ended"
                self._rest += part
            line, _, self._rest = self._rest.partition(b"\0")
            reply = json.loads(line)
            if reply.get("id") == self._number:
                assert "error" not in reply, reply["error"]
                return reply["result"]

    def run(self, script):
        """Return what a script says in the page."""
        reply = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def wait(self, script, seconds=30):
        """Return what a script says once that is true."""
        until = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < until, f"{script}: {self.run('document.body.innerText')}"
            time.sleep(0.05)
        return found
