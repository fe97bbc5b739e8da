"""The sockets of sessions: files in this user's folder of a temporary directory (rayshim.session.places).

A name consists of the kind of the session, the port of its address and the number of the process that listens. So no name is used twice, and a socket
that refuses connections is stale: its session was killed with all its processes. Whoever finds it removes it.
"""

import os
import re
from contextlib import suppress
from typing import NamedTuple

from rayshim.session import places

HEAD, OWN = "head", "own"  # kinds: of `rayshim start --head`; that a program has started for itself


class Place(NamedTuple):
    """A socket. `folder`: its path; `kind`: HEAD or OWN; `port`: of the session's address; `pid`: of the process that listens."""

    folder: str
    kind: str
    port: int
    pid: int

    @property
    def name(self):
        return f"{self.kind}-{self.port}-{self.pid}{places.namespace()}"


def listen(folder, kind, port):
    """A new listening socket, and its Place. NotPrivate: another user can reach the folder; OSError: the folder cannot be created."""
    from reactor.runtime.messages import peers, private_folder

    place = Place(folder, kind, port, os.getpid())
    beginning = f"new-{place.pid}-{os.urandom(4).hex()}{places.namespace()}"
    for last in (False, False, False, False, True):
        try:
            with private_folder.opened(folder, create=True) as fd:
                _remove_stale(fd)
                listener = peers.listen(fd, beginning)
                os.rename(beginning, place.name, src_dir_fd=fd, dst_dir_fd=fd)  # whoever finds this name can connect
            return listener, place
        except FileNotFoundError:  # the folder was empty, and the last session in it has removed it
            if last:
                raise
    raise AssertionError


def withdraw(place):
    """Removes a socket whose session has ended, and the folder if nothing else is in it."""
    from reactor.runtime.messages import private_folder

    with suppress(OSError), private_folder.opened(place.folder) as fd:
        os.unlink(place.name, dir_fd=fd)
    private_folder.remove_if_empty(place.folder)


def found(folder, kind):
    """The Places of this kind in the folder; none in a folder that is refused."""
    if not os.path.lexists(folder):  # the usual case, in microseconds
        return []
    from reactor.runtime.messages import private_folder

    try:
        with private_folder.opened(folder) as fd:
            names = [_parsed(name) for name in os.listdir(fd)]
    except OSError:
        return []
    return [Place(folder, *name) for name in names if name and name[0] == kind]


def connect(place):
    """A connection to the session of this user that listens there, or None."""
    from reactor.runtime.messages import peers, private_folder

    try:
        with private_folder.opened(place.folder) as fd:
            return peers.connect(fd, place.name)
    except ConnectionRefusedError:
        withdraw(place)
    except OSError:
        pass
    return None


def withdraw_if_stale(place):
    """Removes the socket if no process listens there any more."""
    if (connection := connect(place)) is not None:
        connection.close()


def _parsed(name):
    """(kind, port, pid) of the name of a socket of this container, or None."""
    match = re.fullmatch(rf"({HEAD}|{OWN})-(\d+)-(\d+){places.namespace()}", name)
    return match and (match[1], int(match[2]), int(match[3]))


def _remove_stale(fd):
    """Removes sockets of processes that have ended, also those that had not begun to listen."""
    for name in os.listdir(fd):
        match = re.fullmatch(rf"(?:(?:{HEAD}|{OWN})-\d+-(\d+)|new-(\d+)-[0-9a-f]+){places.namespace()}", name)
        if match and not os.path.exists(f"/proc/{match[1] or match[2]}"):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)
