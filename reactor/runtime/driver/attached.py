"""A driver's side of a session that another process has started; reactor.runtime.supervisor.joined_drivers is the supervisor's side."""

import os
import select
import socket
import sys
import threading
import time
from typing import Any

from reactor import _core, codec
from reactor.runtime.driver.driver import refuse_second_run
from reactor.runtime.messages import frames, output
from reactor.runtime.messages.control import Sender
from reactor.runtime.messages.own_socket import OwnSocket
from reactor.runtime.messages.peers import credentials
from reactor.runtime.processes import forks
from reactor.runtime.spawning import spawning
from reactor.runtime.supervisor.joined_drivers import KEEPS

_ENDS_SECONDS = 15  # that a driver which leaves waits for the end of what it has started
ASK_SECONDS = 10  # after which a session that does not answer a question counts as absent
_ATTACH_SECONDS = 60  # the session may be importing a large module for another driver


def ask(connection, what="facts", **more):
    """The facts of the session at the other end (dict); `connection`: as messages.peers.connect gives it. ConnectionError if it ends meanwhile
    or answers with an error, TimeoutError if it does not answer."""
    (answer,) = ask_all([connection], what, **more)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def ask_all(connections, what="facts", **more):
    """Asks several sessions at the same time, closes the connections, and returns for each its facts (dict), or the ConnectionError or TimeoutError."""
    deadline, request = time.monotonic() + ASK_SECONDS, frames.pack({"what": what, **more})
    failed = {}
    for connection in connections:
        try:
            _send(connection, request, deadline)
        except (ConnectionError, TimeoutError) as error:
            failed[connection] = error
    answers = [failed.get(connection) or _answer_or_error(connection, deadline) for connection in connections]
    for connection in connections:
        connection.close()
    return answers


def _answer_or_error(connection, deadline):
    try:
        return _answer(connection, deadline)[0]
    except (ConnectionError, TimeoutError) as error:
        return error


def _send(connection, data, deadline):
    while data:
        _wait(connection, select.POLLOUT, deadline)
        data = data[connection.send(data) :]


def _wait(connection, event, deadline):
    poll = select.poll()
    poll.register(connection, event)
    if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
        pid = credentials(connection)[0]
        raise TimeoutError(
            f"the session that process {pid} has started does not answer. It is stopped (then `kill -CONT` continues it), or very busy"
        )


def _answer(connection, deadline):
    """(what was answered, the descriptors that came with it)"""
    incoming, fds = frames.Incoming(), []
    try:
        while True:
            _wait(connection, select.POLLIN, deadline)
            if fds:
                data = connection.recv(min(incoming.missing, 1 << 16))
            else:
                data, fds, _flags, _ = socket.recv_fds(connection, min(incoming.missing, 1 << 16), 3)
            if not data:
                raise ConnectionError("the session has ended")
            if (frame := incoming.feed(data)) is not None:
                break
        if "error" in frame[1]:
            raise ConnectionError(frame[1]["error"])
        return frame[1], fds
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise


class Attached:
    """One driver in a session of somebody else's. Made by `start`, ended by `stop`. The attributes are those of Driver that its user needs.

    Arguments: connection, as messages.peers.connect gives it; settings, dict for the plugin of this driver's own workers; preload, as Driver takes it;
    about, dict for whoever asks which drivers there are.
    """

    inline = False
    zygote = None

    def __init__(self, connection, settings, preload=(), about=None):
        self._line = connection
        self._about = about or {}
        self._own, self._preload = settings, list(preload)
        self.settings: Any = None  # all of them, from `start` on
        self.facts = None  # of the session
        self.show = self.lost = None
        self.control = self._socket = self._thread = None
        self._stopping = False

    def start(self):
        """ConnectionError: the session has ended, or refuses. TimeoutError: it does not answer. RuntimeError: this process takes part in a run already."""
        refuse_second_run()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        codec.install()
        request = {
            "what": "attach",
            "settings": self._own,
            "about": self._about,
            "path": list(sys.path),
            "cwd": spawning.current_directory(),
            "preload": self._preload,
        }
        deadline = time.monotonic() + _ATTACH_SECONDS
        _send(self._line, frames.pack(request, frames.PICKLE), deadline)
        self.facts, fds = _answer(self._line, deadline)
        self._line.setblocking(True)
        self.settings = self.facts.pop("settings")
        send, heap, *spill = (_core.move_high(fd) for fd in fds)
        self._line = OwnSocket(self._line)
        self._socket = OwnSocket(socket.socket(fileno=send))
        _core.attach_driver(
            heap, self.facts["slot"], self._socket.fileno(), spill[0] if spill else -1, self.facts["number"]
        )
        forks.stays_with_parent(self)
        self.control = Sender((self.facts["number"],))
        thread = threading.Thread(target=self._read_line, name="reactor-output", daemon=True)
        thread.start()
        self._thread = thread

    def _read_line(self):
        output.read_frames(self._line, self, _core.collect_if_asked)
        if not self._stopping:
            if not self._line.is_own():
                _core.lost_descriptor()
            _core.abort()

    def forget(self):
        """In a forked child: lets go of the descriptors, and of nothing else."""
        self._line.close()
        self._socket.close()

    def stop(self):
        """Leaves the session, also if `start` has failed in the middle; waits until all that belongs to this driver has ended. Arrays that the program still
        has stay valid."""
        self._stopping = True
        shown = _core.close()
        forks.over()
        try:
            if shown:
                self._line.sendall(KEEPS)
            self._line.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the session has ended
        if self._thread is not None:
            self._thread.join(timeout=_ENDS_SECONDS)
        self._line.close()
        if self._socket is not None:
            self._socket.close()
