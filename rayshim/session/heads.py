"""Sessions that other drivers can join, and how they are found: heads (`rayshim start --head`), which outlive their drivers, and the sessions that
programs have started for themselves by `init`.

Each listens on an abstract socket, which has no file and disappears with the process. The name of a head's socket contains the user and Ray's temporary
directory (`--temp-dir`, RAY_TMPDIR), so that users and tests do not find the sessions of others. Both ends check the user of the other end. The name of
the socket of a program's own session contains the user and the port of its address. This port is only a number; no process listens there.
"""

import os

from rayshim.errors.address import get_node_ip_address
from rayshim.errors.exceptions import RaySystemError

PLACEMENT = "isolated"  # of all that drivers from outside start
_FIRST_PORT, _PORTS = 20000, 40000  # of the addresses of programs' own sessions
MOST = 8  # of one user and directory at a time
NOT_FOUND = (
    "Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag or "
    "`RAY_ADDRESS` environment variable."
)


def names(directory=None):
    """The names (bytes) of the sockets of heads, by their numbers."""
    from binascii import crc32  # hashlib takes milliseconds to import

    directory = os.fsencode(directory_of(directory))
    whose = b"%d-%08x-%s" % (os.getuid(), crc32(directory), directory[-60:])  # a socket's name has room for 107 bytes
    return [b"\0rayshim-%d-%s" % (number, whose) for number in range(MOST)]


def directory_of(given=None):
    """Ray's temporary directory, which sessions that are found by "auto" have in common with whoever looks for them."""
    return os.path.abspath(given or os.environ.get("RAY_TMPDIR") or "/tmp")


def about(address, port, number, ordering, resources):
    """What a session tells whoever asks, a dict; `number`: that of a head, None: a program's own session."""
    import sys
    import time

    from rayshim.session.version import RAY_VERSION, VERSION

    return {
        "address": address,
        "port": port,
        "number": number,
        "pid": os.getpid(),
        "started": time.time(),
        "ordering": ordering,
        "placement": PLACEMENT,
        "version": VERSION,
        "ray_version": RAY_VERSION,
        "python": list(sys.version_info[:3]),
        "resources": resources,
    }


def listen(directory=None):
    """A new listening socket for a head. RaySystemError: there are too many."""
    import socket

    for name in names(directory):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(name)
        except OSError:
            listener.close()
            continue
        listener.listen(64)
        return listener
    raise RaySystemError(
        f"{MOST} sessions of `rayshim start --head` are running, and no more are possible. `rayshim stop` ends them"
    )


def listen_for_own():
    """A new listening socket for a program's own session, and its port (int). (None, 0): this machine has no such sockets."""
    import socket

    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    for _ in range(100):
        port = _FIRST_PORT + int.from_bytes(os.urandom(2), "little") % _PORTS
        try:
            listener.bind(_own(port))
        except OSError:
            continue
        listener.listen(64)
        return listener, port
    listener.close()
    return None, 0


def _own(port):
    return b"\0rayshim-own-%d-%d" % (os.getuid(), port)


def any_runs(directory=None):
    """Whether a head runs, or somebody else has one of its names. Costs microseconds."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return any(probe.connect_ex(name) == 0 for name in names(directory))


def connections(directory=None):
    """A connection to each head that runs."""
    from reactor.runtime import attached

    for name in names(directory):
        try:
            connection = attached.connect(name)
        except PermissionError:
            continue
        if connection is not None:
            yield connection


def running(directory=None):
    """The facts of each head that runs, those started last first: dicts with address, pid, started, ..."""
    if not any_runs(directory):
        return []
    from reactor.runtime import attached

    found = []
    for connection in connections(directory):
        try:
            found.append(attached.ask(connection))
        except (ConnectionError, OSError):
            continue  # it has just ended
    return sorted(found, key=lambda facts: -facts["started"])


def connect(facts, directory=None):
    """A connection to the session with these facts, or None if it has ended."""
    from reactor.runtime import attached

    return attached.connect(_own(facts["port"]) if facts["number"] is None else names(directory)[facts["number"]])


def is_here(host):
    """Whether a host's name or address is this machine's."""
    from socket import gethostname

    return host in ("localhost", "127.0.0.1", "0.0.0.0", "::1", "[::1]", gethostname()) or host == get_node_ip_address()  # noqa: S104


def last(directory=None):
    """The facts of the head that was started last, or None."""
    return next(iter(running(directory)), None)


def find(address, directory=None):
    """The facts of the session at `address` ("auto": the head that was started last, or else the one session
    that a program has started for itself; else host:port or ray://host:port of this machine), or None."""
    found = running(directory)
    if address == "auto":
        return found[0] if found else _only_own(directory_of(directory))
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not is_here(host):
        return None
    ports = ("port", "client_port") if "://" in address else ("port",)
    return next((facts for facts in found if any(str(facts[p]) == port for p in ports)), None) or _own_at(port)


def _only_own(directory):
    """The facts of the session that a program with this temporary directory has started for itself, or None. ConnectionError: there are several."""
    with open("/proc/net/unix", "rb") as sockets:
        start = b"@" + _own(0)[1:-1]
        ports = sorted(
            {name[len(start) :].decode() for line in sockets for name in line.split()[7:] if name.startswith(start)}
        )
    found = [facts for facts in map(_own_at, ports) if facts and facts["directory"] == directory]
    if len(found) > 1:
        raise ConnectionError(
            f"Found multiple active Ray instances: {{{', '.join(repr(facts['address']) for facts in found)}}}. Please specify the one to connect to "
            "by setting the `--address` flag or `RAY_ADDRESS` environment variable."
        )
    return found[0] if found else None


def _own_at(port):
    """The facts of the program's own session whose address has this port (text), or None."""
    from reactor.runtime import attached

    connection = attached.connect(_own(int(port))) if port.isdecimal() else None
    try:
        return connection and attached.ask(connection)
    except (ConnectionError, OSError):
        return None  # it has just ended
