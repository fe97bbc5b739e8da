"""Messages to the supervisor, and their format on the socket.

Each message is one datagram. A message of the core is a byte and an offset. Other messages are a pickled tuple whose first item is the name of the
request. A request with an answer contains the offset of an object that the supervisor completes (`ask`).
"""

import os
import pickle
import struct

from reactor import _core

RELEASE, DRAIN, SPAWN, RESOURCES, REFUSE, SPILLED, COLLECT = _core.Control
_CORE = struct.Struct("<BQ")
LARGEST = 128 * 1024  # bytes of one message


class Sender:
    """This process's end towards the supervisor. Thread-safe: a datagram is sent whole. `scope`: where a session has several drivers, the
    one of this process (see reactor.runtime.drivers)."""

    def __init__(self, socket, scope=None):
        self._socket, self._scope = socket, scope

    def tell(self, request, *arguments):
        data = pickle.dumps((request, *arguments) if self._scope is None else ("for", self._scope, request, *arguments))
        if len(data) > LARGEST:
            raise ValueError(f"{request}: {len(data)} bytes are too many for a control message (at most {LARGEST})")
        error = _core.send_message(self._socket.fileno(), data)
        if error:
            raise RuntimeError(
                f"{request}: the processes of the session have ended ({os.strerror(error)}). Call shutdown(), then init() for a new session"
            )

    def ask(self, request, *arguments, timeout=None):
        """Sends a request and returns its answer. Raises the exception that the supervisor answered, or TimeoutError after `timeout` seconds."""
        ref, offset = _core.request()
        self.tell(request, *arguments, offset)
        ok_and_value = _core.get([ref], timeout)
        if ok_and_value is None:
            raise TimeoutError(f"the supervisor did not answer {request!r} within {timeout} s")
        ok, value = ok_and_value[0]
        if not ok:
            raise value
        return value


def parse(data):
    """The tuple of a datagram, from the core or from Python."""
    return _CORE.unpack(data) if data[0] != 0x80 else pickle.loads(data)
