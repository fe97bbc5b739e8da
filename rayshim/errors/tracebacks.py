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
    from reactor.runtime.worker import stacks

    found = stacks.ask(pid)
    return of_worker(found) if found else "no answer: the process is starting or has just ended"


_OURS = tuple(
    f"{os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), package)}{os.sep}"
    for package in ("rayshim", "reactor")
)
_IDLE = "idle: it waits for calls"
_IDLE_LOOP = "no method runs Python code: the actor waits for calls, or its `async def` methods await something"


def of_worker(text):
    """The stacks of a worker, as faulthandler writes them, with only the threads that run code of the program, or why there are none."""
    shown, loop = [], False
    for part in text.strip().split("\n\n"):
        head, *frames = part.splitlines()
        users = _of_user(frames)
        loop = loop or any(
            "/rayshim/worker/concurrency.py" in frame and frame.endswith(" in select") for frame in frames
        )
        if users:
            shown.append("\n".join([head, *users]))
    return "\n\n".join(shown) or (_IDLE_LOOP if loop else _IDLE)


def _of_user(frames):
    """The frames, most recent first, down to the first one that the user's code has called from ours; [] if none is the user's."""
    ours = [
        i for i, frame in enumerate(frames) if any(f'"{folder}' in frame for folder in _OURS) and "/tests/" not in frame
    ]
    if not ours:
        return [] if all("<no Python frame>" in frame for frame in frames) else frames
    # Between frames of ours are those of the standard library through which we call; the program's are above, unless it has called us.
    last = next((i for i in reversed(range(ours[-1])) if i not in ours and not _is_library(frames[i])), None)
    if last is None:  # only library code: it runs a call of that, or our event loop waits
        return [] if frames[ours[0]].endswith(" in select") else frames[: ours[0]]
    return [frame for i, frame in enumerate(frames[: last + 1]) if i not in ours]


def _is_library(frame):
    return f'"{_LIBRARY}' in frame and "site-packages" not in frame or '"<frozen ' in frame


_LIBRARY = os.path.dirname(os.__file__) + os.sep
