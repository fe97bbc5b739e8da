"""Asks a running program to let a transient federate join: `joining.py FEDERATE -i FEDERATION`. Needs nothing but the interpreter."""

import socket
import sys


def address(federation):
    """An address in the kernel's own name space: no file that could stay."""
    return f"\0reactor-{federation}"


if __name__ == "__main__":
    name, federation = sys.argv[1], sys.argv[sys.argv.index("-i") + 1]
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(address(federation))
        link.sendall(name.encode())
        sys.exit(0 if link.recv(1) == b"1" else f"federate {name} takes part already, or there is no such federate")
