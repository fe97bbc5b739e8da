"""`ray.util.pdb`: the debugger for tasks and actors, over a local socket."""

from __future__ import annotations

import os
import pdb  # noqa: T100
import socket
import sys

from rayshim.session import session


class _RemotePdb(pdb.Pdb):
    """A debugger that waits for one connection and uses it as its terminal."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        print(
            f"The rayshim debugger waits on port {port}. Connect with: nc 127.0.0.1 {port}", file=sys.stderr, flush=True
        )
        connection, _ = listener.accept()
        listener.close()
        self._stream = connection.makefile("rw", encoding="utf-8", buffering=1)
        connection.close()  # the stream keeps it
        super().__init__(stdin=self._stream, stdout=self._stream, nosigint=True)
        self.use_rawinput = False
        self.prompt = "(ray-pdb) "

    def do_continue(self, arg):
        self._stream.close()
        return super().do_continue(arg)

    do_c = do_cont = do_continue


def set_trace(breakpoint_uuid: str | None = None) -> None:
    """Starts the debugger here. In the driver and in inline placement this is `pdb.set_trace()`. In a worker it prints a port, and waits until
    somebody connects to it."""
    frame = sys._getframe(1)
    (_RemotePdb() if session.in_worker() else pdb.Pdb()).set_trace(frame)


def post_mortem() -> None:
    """Like `set_trace`, for the exception that is being handled."""
    _, _, trace = sys.exc_info()
    if trace is None:
        raise ValueError("post_mortem(): no exception is being handled. Call it in an except block")
    debugger = _RemotePdb() if session.in_worker() else pdb.Pdb()
    debugger.reset()
    debugger.interaction(None, trace)


def _is_ray_debugger_post_mortem_enabled():
    """Whether RAY_DEBUG_POST_MORTEM asks for a debugger where a task fails. Ray Data then leaves errors of the user's code as they are."""
    return os.environ.get("RAY_DEBUG_POST_MORTEM", "0") == "1"


def _post_mortem():
    """No effect: there is no such debugger. Ray Serve calls it where a request fails."""
