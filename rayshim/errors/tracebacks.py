"""Tracebacks for a remote caller: the frames of the user's code, without those of the runtime."""

import os


def format_remote(exc, skip=()):
    """The traceback of `exc` and of the exceptions chained to it, as text (str) in Python's layout.

    `skip`: directories. Frames of files in them are left out.
    """
    from traceback import TracebackException

    found = TracebackException(type(exc), exc, exc.__traceback__, compact=True)
    if skip:
        _drop(found, tuple(os.path.join(os.path.abspath(directory), "") for directory in skip))
    return "".join(found.format())


def _drop(found, prefixes):
    pending = [found]
    while pending:
        one = pending.pop()
        one.stack[:] = [frame for frame in one.stack if not _own_file(frame.filename).startswith(prefixes)]
        pending += [linked for linked in (one.__cause__, one.__context__) if linked is not None]
        pending += getattr(one, "exceptions", None) or ()


def _own_file(filename):
    return filename if filename.startswith("<") else os.path.abspath(filename)


def without_files_of(folder, lines):
    """The lines of a traceback without the frames in files whose path has `folder` in it."""
    shown, dropped = [], False
    for line in lines:
        dropped = folder in line if line.startswith("  File ") else dropped and line.startswith("    ")
        if not dropped:
            shown.append(line)
    return shown


def of_process(pid):
    """The Python stacks of a process of ours as text, without our frames, or the reason why there are none."""
    from reactor.runtime import stacks

    told = stacks.ask(pid)
    return _without_ours(told) if told else "no answer: the process is starting or has just ended"


def _without_ours(stacks):
    """`stacks` without the frames of the worker's own loop, which are the same in every worker."""
    shown, below = [], False
    for line in stacks.splitlines():
        below = line.startswith("  ") and (below or "/reactor/runtime/worker.py" in line)
        if not below:
            shown.append(line)
    return "\n".join(shown)
