"""Sessions that outlive their drivers (`rayshim start --head`): where they are found.

Each listens on an abstract socket: it has no file, and is gone with the process. The name holds the user and Ray's temporary directory
(`--temp-dir`, RAY_TMPDIR), so that users, and tests, do not meet each other's; both ends look who is at the other.
"""

import os

from reactor.runtime import attached

from rayshim.errors.exceptions import RaySystemError

MOST = 8  # of one user and directory at a time
NOT_FOUND = (
    "Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag or "
    "`RAY_ADDRESS` environment variable."
)


def name(number, directory=None):
    """The name (bytes) of the socket of head `number`."""
    directory = os.path.realpath(directory or os.environ.get("RAY_TMPDIR") or "/tmp")
    return f"\0rayshim-{os.getuid()}-{number}-{directory}".encode()[:100]


def listen(directory=None):
    """A new listening socket for a head. RaySystemError: there are too many."""
    import socket

    for number in range(MOST):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(name(number, directory))
        except OSError:
            listener.close()
            continue
        listener.listen(64)
        return listener
    raise RaySystemError(f"{MOST} heads run already. `rayshim stop` ends them")


def connections(directory=None):
    """A connection to each head that runs. A look that costs microseconds where there is none."""
    for number in range(MOST):
        try:
            connection = attached.connect(name(number, directory))
        except PermissionError:
            continue
        if connection is not None:
            yield connection


def running(directory=None):
    """The facts of each head that runs, those started last first: dicts with address, pid, started, ..."""
    found = []
    for connection in connections(directory):
        try:
            found.append(attached.ask(connection))
        except (ConnectionError, OSError):
            continue  # it has just ended
    return sorted(found, key=lambda facts: -facts["started"])


def connect(facts, directory=None):
    """A connection to the head with these facts, or None if it has ended."""
    for number in range(MOST):
        connection = attached.connect(name(number, directory))
        if connection is None:
            continue
        if number == facts["number"]:
            return connection
        connection.close()
    return None


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
