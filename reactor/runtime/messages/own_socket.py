"""Sockets of the runtime in a process whose program may close descriptors that it has not opened."""

import errno
import os
import socket

from reactor import _core


class OwnSocket(socket.socket):
    """A socket at a high number (memory/descriptor.h). If the program has closed this number, and perhaps has opened a file that has it now, each use
    raises OSError, and nothing is read from that file, written to it or closed."""

    def __init__(self, other):
        """Takes over the descriptor of another socket."""
        super().__init__(fileno=_core.move_high(other.detach()))
        self._file = _identity(self.fileno())

    def is_own(self):
        try:
            return _identity(self.fileno()) == self._file
        except OSError:
            return False

    def check(self):
        """OSError if the descriptor is not this socket's any more."""
        if not self.is_own():
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def recv(self, *arguments):
        self.check()
        return super().recv(*arguments)

    def sendall(self, *arguments):
        self.check()
        return super().sendall(*arguments)

    def shutdown(self, how):
        self.check()
        super().shutdown(how)

    def close(self):
        if not self.is_own():
            self.detach()
        super().close()


def pair(kind=socket.SOCK_STREAM):
    """Two connected ends: an OwnSocket, and a socket for another process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    return OwnSocket(ours), theirs


def _identity(descriptor):
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
