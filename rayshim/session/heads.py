"""Sessions that outlive their drivers (`rayshim start --head`): where they are found.

Each listens on an abstract socket: it has no file, and is gone with the process. The name holds the user and Ray's temporary directory
(`--temp-dir`, RAY_TMPDIR), so that users, and tests, do not meet each other's; both ends look who is at the other.
"""

import os

from rayshim.errors.exceptions import RaySystemError

MOST = 8  # of one user and directory at a time
NOT_FOUND = (
    "Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag or "
    "`RAY_ADDRESS` environment variable."
)


def names(directory=None):
    """The names (bytes) of the sockets of heads, by their numbers."""
    from binascii import crc32  # hashlib takes milliseconds to import

    directory = os.fsencode(os.path.abspath(directory or os.environ.get("RAY_TMPDIR") or "/tmp"))
    whose = b"%d-%08x-%s" % (os.getuid(), crc32(directory), directory[-60:])  # a socket's name has room for 107 bytes
    return [b"\0rayshim-%d-%s" % (number, whose) for number in range(MOST)]


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
    """A connection to the head with these facts, or None if it has ended."""
    from reactor.runtime import attached

    return attached.connect(names(directory)[facts["number"]])


def is_here(host):
    """Whether a host's name or address is this machine's."""
    from socket import gethostname

    return host in ("localhost", "127.0.0.1", "0.0.0.0", "::1", "[::1]", gethostname()) or host == own_address()  # noqa: S104


def own_address():
    from rayshim.errors.address import get_node_ip_address

    return get_node_ip_address()


def find(address, directory=None):
    """The facts of the head at `address` ("auto": the one that was started last; else host:port or ray://host:port of this machine), or None."""
    found = running(directory)
    if address == "auto":
        return found[0] if found else None
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not found or not is_here(host):
        return None
    ports = ("port", "client_port") if "://" in address else ("port",)
    return next((facts for facts in found if any(str(facts[p]) == port for p in ports)), None)
