"""Sessions that other drivers can join, and how they are found: heads (`rayshim start --head`), which outlive their drivers, and the sessions that
programs have started for themselves by `init`.

Each listens on a socket in this user's folder (rayshim.session.places) of Ray's temporary directory (`--temp-dir`, RAY_TMPDIR), so that users and tests do
not find the sessions of others. Both ends check the user of the other end. Whoever does not answer in time is treated as absent. The port of an address
is only a number; no process listens there.
"""

import os

from rayshim.errors.address import get_node_ip_address
from rayshim.errors.exceptions import RaySystemError
from rayshim.session import places, rendezvous
from rayshim.session.rendezvous import HEAD, OWN

PLACEMENT = "isolated"  # of all that drivers from outside start
_FIRST_PORT, _PORTS = 20000, 40000  # of the addresses of programs' own sessions
NOT_FOUND = (
    "Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag or "
    "`RAY_ADDRESS` environment variable."
)


def directory_of(given=None):
    """Ray's temporary directory, which sessions that are found by "auto" have in common with whoever looks for them."""
    return os.path.abspath(given or os.environ.get("RAY_TMPDIR") or "/tmp")


def folders(directory=None):
    """The folders in which sessions of this directory may have their sockets, the preferred one first. If none was named, and /tmp is not usable, there
    are others."""
    if given := directory or os.environ.get("RAY_TMPDIR"):
        return [places.folder_in(given)]
    others = (os.environ.get(name) for name in ("XDG_RUNTIME_DIR", "TMPDIR"))
    return list(dict.fromkeys(map(places.folder_in, ["/tmp", *(one for one in others if one and os.path.isdir(one))])))


def about(address, port, ordering, resources):
    """The facts of a session that it answers to any process of its user, a dict."""
    import sys
    import time

    from rayshim.session.version import RAY_VERSION, VERSION

    return {
        "address": address,
        "port": port,
        "pid": os.getpid(),
        "started": time.time(),
        "ordering": ordering,
        "placement": PLACEMENT,
        "version": VERSION,
        "ray_version": RAY_VERSION,
        "python": list(sys.version_info[:3]),
        "resources": resources,
    }


def listen(port, directory=None):
    """A new listening socket for a head with this port, and its Place. RaySystemError: no folder can be used."""
    try:
        return _listen(HEAD, port, directory)
    except OSError as error:
        raise RaySystemError(not_found(error)) from None


def listen_for_own(directory=None):
    """A new listening socket for a program's own session, and its Place, whose port no other session has. OSError: no folder can be used."""
    while True:
        port = _FIRST_PORT + int.from_bytes(os.urandom(2), "little") % _PORTS
        listener, place = _listen(OWN, port, directory)
        if [one.port for one in rendezvous.found(place.folder, OWN)].count(port) < 2:  # none: the folder cannot be read
            return listener, place
        withdraw(listener, place)


def withdraw(listener, place):
    """Undoes what `listen` has done."""
    listener.close()
    rendezvous.withdraw(place)


def _listen(kind, port, directory):
    refused = None
    for folder in folders(directory):
        try:
            return rendezvous.listen(folder, kind, port)
        except OSError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def not_found(error):
    """The text for an OSError of `listen_for_own`."""
    return places.refusal("Other programs cannot find this session, because its socket has no place", error)


def any_runs(directory=None):
    """Whether there may be a head. Costs microseconds if there is none."""
    return any(rendezvous.found(folder, HEAD) for folder in folders(directory))


def look(kind, directory=None, port=None):
    """(the facts of the sessions of this kind, the numbers of the processes whose sessions do not answer). All are asked at the same time. `port`: only
    sessions with this port."""
    there = [
        place for folder in folders(directory) for place in rendezvous.found(folder, kind) if port in (None, place.port)
    ]
    connections = [(place, connection) for place in there if (connection := rendezvous.connect(place)) is not None]
    if not connections:
        return [], []
    from reactor.runtime.driver import attached

    answers, silent = [], []
    for (place, _), answer in zip(connections, attached.ask_all([connection for _, connection in connections])):
        if isinstance(answer, TimeoutError):
            silent.append(place.pid)
        elif isinstance(answer, ConnectionError):  # it has ended meanwhile
            rendezvous.withdraw_if_stale(place)
        elif not isinstance(answer, BaseException) and _is_whole(answer):
            answers.append({**answer, "place": place})
    return sorted(answers, key=lambda facts: -facts["started"]), silent


def running(directory=None):
    """The facts of each head that runs, those started last first: dicts with address, pid, started, ..."""
    return look(HEAD, directory)[0]


def connect(facts):
    """A connection to the session with these facts, or None if it has ended."""
    return rendezvous.connect(facts["place"])


def _is_whole(facts):
    """Whether an answer has the facts that are used here. Another version of rayshim may run there."""
    kinds = {
        "address": str,
        "port": int,
        "pid": int,
        "supervisor": int,
        "started": float,
        "version": str,
        "python": list,
    }
    return all(isinstance(facts.get(name), kind) for name, kind in kinds.items())


def is_here(host):
    """Whether a host's name or address is this machine's."""
    from socket import gethostname

    return host in ("localhost", "127.0.0.1", "0.0.0.0", "::1", "[::1]", gethostname()) or host == get_node_ip_address()  # noqa: S104


def find(address, directory=None):
    """The facts of the session at `address` ("auto": the head that was started last, or else the one session
    that a program has started for itself; else host:port or ray://host:port of this machine), or None."""
    found = running(directory)
    if address == "auto":
        return found[0] if found else _only_own(directory)
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not is_here(host):
        return None
    ports = ("port", "client_port") if "://" in address else ("port",)
    return next((facts for facts in found if any(str(facts.get(p)) == port for p in ports)), None) or _own_at(
        port, directory
    )


def _only_own(directory):
    """The facts of the session that a program with this temporary directory has started for itself, or None. ConnectionError: there are several."""
    found = [facts for facts in look(OWN, directory)[0] if facts.get("directory") == directory_of(directory)]
    if len(found) > 1:
        raise ConnectionError(
            f"Found multiple active Ray instances: {{{', '.join(repr(facts['address']) for facts in found)}}}. Please specify the one to connect to "
            "by setting the `--address` flag or `RAY_ADDRESS` environment variable."
        )
    return found[0] if found else None


def _own_at(port, directory):
    """The facts of the program's own session whose address has this port (text), or None. An address may be of another temporary directory."""
    if not port.isdecimal():
        return None
    found = look(OWN, directory, int(port))[0] or look(OWN, "/tmp", int(port))[0]
    return found[0] if found else None
