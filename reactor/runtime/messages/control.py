"""Messages to the supervisor, and their format on the socket.

Each message is one datagram. A message of the core is a byte and an offset. Other messages are a pickled tuple whose first item is the name of the
request. A request with an answer contains the offset of an object that the supervisor completes (`ask`).
"""

import errno
import os
import pickle
import struct
import time

from reactor import _core
from reactor.runtime.processes.silence import Silence

RELEASE, DRAIN, SPAWN, RESOURCES, REFUSE, SPILLED, COLLECT = _core.Control
_CORE = struct.Struct("<BQ")
LARGEST = 128 * 1024  # bytes of one message


SUPERVISOR = "the process of the session that starts workers"
_LOOK_SECONDS = 0.5  # between two looks at a supervisor that does not answer
LOST_DESCRIPTOR = (
    "the program has closed file descriptors of the session, which it had not opened (as os.closerange(3, n) does), and cannot reach the session any "
    "more. Close only files that the program has opened. Call shutdown(), then init() for a new session"
)


class Sender:
    """This process's end towards the supervisor of the run in which it takes part. Thread-safe: a datagram is sent whole. `scope`: where a session has
    several drivers, the one of this process (see reactor.runtime.supervisor.joined_drivers)."""

    def __init__(self, scope=None):
        self._epoch, self._scope = _core.epoch(), scope

    def tell(self, request, *arguments):
        data = pickle.dumps((request, *arguments) if self._scope is None else ("for", self._scope, request, *arguments))
        if len(data) > LARGEST:
            raise ValueError(f"{request}: {len(data)} bytes are too many for a control message (at most {LARGEST})")
        silence = pause = None
        while (
            error := _core.send_message(self._epoch, data)
        ) == errno.EAGAIN:  # the supervisor is busy, and its socket full
            silence = silence or Silence(_core.supervisor_pid(), SUPERVISOR, request)
            silence.look()
            pause = min(2 * (pause or 0.0005), 0.05)
            time.sleep(pause)
        if error == errno.EBADF:
            raise RuntimeError(f"{request}: {LOST_DESCRIPTOR}")
        if error:
            raise RuntimeError(
                f"{request}: the processes of the session have ended ({os.strerror(error)}). Call shutdown(), then init() for a new session"
            )

    def ask(self, request, *arguments, timeout=None):
        """Sends a request and returns its answer. Raises the exception that the supervisor answered, or TimeoutError after `timeout` seconds; without
        `timeout`, Unanswered if the supervisor is stopped or hangs."""
        ref, offset = _core.request()
        self.tell(request, *arguments, offset)
        ok_and_value = _core.get([ref], _LOOK_SECONDS if timeout is None else timeout, False)
        if ok_and_value is None and timeout is None:
            silence = Silence(_core.supervisor_pid(), SUPERVISOR, request)
            while ok_and_value is None:
                silence.look()
                ok_and_value = _core.get([ref], _LOOK_SECONDS, False)
        if ok_and_value is None:
            raise TimeoutError(f"the supervisor did not answer {request!r} within {timeout} s")
        ok, value = ok_and_value[0]
        if not ok:
            raise value
        return value


def parse(data):
    """The tuple of a datagram, from the core or from Python."""
    return _CORE.unpack(data) if data[0] != 0x80 else pickle.loads(data)
