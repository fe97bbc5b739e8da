"""Connections between processes of one user, by sockets in a folder that only this user can reach (reactor.runtime.messages.private_folder).

The kernel says who is at the other end. Nothing is sent to another user's process, and nothing that it sends is read. The folder is given as a descriptor:
so the path has room in a socket's address, which has 107 bytes, and nobody can exchange the folder meanwhile.
"""

import os
import socket
import struct
import time

_CONNECT_SECONDS = 1  # for which a full queue of connections is tried again
_PAUSE_SECONDS = 0.005


def listen(folder, name, backlog=64):
    """A new listening socket with this name in the folder. OSError: the name is taken, or the folder was removed."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(_path(folder, name))
        os.chmod(name, 0o600, dir_fd=folder)
        listener.listen(backlog)
    except BaseException:
        listener.close()
        raise
    return listener


def connect(folder, name):
    """A connection (non-blocking) to the process of this user that listens there. None: it accepts none, or is another user's or another
    container's. ConnectionRefusedError: no process listens there any more."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        deadline = time.monotonic() + _CONNECT_SECONDS
        while True:
            try:
                connection.connect(_path(folder, name))
                break
            except BlockingIOError:  # its queue is full
                if time.monotonic() > deadline:
                    connection.close()
                    return None
                time.sleep(_PAUSE_SECONDS)
    except BaseException as error:
        connection.close()
        if isinstance(error, OSError) and not isinstance(error, ConnectionRefusedError):
            return None
        raise
    if not is_own(connection):
        connection.close()
        return None
    return connection


def is_own(connection):
    """Whether the process at the other end is of this user and of this namespace of process ids."""
    pid, uid, _ = credentials(connection)
    return uid == os.geteuid() and pid > 0


def credentials(connection):
    """(pid, uid, gid) of the process at the other end: of who has connected, or who listens. A process that cannot be seen from here has pid 0."""
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))


def _path(folder, name):
    return f"/proc/self/fd/{folder}/{name}"
