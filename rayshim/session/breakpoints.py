"""Breakpoints in workers, at which `rayshim debug` attaches.

A worker at a breakpoint listens on a socket in the session's folder, which only this user can reach, and on no port. The kernel says whose process
connects; another user's is closed before anything is read. The first byte of a connection says what it wants: FACTS, a JSON object, or ATTACH, after
which the connection is the debugger's terminal. A connection that wants neither is closed, and a silent one keeps no other out.
"""

import json
import os
import selectors
import socket
import threading

from reactor.runtime.messages import peers, private_folder

from rayshim.session import folder

FACTS, ATTACH = b"?", b"!"
_PREFIX = "breakpoint_"
_SECONDS = 5  # that a worker has for its facts
_MOST_SILENT = 16  # connections of which nothing has come; of more, the oldest are closed
_LARGEST = 1 << 16  # bytes of the facts


def wait(facts, announce):
    """In a worker: waits until this user attaches, and returns the connection. `facts`: a dict for JSON; `announce()`: called once it listens."""
    with private_folder.opened(folder.path(), create=True) as fd:
        name = f"{_PREFIX}{os.getpid()}_{threading.get_native_id()}"
        _remove(name, fd)  # of a process that had the same numbers
        try:
            with peers.listen(fd, name) as listener:
                announce()
                return _attached(listener, facts)
        finally:
            _remove(name, fd)


def _remove(name, fd):
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        pass


def _attached(listener, facts):
    """The connection that attaches; others are answered meanwhile."""
    silent = []  # connections, the oldest first
    with selectors.DefaultSelector() as ready:

        def forget(connection):
            ready.unregister(connection)
            silent.remove(connection)
            return connection

        ready.register(listener, selectors.EVENT_READ, None)
        try:
            while True:
                for key, _ in ready.select():
                    if key.data is None:
                        connection, _ = listener.accept()
                        silent.append(connection)
                        ready.register(connection, selectors.EVENT_READ, connection)
                        if not peers.is_own(connection):
                            forget(connection).close()
                        elif len(silent) > _MOST_SILENT:
                            forget(silent[0]).close()
                    elif key.data in silent:  # else it was closed a moment ago
                        connection = forget(key.data)
                        if _wants_to_attach(connection, facts):
                            return connection
                        connection.close()
        finally:
            for connection in silent:
                connection.close()


def _wants_to_attach(connection, facts):
    try:
        wanted = connection.recv(1)
        if wanted == FACTS:
            connection.sendall(json.dumps(facts).encode(), socket.MSG_DONTWAIT)  # it fits into the socket's buffer
    except OSError:
        return False
    return wanted == ATTACH


def waiting(sessions):
    """The breakpoints at which workers wait, a list of (path of the socket, facts). `sessions`: the paths of folders with sessions' folders."""
    found = []
    for parent in sessions:
        for one in _listed(parent):
            directory = os.path.join(parent, one)
            for name in _listed(directory):
                if name.startswith(_PREFIX) and (facts := _facts(directory, name)):
                    found.append((os.path.join(directory, name), facts))
    return sorted(found, key=lambda one: one[1]["since"])


def _listed(directory):
    try:
        with private_folder.opened(directory) as fd:
            return sorted(os.listdir(fd))
    except OSError:
        return []  # it has been removed, is no folder, or is not only this user's


def _facts(directory, name):
    """The facts of the worker that waits there; None: it waits no longer."""
    try:
        with _connected(os.path.join(directory, name)) as connection:
            connection.settimeout(_SECONDS)
            connection.sendall(FACTS)
            text = b""
            while len(text) < _LARGEST and (part := connection.recv(_LARGEST)):
                text += part
        return json.loads(text)
    except (OSError, ValueError):
        return None


def attach(path):
    """A connection to the debugger that waits at a path of `waiting`. ConnectionError: it waits no longer."""
    try:
        connection = _connected(path)
        connection.sendall(ATTACH)
    except OSError:
        raise ConnectionError(f"nothing waits at {path} any more") from None
    return connection


def _connected(path):
    directory, name = os.path.split(path)
    with private_folder.opened(directory) as fd:
        connection = peers.connect(fd, name)
    if connection is None:
        raise ConnectionRefusedError(path)
    connection.setblocking(True)
    return connection
