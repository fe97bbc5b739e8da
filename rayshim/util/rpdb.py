"""`ray.util.pdb`: the debugger in a task or actor, reached over a socket of this machine."""

from __future__ import annotations

import pdb  # noqa: T100
import socket
import sys

from rayshim.session import session


class _RemotePdb(pdb.Pdb):
    """Waits for one connection; the debugger talks to it."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        print(f"rayshim debugger waits on port {port}. Connect with: nc 127.0.0.1 {port}", file=sys.stderr, flush=True)
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
    """Stops here. In the driver and in inline placement that is `pdb.set_trace()`; in a worker it waits until somebody connects
    to the port that it prints."""
    frame = sys._getframe(1)
    (_RemotePdb() if _in_worker() else pdb.Pdb()).set_trace(frame)


def post_mortem() -> None:
    """As `set_trace`, in the exception that is being handled."""
    _, _, trace = sys.exc_info()
    if trace is None:
        raise ValueError("post_mortem: there is no exception being handled; call it in an except block")
    debugger = _RemotePdb() if _in_worker() else pdb.Pdb()
    debugger.reset()
    debugger.interaction(None, trace)


def _in_worker():
    return session.current is not None and session.current.driver is None
