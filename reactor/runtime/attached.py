"""A driver's side of a session that another process has started; reactor.runtime.drivers is the supervisor's side."""

import os
import pickle
import socket
import struct
import sys
import threading
from typing import Any

from reactor import _core, codec
from reactor.runtime import forks, output, spawning
from reactor.runtime.control import Sender
from reactor.runtime.driver import refuse_second_run
from reactor.runtime.drivers import KEEPS, credentials, framed

_ENDS_SECONDS = 15  # that a driver which leaves waits for the end of what it has started


def connect(name):
    """A connection to the session that listens at the socket of this name (bytes), or None. PermissionError if that is another user's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(name)
        if credentials(connection)[1] != os.getuid():
            raise PermissionError(f"the socket {name!r} is another user's")
    except (ConnectionRefusedError, FileNotFoundError):
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection


def ask(connection, what="facts", **more):
    """The facts of the session at the other end (dict). ConnectionError if it ends meanwhile."""
    with connection:
        connection.sendall(framed({"what": what, **more}))
        return _answer(connection)[0]


def _answer(connection):
    """(what was answered, the descriptors that came with it)"""
    data, fds, _flags, _ = socket.recv_fds(connection, 1 << 16, 3)
    try:
        while data and (len(data) < 4 or len(data) < 4 + struct.unpack("<I", data[:4])[0]):
            part = connection.recv(1 << 16)
            data = data + part if part else b""
        if not data:
            raise ConnectionError("the session has ended")
        return pickle.loads(data[4:]), fds
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise


class Attached:
    """One driver in a session of somebody else's. Made by `start`, ended by `stop`. The attributes are those of Driver that its user needs.

    Arguments: connection, as `connect` gives it; settings, dict for the plugin of this driver's own workers; preload, as Driver takes it;
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
        """ConnectionError: the session has ended, or refuses. RuntimeError: this process takes part in a run already."""
        refuse_second_run()
        codec.install()
        self._line.sendall(
            framed(
                {
                    "what": "attach",
                    "settings": self._own,
                    "about": self._about,
                    "path": list(sys.path),
                    "cwd": spawning.current_directory(),
                    "preload": self._preload,
                }
            )
        )
        self.facts, fds = _answer(self._line)
        if "error" in self.facts:
            self._line.close()
            raise ConnectionError(self.facts["error"])
        self.settings = self.facts.pop("settings")
        send, heap, *spill = (_above_standard(fd) for fd in fds)
        self._socket = socket.socket(fileno=send)
        _core.attach_driver(heap, self.facts["slot"], send, spill[0] if spill else -1, self.facts["number"])
        forks.stays_with_parent(self)
        self.control = Sender(self._socket, self.settings["scope"])
        self._thread = threading.Thread(target=self._read_line, name="reactor-output", daemon=True)
        self._thread.start()

    def _read_line(self):
        output.read_frames(self._line, self, _core.collect_if_asked)
        if not self._stopping:
            _core.abort()

    def forget(self):
        """In a forked child: lets go of the descriptors, and of nothing else."""
        self._line.close()
        self._socket.close()

    def stop(self):
        """Leaves the session; waits until all that belongs to this driver has ended. Arrays that the program still has stay valid."""
        self._stopping = True
        shown = _core.close()
        forks.over()
        try:
            if shown:
                self._line.sendall(KEEPS)
            self._line.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the session has ended
        self._thread.join(timeout=_ENDS_SECONDS)
        self._line.close()
        self._socket.close()


def _above_standard(fd):
    """The descriptor, or a copy: a program that has closed its standard streams must not find these in their place."""
    import fcntl

    if fd > 2:
        return fd
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return copy
