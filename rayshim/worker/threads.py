"""The threads of a threaded actor."""

import _thread
import threading
import time
from collections import deque
from contextvars import ContextVar

from rayshim.worker.pauses import delay

# Python's own; a run with a journal replaces them in `threading`, `_thread` and `time`.
_allocate_lock = threading.Lock
_start_thread, _sleep = _thread.start_new_thread, time.sleep
running = ContextVar("running")  # the _Call of this thread or coroutine


class Threads:
    """A pool of at most `limit` threads. A call goes to a new thread while there are fewer than `limit`, and then to the thread that has been idle
    longest. Threads never end before the actor, so thread-local data stays for later calls of the same thread."""

    refused = None  # see _Loop

    def __init__(self, limit):
        from queue import SimpleQueue

        self._limit, self._lock, self._slot = limit, _allocate_lock(), SimpleQueue
        self._count, self._idle, self._waiting = 0, deque(), deque()

    def submit(self, call):
        with self._lock:
            if self._count < self._limit:
                self._count += 1
                self._start(call)
            elif self._idle:
                self._idle.popleft().put(call)
            else:
                self._waiting.append(call)

    def _start(self, call):
        threading.Thread(target=self._serve, args=(call,), name="actor", daemon=True).start()

    def _serve(self, call):
        mine = self._slot()
        while True:
            self._run(call)
            del call
            with self._lock:
                call = self._waiting.popleft() if self._waiting else None
                if call is None:
                    self._idle.append(mine)
            if call is None:
                call = mine.get()

    def _run(self, call):
        running.set(call)
        while True:
            try:
                value = self._value(call)
            except SystemExit as error:
                if call.leaves:
                    return call.leave()
                leave(error)
            except BaseException as error:
                if not call.completion.streaming and call.again(error):
                    _sleep(delay())
                    continue
                call.error(error)
            else:
                self._interrupted(call) or call.value(value)
            return

    def _value(self, call):
        if call.completion.cancelled:
            return None
        if call.completion.streaming:
            return call.completion.drain(call.values())
        return call.method(*call.args, **call.kwargs)

    def _interrupted(self, call):
        """Whether the call was cancelled and this method has set its result; if not, the completion sets it."""
        return False

    def give_up(self):
        """The calls that have not begun. They do not begin any more."""
        with self._lock:
            calls, self._waiting = list(self._waiting), deque()
        return calls

    def cancel(self, call):
        with self._lock:
            try:
                self._waiting.remove(call)
            except ValueError:
                return  # it is running: it can ask is_canceled(), and its result will be TaskCancelledError, or the exception that it raises
        call.value(None)


def after(seconds, function, *args):
    """Calls `function(*args)` after that time, in a thread that a journal does not know."""

    def wait():
        _sleep(seconds)
        function(*args)

    _start_thread(wait, ())


def leave(error):
    from reactor.runtime.worker import worker

    worker.leave(worker.exit_kind(error))
