"""Transient federates: the files with which a program starts them again, and the socket to which these files connect.

`lfc` makes an executable for each federate, in `fed-gen/PROGRAM/bin` of the package. While a program with transient federates runs, such files exist
here, too. Each file asks the program to let its federate join, and ends when the program has accepted.
"""

import fcntl
import os
import shlex
import socket
import sys
import threading
from contextlib import contextmanager, suppress

from reactor.lf import joining
from reactor.lf.files import package_directory


@contextmanager
def launchers(path, loop):
    """Makes the federates of the program in the file `path` startable while it runs in `loop`."""
    transient = {
        instance.name: instance.federate for instance in loop.top.children if instance.federate and instance.federate.transient
    }  # fmt: skip
    if not transient:
        yield
        return
    folder = os.path.join(package_directory(path), "fed-gen", os.path.splitext(os.path.basename(path))[0], "bin")
    with socket.socket(socket.AF_UNIX) as listener, _files(folder, transient):
        listener.bind(joining.address(loop.federation))
        listener.listen()
        threading.Thread(target=_accept, args=(listener, transient, loop), daemon=True).start()
        try:
            yield
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(listener, transient, loop):
    with suppress(OSError):  # the program has ended
        while True:
            link, _ = listener.accept()
            with link:
                federate = transient.get(link.recv(1 << 10).decode())
                accepted = federate is not None and not federate.present
                if accepted:
                    # Asked by a reaction that runs, it joins at the next microstep: at the same tag in every run.
                    loop.inbox.append((federate, loop.physical() if loop.waiting else 0, None))
                    loop.wake.set()
                link.sendall(b"1" if accepted else b"0")


@contextmanager
def _files(folder, names):
    """An executable for each name. The last program that uses the folder removes what was not there before."""
    created = _missing(folder)
    os.makedirs(folder, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    paths = [os.path.join(folder, f"federate__{name}") for name in names]
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        for path, name in zip(paths, names):
            command = shlex.join([sys.executable, "-SE", joining.__file__, name])
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
