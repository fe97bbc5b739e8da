"""Refs of values that a generator has not given yet."""

from collections import deque
from threading import Lock

from reactor import _core

from rayshim.calls.stream_state import END, ITEM, missing
from rayshim.errors.exceptions import ObjectRefStreamEndOfStreamError, RayError
from rayshim.session.futures import any_done


class PrefetchedRefs:
    """The next refs of one stream. A value that is there has its own ref; for another one a ref is promised, and gets a copy of the value later."""

    def __init__(self, link, completion):
        self._link, self._completion = link, completion  # where the first promise, or the next ref, will be found
        self.refs = deque()  # those that are not taken
        self._promised = deque()  # (offset, note) of those that are open
        self._lock = Lock()

    def first(self, count):
        """The next `count` refs (list)."""
        with self._lock:
            idle = not self._promised
            while len(self.refs) < count:
                found = not self._promised and _core.item_state(self._link, self._completion) == ITEM
                if found:
                    ref, self._link = _core.next_item(self._link, self._completion, 0)
                else:
                    ref, *promise = _core.promise(True)
                    self._promised.append(promise)
                self.refs.append(ref)
            refs = [self.refs[k] for k in range(count)]
        if idle:
            self._go_on()
        return refs

    def take(self):
        """The first of them, which is then no longer among them."""
        return self.refs.popleft()

    def _go_on(self, _=None):
        while True:
            with self._lock:
                if not self._promised:
                    return
                wanted = missing(self._link, self._completion)
                if not wanted:
                    offset, note = self._promised[0]
                    _core.fulfil(offset, note, *self._next())
                    self._promised.popleft()
            if wanted:
                any_done(wanted).add_done_callback(self._go_on)
                return

    def _next(self):
        """(value, False) or (stored form of an error, True)."""
        ref = self._completion
        try:
            if found := _core.next_item(self._link, ref, 0):
                ref, self._link = found
            elif _core.item_state(self._link, ref) == END:
                raise ObjectRefStreamEndOfStreamError("The generator has given its last value.")
            return _core.get_one(ref, None), False
        except RayError as error:
            return error.to_bytes(), True
