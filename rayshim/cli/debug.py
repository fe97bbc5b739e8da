"""The command `debug`: attaches this terminal to a breakpoint at which a worker waits."""

import os
import selectors
import socket
import sys

from reactor.printable import printable
from reactor.runtime.processes import process_stat

from rayshim.cli import running
from rayshim.session import breakpoints, folder

_PART = 1 << 16


def main(argv):
    """Returns the exit status: 1 if no worker waits."""
    wanted = _parser().parse_args(argv)
    found = _waiting(wanted.pid)
    if not found:
        whose = (
            "no worker of this user's sessions waits" if wanted.pid is None else f"process {wanted.pid} does not wait"
        )
        print(f"{whose} at a breakpoint. `breakpoint()` in a task or an actor makes its worker wait", file=sys.stderr)
        return 1
    while len(found) > 1:
        print("Active breakpoints:")
        for number, (_, facts) in enumerate(found):
            print(f"  {number}: pid {facts['pid']}  {_place(facts)}")
        print("Number of the breakpoint (Enter: list them again): ", end="", flush=True)
        line = _line()
        if not line:
            return 0
        if line.strip().isdecimal() and int(line) < len(found):
            found = [found[int(line)]]
        else:
            found = _waiting(None) or found
    path, facts = found[0]
    try:
        connection = breakpoints.attach(path)
    except ConnectionError as error:
        print(f"rayshim debug: {error}", file=sys.stderr)
        return 1
    print(f"attached to pid {facts['pid']} at {_place(facts)}. `c` lets it continue, `q` ends its task", flush=True)
    with connection:
        _relay(connection)
    return 0


def _parser():
    import argparse

    parser = argparse.ArgumentParser(
        prog="rayshim debug",
        description="Attaches this terminal to a breakpoint (`breakpoint()`, `ray.util.pdb.set_trace()`) at which a task or an actor of this user's "
        "sessions waits. If several wait, it lists them and asks which.",
        epilog="example:\n  rayshim debug",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pid", type=int, nargs="?", metavar="PID", help="number of the process of the worker")
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("-v", "--verbose", action="store_true", help=argparse.SUPPRESS)
    return parser


def _waiting(pid):
    found = breakpoints.waiting(_folders())
    return [one for one in found if pid is None or one[1]["pid"] == pid]


def _folders():
    """The folders in which sessions of this user may have theirs: those of this process's environment and of the environments of all sessions."""
    environments = [dict(os.environ)]
    for session in running.sessions():
        try:
            variables = process_stat.words(session.driver.pid, "environ")
        except OSError:
            continue  # it has ended, or is another user's
        environments.append(dict(line.split("=", 1) for line in variables if "=" in line))
    return list(dict.fromkeys(map(folder.parent_in, environments)))


def _line():
    """A line of the standard input, of which nothing more is read: the rest is for the debugger."""
    line = b""
    while not line.endswith(b"\n") and (one := os.read(sys.stdin.fileno(), 1)):
        line += one
    return line.decode(errors="replace")


def _place(facts):
    return printable(f"{facts['file']}:{facts['line']} in {facts['function']}")


def _relay(connection):
    """Passes on what is typed and what the debugger prints, until one of them ends."""
    with selectors.DefaultSelector() as ready:
        ready.register(connection, selectors.EVENT_READ)
        source = sys.stdin.fileno()
        try:
            ready.register(source, selectors.EVENT_READ)
        except PermissionError:  # a file: always ready
            connection.sendall(sys.stdin.buffer.read())
            connection.shutdown(socket.SHUT_WR)
        while True:
            for key, _ in ready.select():
                try:
                    data = os.read(key.fd, _PART)
                    if key.fd == source and data:
                        connection.sendall(data)
                except OSError:
                    return  # the other end is gone
                if key.fd != source:
                    if not data:
                        return
                    sys.stdout.buffer.write(data)
                    sys.stdout.flush()
                elif not data:
                    ready.unregister(source)
                    connection.shutdown(socket.SHUT_WR)
