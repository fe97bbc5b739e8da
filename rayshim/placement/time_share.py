"""Actors that share a device by time: one that idles off-loads its state when another one begins a call.

Each such actor has a process of its own, and listens on a socket in the session's folder. Before the call of an actor that is not on the device, it asks all
others of its name; those that are idle call their `offload()` and answer, and it calls its `onload()`. An actor whose method runs, even if that waits for
others, answers at once, and off-loads at the end of the method. So no call waits for another one, and actors that call each other cannot block each other.
"""

import _thread
import contextlib
import os
import sys
import traceback

from reactor.runtime.messages import peers, private_folder
from reactor.runtime.messages.own_socket import OwnSocket

ANSWER_SECONDS = 60.0  # for which an actor waits until another one has off-loaded


class TimeShare:
    """One actor's part. Arguments: folder, the path of the session's; name, of those that share the device."""

    def __init__(self, folder, name):
        self._folder, self._prefix = folder, f"share-{name}-"
        self._own = f"{self._prefix}{os.getpid()}"
        self._busy = _thread.allocate_lock()  # held while the constructor, a method, or a hook runs
        self._instance = None  # None: not made yet
        self._loaded, self._asked = True, False

    def made(self, make):
        """The instance that the constructor call `make()` gives. The others are asked before it."""
        with private_folder.opened(self._folder) as fd:
            with contextlib.suppress(FileNotFoundError):  # of an earlier process with this number
                os.unlink(self._own, dir_fd=fd)
            self._listener = OwnSocket(peers.listen(fd, self._own))
        _thread.start_new_thread(self._answer, ())
        with self._running():
            self._ask_others()
            self._instance = make()
        return self._instance

    @contextlib.contextmanager
    def call(self):
        """A context in which a method runs: the actor is on the device."""
        with self._running():
            if not self._loaded:
                self._ask_others()
                self._instance.onload()
                self._loaded = True
            yield

    @contextlib.contextmanager
    def _running(self):
        try:
            with self._busy:
                yield
        finally:
            self._offload_if_asked()  # meanwhile, or now: who asks sets `_asked` before it tries the lock, so one of the two off-loads

    def _offload_if_asked(self):
        """Off-loads, unless a method or a hook runs: that does it when it ends."""
        if not (self._asked and self._busy.acquire(blocking=False)):
            return
        try:
            if self._loaded and self._instance is not None:
                self._asked = self._loaded = False
                self._instance.offload()
        except Exception:  # of the program; the call that has ended has its result
            print(f"rayshim: {type(self._instance).__name__}.offload failed:", file=sys.stderr)
            traceback.print_exc()
        finally:
            self._busy.release()

    def _answer(self):
        """In a thread: off-loads, if the actor is idle, when another one asks."""
        with contextlib.suppress(OSError):  # the program has closed the descriptor
            while True:
                connection, _ = self._listener.accept()
                with contextlib.suppress(OSError), connection:
                    if peers.is_own(connection):
                        self._asked = True
                        self._offload_if_asked()
                        connection.sendall(b".")

    def _ask_others(self):
        self._asked = False  # who has asked before is asked now
        with private_folder.opened(self._folder) as fd:
            for name in os.listdir(fd):
                if name.startswith(self._prefix) and name != self._own:
                    try:
                        connection = peers.connect(fd, name)
                    except ConnectionRefusedError:  # its process has ended
                        with contextlib.suppress(FileNotFoundError):
                            os.unlink(name, dir_fd=fd)
                        continue
                    if connection is not None:
                        self._wait_for(connection, name)

    def _wait_for(self, connection, name):
        with contextlib.suppress(ConnectionError), connection:
            connection.settimeout(ANSWER_SECONDS)
            try:
                connection.recv(1)
            except TimeoutError:
                pid = name.removeprefix(self._prefix)
                print(
                    f"rayshim: the actor of process {pid} has not off-loaded within {ANSWER_SECONDS:g} s. {type(self._instance).__name__} goes on beside it",
                    file=sys.stderr,
                )
