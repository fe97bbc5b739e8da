"""The trace of a run, to which all its processes write: one file with a line per event, each written by a single write.

An event is [kind, seconds (time.monotonic, the same clock for all processes), pid, ...]. The oracle says what the kinds mean.
"""

import contextlib
import json
import os
import time

PATH = "FAULTS_TRACE"
_fd = None


def begin(path):
    """From now on this process writes to the file `path`; others are told of it by the environment."""
    global _fd
    if _fd is not None:
        os.close(_fd)
    _fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)


def write(kind, *facts):
    if _fd is None:
        begin(os.environ[PATH])
    # A process that is killed in the middle leaves a part of a line: the next one begins with a line of its own.
    os.write(_fd, b"\n" + json.dumps([kind, time.monotonic(), os.getpid(), *facts]).encode() + b"\n")


def read(path):
    """The events in the order in which they were written, but for those that their processes were killed in."""
    events = []
    with open(path) as file:
        for line in file:
            with contextlib.suppress(json.JSONDecodeError):
                events.append(json.loads(line))
    return events
