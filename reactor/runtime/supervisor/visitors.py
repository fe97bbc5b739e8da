"""Connections from outside to a session, each until it has its answer or is a driver's: the supervisor's side of reactor.runtime.messages.frames.

A visitor that sends something wrong, or is silent for too long, is sent away, without an effect on the session.
"""

import os
import select
import time

from reactor.runtime.messages import frames
from reactor.runtime.messages.peers import is_own

SECONDS = 20  # for a request and its answer; longer than a program waits that asks (reactor.runtime.driver.attached)
_MOST = 100  # at a time; one more takes the place of the oldest


class Refused(Exception):
    """The text for a visitor whose request is wrong or cannot be granted."""


class Visitor:
    def __init__(self, connection):
        self.connection = connection
        self.incoming, self.outgoing = frames.Incoming(), bytearray()
        self.until = time.monotonic() + SECONDS


class Visitors:
    """Arguments: listener, the listening socket; poll, the epoll object that watches the descriptors; answer, a function of (connection, kind of the
    frame, request) that returns the answer (bytes), or None if the connection is its own from now on, or raises Refused."""

    def __init__(self, listener, poll, answer):
        self.listener, self.poll, self.answer = listener, poll, answer
        self._there = {}  # descriptor -> Visitor, the oldest first
        self._spare = os.open(
            os.devnull, os.O_RDONLY | os.O_CLOEXEC
        )  # its number is for a visitor when no other is left
        listener.setblocking(False)
        poll.register(listener, select.EPOLLIN)

    def __len__(self):
        return len(self._there)

    def take(self, fd):
        """Handles what happened at a descriptor; False: it is none of these."""
        if fd == self.listener.fileno():
            self._accept()
        elif fd in self._there:
            self._serve(self._there[fd])
        else:
            return False
        return True

    def send_away(self, but):
        """Ends the connections that have taken too long, except those whose descriptors are in `but`: something has come from them."""
        now = time.monotonic()
        for fd in [fd for fd, visitor in self._there.items() if visitor.until < now and fd not in but]:
            self._dismiss(self._there[fd])

    def _accept(self):
        try:
            connection, _ = self.listener.accept()
        except BlockingIOError:
            return
        except OSError:
            self._refuse_without_descriptor()
            return
        if not is_own(connection):
            connection.close()
            return
        if len(self._there) >= _MOST:
            self._dismiss(next(iter(self._there.values())))
        connection.setblocking(False)
        self._there[connection.fileno()] = Visitor(connection)
        self.poll.register(connection, select.EPOLLIN)

    def _refuse_without_descriptor(self):
        """Takes a connection from the queue for which this process has no descriptor left, so that it is not offered again and again."""
        os.close(self._spare)
        try:
            self.listener.accept()[0].close()
        except OSError:
            pass  # it has given up
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _dismiss(self, visitor):
        self._forget(visitor)
        visitor.connection.close()

    def _forget(self, visitor):
        del self._there[visitor.connection.fileno()]
        self.poll.unregister(visitor.connection)

    def _serve(self, visitor):
        """Goes on with reading a request or sending its answer."""
        try:
            if not visitor.outgoing and not self._read(visitor):
                return
            sent = visitor.connection.send(visitor.outgoing)
            del visitor.outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:  # it is gone
            visitor.outgoing.clear()
        if visitor.outgoing:
            self.poll.modify(visitor.connection, select.EPOLLOUT)
        else:
            self._dismiss(visitor)

    def _read(self, visitor):
        """Whether there is an answer to send now."""
        try:
            try:
                part = visitor.connection.recv(min(visitor.incoming.missing, 1 << 16))
            except BlockingIOError:
                return False
            if (frame := visitor.incoming.feed(part)) is None:
                return False
            self._forget(visitor)  # while the connection may become another's
            answer = self.answer(visitor.connection, *frame)
            if answer is None:
                return False
        except (Refused, frames.FrameError) as error:
            answer = frames.pack({"error": str(error)})
        if visitor.connection.fileno() not in self._there:
            self._there[visitor.connection.fileno()] = visitor
            self.poll.register(visitor.connection, select.EPOLLIN)
        visitor.outgoing += answer
        return True
