"""Transient federates: the files with which a program starts them again, and the socket to which these files connect.

`lfc` makes an executable for each federate, in `fed-gen/PROGRAM/bin` of the package. While a program with transient federates runs, such files exist
here, too. Each file asks the program to let its federate join, and ends when the program has accepted.

The socket is in a folder that only this user can reach. A request of another user's process is not read, and one that is incomplete, too long or too slow
is dropped: the program waits for the next.
"""

import fcntl
import os
import shlex
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

from reactor.lf import joining
from reactor.lf.errors import LFError
from reactor.lf.files import package_directory
from reactor.runtime.messages import peers, private_folder

_NEW = "new-"  # at the start of the name of a socket that does not listen yet
_REQUEST_SECONDS = 2  # within which a request must be complete


@contextmanager
def launchers(path, loop):
    """Makes the federates of the program in the file `path` startable while it runs in `loop`."""
    transient = {
        instance.name: instance.federate for instance in loop.top.children if instance.federate and instance.federate.transient
    }  # fmt: skip
    if not transient:
        yield
        return
    scripts = os.path.join(package_directory(path), "fed-gen", os.path.splitext(os.path.basename(path))[0], "bin")
    folder = os.path.join(tempfile.gettempdir(), f"reactor-{os.geteuid()}")
    with ExitStack() as ends:
        try:
            listener = ends.enter_context(_listening(folder, loop.federation))
            ends.enter_context(_files(scripts, transient, folder))
        except OSError as error:
            raise LFError(f"transient federates of this program could not be started again: {error}", path) from error
        threading.Thread(target=_accept, args=(listener, transient, loop), daemon=True).start()
        try:
            yield
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def _listening(folder, name):
    """A listening socket in the folder. OSError: the folder cannot be used, for example because another user can reach it."""
    with private_folder.opened(folder, create=True) as fd:
        _remove_stale(fd)
        new = f"{_NEW}{name}"
        with peers.listen(fd, new) as listener:
            os.rename(
                new, name, src_dir_fd=fd, dst_dir_fd=fd
            )  # under its own name it has accepted connections from the first moment
            try:
                yield listener
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=fd)
    private_folder.remove_if_empty(folder)


def _remove_stale(fd):
    """Removes sockets of programs that were killed."""
    for name in os.listdir(fd):
        try:
            if not name.startswith(_NEW) and (link := peers.connect(fd, name)):
                link.close()
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)


def _accept(listener, transient, loop):
    with suppress(OSError):  # the program has ended
        while True:
            link, _ = listener.accept()
            with link, suppress(OSError, ValueError):  # of this connection
                if peers.is_own(link):
                    link.sendall(joining.ACCEPTED if _joins(_requested(link), transient, loop) else joining.REFUSED)


def _requested(link):
    """The name in a request. OSError or ValueError: there is no complete request in time."""
    deadline = time.monotonic() + _REQUEST_SECONDS
    [length] = joining.LENGTH.unpack(_received(link, joining.LENGTH.size, deadline))
    if length > joining.LONGEST:
        raise ValueError(f"the name of a federate has {length} bytes")
    return _received(link, length, deadline).decode()


def _received(link, size, deadline):
    data = b""
    while len(data) < size:
        link.settimeout(max(deadline - time.monotonic(), 0.001))
        part = link.recv(size - len(data))
        if not part:
            raise ConnectionError("the connection was closed")
        data += part
    return data


def _joins(name, transient, loop):
    federate = transient.get(name)
    if federate is None or federate.present:
        return False
    # Asked by a reaction that runs, it joins at the next microstep: at the same tag in every run.
    loop.inbox.append((federate, loop.physical() if loop.waiting else 0, None))
    loop.wake.set()
    return True


@contextmanager
def _files(folder, names, sockets):
    """An executable for each name; `sockets`: the folder with the program's socket. The last program that uses the folder removes what was not there before."""
    created = _missing(folder)
    os.makedirs(folder, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    paths = [os.path.join(folder, f"federate__{name}") for name in names]
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        for path, name in zip(paths, names):
            command = shlex.join([sys.executable, "-SE", joining.__file__, name, sockets])
            with open(path, "w") as file:
                file.write(f'#!/bin/sh\nexec {command} "$@"\n')
            os.chmod(path, 0o755)
        yield
    finally:
        with suppress(OSError):  # another program uses them
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in paths:
                os.unlink(path)
            for one in created:
                os.rmdir(one)
        os.close(lock)


def _missing(folder):
    """The folders of a path that are not there, innermost first."""
    found = []
    while not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found
