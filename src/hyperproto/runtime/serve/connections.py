"""Connections to the server: how many there are, how long they may wait, and how they end."""

import asyncio
import sys
from itertools import chain

from uvicorn.protocols.http.h11_impl import H11Protocol

TOGETHER = 16  # connections that are taken at a time
# that a process has open besides connections, and those of the eight times that it takes some until
# the first are counted and closed
OTHER_FILES = 64 + 8 * TOGETHER


def most_connections(wanted: int) -> int:
    """Return how many connections there may be: as many as wanted, or as the system lets a process
    have files, whose limit is raised where that is allowed.
    """
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    needed = wanted + OTHER_FILES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(wanted, soft - OTHER_FILES))


def connections_of(most: int, timeout: float) -> type[H11Protocol]:
    """Return the protocol of connections, of which there are ``most`` at a time.

    One more takes the place of another that has asked nothing yet, or else of one that waits for
    its next request; of those, that which has waited longest. A connection is
    closed where the lines before a body take longer than ``timeout`` seconds, and where a request
    takes more than twice that, as :class:`Gate` gives it to arrive and again to be answered.
    """
    strangers: dict[H11Protocol, None] = {}  # that have asked nothing; the oldest comes first
    kept: dict[H11Protocol, None] = {}  # that wait for their next request

    class Connection(H11Protocol):
        _deadline: asyncio.TimerHandle
        _has_ended = False  # the client sends nothing more, and waits for its answers

        @property
        def _is_asking(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._deadline = self.loop.call_later(timeout, transport.abort)
            if len(self.connections) > most:
                oldest = next(chain(strangers, kept, [self]))
                self.connections.discard(oldest)
                strangers.pop(oldest, None)
                kept.pop(oldest, None)
                oldest.transport.abort()
            if self in self.connections:
                strangers[self] = None

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._deadline.cancel()
            strangers.pop(self, None)
            kept.pop(self, None)

        def handle_events(self) -> None:
            super().handle_events()
            if self._is_asking and (self in strangers or self in kept):
                strangers.pop(self, None)
                kept.pop(self, None)
                self._end_in(2 * timeout + 1)

        def on_response_complete(self) -> None:
            kept[self] = None
            self._end_in(timeout)
            super().on_response_complete()  # and goes on with what is there of the next request
            if self._has_ended and not self._is_asking:
                self.transport.close()

        def eof_received(self) -> bool:  # type: ignore[override]
            """Say whether to keep a connection of which the client has closed its half."""
            self._has_ended = True
            return self._is_asking and not self.cycle.more_body

        def _end_in(self, seconds: float) -> None:
            self._deadline.cancel()
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    return Connection
