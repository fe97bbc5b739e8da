"""`ray.util.pdb`: the debugger for tasks and actors. `rayshim debug` attaches a terminal to it."""

from __future__ import annotations

import os
import pdb  # noqa: T100
import sys
import time
from typing import TYPE_CHECKING

from rayshim.session import session

if TYPE_CHECKING:
    from types import FrameType


class _Terminal:
    """The connection to `rayshim debug`, as a file for the debugger's input and output. It has ended where it fails: the program is not to see
    that a terminal was closed."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, connection):
        # Two files: what a single one has read ahead is lost when it is written to.
        self._input = connection.makefile("r", encoding="utf-8", errors="replace")
        self._output = connection.makefile("w", encoding="utf-8", errors="replace", buffering=1)
        connection.close()  # the files keep it

    def readline(self):
        try:
            return self._input.readline()
        except (OSError, ValueError):
            return ""

    def write(self, text):
        try:
            return self._output.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self):
        try:
            self._output.flush()
        except (OSError, ValueError):
            pass

    def close(self):
        for file in (self._input, self._output):
            try:
                file.close()
            except OSError:
                pass


class _RemotePdb(pdb.Pdb):
    """A debugger that waits for one connection and uses it as its terminal. If the connection ends, the program continues."""

    def __init__(self, file, line, function):
        from rayshim.session import breakpoints

        place = f"{os.path.basename(file)}:{line}"
        facts = {"pid": os.getpid(), "file": file, "line": line, "function": function, "since": time.time()}
        connection = breakpoints.wait(
            facts,
            lambda: print(
                f"breakpoint at {place} in {function}: this worker waits. Attach to it from another terminal with: rayshim debug",
                file=sys.stderr,
                flush=True,
            ),
        )
        self._terminal = _Terminal(connection)
        super().__init__(stdin=self._terminal, stdout=self._terminal, nosigint=True)  # pyright: ignore[reportArgumentType]
        self.use_rawinput = False
        self.prompt = "(ray-pdb) "

    def detach(self):
        self._terminal.close()

    def do_continue(self, arg):
        if not self.breaks:
            self.detach()
        return super().do_continue(arg)

    do_c = do_cont = do_continue

    def do_EOF(self, arg):
        self.clear_all_breaks()
        return self.do_continue(arg)

    def do_quit(self, arg):
        self.detach()
        return super().do_quit(arg)

    do_q = do_exit = do_quit


def set_trace(breakpoint_uuid: str | None = None) -> None:
    """Starts the debugger here. In the driver and in inline placement this is `pdb.set_trace()`. A worker says so on stderr, and waits until its
    user attaches to it by `rayshim debug`."""
    start(sys._getframe(1))


def start(frame: FrameType) -> None:
    """Starts the debugger in a frame."""
    code = frame.f_code
    remote = session.in_worker()
    debugger = _RemotePdb(code.co_filename, frame.f_lineno, code.co_name) if remote else pdb.Pdb()
    debugger.set_trace(frame)


def post_mortem() -> None:
    """Like `set_trace`, for the exception that is being handled."""
    _, _, trace = sys.exc_info()
    if trace is None:
        raise ValueError("post_mortem(): no exception is being handled. Call it in an except block")
    last = trace
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    remote = session.in_worker()
    debugger = _RemotePdb(code.co_filename, last.tb_lineno, code.co_name) if remote else pdb.Pdb()
    debugger.reset()
    debugger.interaction(None, trace)
    if isinstance(debugger, _RemotePdb):
        debugger.detach()


def _is_ray_debugger_post_mortem_enabled():
    """Whether RAY_DEBUG_POST_MORTEM asks for a debugger where a task fails. Ray Data then leaves errors of the user's code as they are."""
    return os.environ.get("RAY_DEBUG_POST_MORTEM", "0") == "1"


def _post_mortem():
    """No effect: there is no such debugger. Ray Serve calls it where a request fails."""
