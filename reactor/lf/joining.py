"""Asks a running program to let a transient federate join: `joining.py FEDERATE FOLDER -i FEDERATION`. Needs nothing but the interpreter.

The program listens on the socket FEDERATION in FOLDER, which only its user can reach. A request is the length of the federate's name, 2 bytes, and the
name; the answer is ACCEPTED or REFUSED.
"""

import os
import struct
import sys

ACCEPTED, REFUSED = b"1", b"0"
LENGTH = struct.Struct("<H")
LONGEST = 4096  # bytes of a name
_SECONDS = 60  # that the program has for its answer


def main(name, folder, federation):
    """Returns the exit status, or the text of an error."""
    private_folder, peers = _module("messages", "private_folder"), _module("messages", "peers")
    ended = f"the program {federation} has ended, or does not accept federates"
    if os.path.basename(federation) != federation:
        return ended
    try:
        with private_folder.opened(folder) as fd:
            link = peers.connect(fd, federation)
    except OSError:
        return ended
    if link is None:
        return ended
    with link:
        link.settimeout(_SECONDS)
        try:
            link.sendall(LENGTH.pack(len(name.encode())) + name.encode())
            answer = link.recv(1)
        except OSError:
            answer = b""
    if not answer:
        return f"the program {federation} did not answer within {_SECONDS} s, or it has ended"
    return 0 if answer == ACCEPTED else f"federate {name} takes part already, or there is no such federate"


def _module(room, name):
    """A module of a package in reactor.runtime that needs nothing of it."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(
        name, os.path.join(os.path.dirname(__file__), os.pardir, "runtime", room, f"{name}.py")
    )
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[sys.argv.index("-i") + 1]))
