"""The zygote's side of the workers' output: reads their pipes and sends the lines to the driver, as far as that reads them."""

import contextlib
import os
import select
from collections import deque
from time import monotonic
from typing import Any

from reactor.runtime.messages import output

OPEN_SECONDS = 0.3  # that a line without an end, as of a progress bar, is waited for before it is shown
KEPT_BYTES = 8 << 20  # of output, for a driver that does not read; beyond it the workers' pipes fill


class Relay:
    """Arguments: line, the socket to the driver; poll, the epoll object that watches the descriptors."""

    def __init__(self, line, poll):
        self.line = line
        self.line.setblocking(False)
        self.poll = poll
        self.poll.register(line, select.EPOLLRDHUP | select.EPOLLHUP)
        self._outgoing, self._size = deque(), 0
        self._pipes = {}  # descriptor -> (LineCutter, the worker's set of descriptors)
        self._full = []  # descriptors of pipes that are not read because the driver does not read
        self.drivers: Any = None  # joined_drivers.Drivers, where there may be others than the one at `line`
        self.scope = None  # of whoever asks for what is done now (see there)
        self.open, self._open_until = False, 0.0  # some worker has printed the beginning of a line; when it is shown

    def watch(self, pipes, label, pid, scope=None):
        """Reads a worker's stdout and stderr from now on. Gives the set of those that have not ended. OSError: they are closed."""
        living = set(pipes)
        try:
            for fd in pipes:
                self.poll.register(fd, select.EPOLLIN)
        except OSError:
            for fd in pipes:
                os.close(fd)  # which takes it out of the poll, too
            raise
        for stream, fd in enumerate(pipes, 1):
            self._pipes[fd] = output.LineCutter(stream, label, pid, scope), living
        return living

    @contextlib.contextmanager
    def for_scope(self, scope):
        """A context manager: texts that are sent in the block are for the driver of this scope."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    def read(self, fd):
        """Takes in what a pipe has. False: this is no pipe of a worker."""
        cutter, living = self._pipes.get(fd, (None, None))
        if cutter is None:
            return False
        if self._size >= KEPT_BYTES and fd not in self._full:
            self.poll.unregister(fd)
            self._full.append(fd)
        while self._size < KEPT_BYTES:
            try:
                data = os.read(fd, 1 << 16)
            except BlockingIOError:
                break
            self.send(cutter.feed(data) if data else cutter.end(), cutter.scope)
            if data and cutter.open and not self.open:
                self.open, self._open_until = True, monotonic() + OPEN_SECONDS
            if not data:
                if fd in self._full:
                    self._full.remove(fd)
                else:
                    self.poll.unregister(fd)
                del self._pipes[fd]
                os.close(fd)
                living.discard(fd)
                break
        return True

    def show_open(self):
        """Sends the beginnings of lines whose time is up."""
        if self.open and monotonic() > self._open_until:
            self.open = False
            for cutter, _ in self._pipes.values():
                self.send(cutter.end() if cutter.open else [], cutter.scope)

    def tell(self, text, scope=None):
        """Lines for the user of the driver that has this scope; None: of the one that is served."""
        lines = [output.frame(2, "runtime", os.getpid(), line.encode()) for line in text.splitlines()]
        self.send(lines, self.scope if scope is None else scope)

    def send(self, frames, scope=None):
        """Sends frames to the driver of this scope."""
        if self.drivers and self.drivers.send(scope, frames):
            return
        self._send_to_first(frames)

    def send_to_all(self, frames):
        """Sends frames to every driver."""
        if self.drivers:
            self.drivers.send_to_all(frames)
        if not self.drivers or not self.drivers.only_guests:
            self._send_to_first(frames)

    def _send_to_first(self, frames):
        for f in frames:
            self._outgoing.append(f)
            self._size += len(f)
        self.flush()

    def flush(self):
        """Sends as much as the driver takes."""
        try:
            while self._outgoing:
                f = self._outgoing[0]
                sent = self.line.send(f)
                self._size -= sent
                if sent < len(f):
                    self._outgoing[0] = f[sent:]
                else:
                    self._outgoing.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._outgoing.clear()
        if self._full and self._size < KEPT_BYTES // 2:
            for fd in self._full:
                self.poll.register(fd, select.EPOLLIN)
            self._full = []
        wanted = select.EPOLLRDHUP | select.EPOLLHUP | (select.EPOLLOUT if self._outgoing else 0)
        self.poll.modify(self.line, wanted)

    def end(self):
        """Sends all that is left; waits for a driver that reads slowly."""
        self.line.setblocking(True)
        self.line.settimeout(5)
        try:
            while self._outgoing:
                self.line.sendall(self._outgoing.popleft())
        except OSError:
            pass  # the driver does not read any more
