"""What Tune's control loop decides by, other than results of calls, so that a replay of its journal does the same: the clock, new UUIDs, the order of sets.

The loop asks and calls next by the time that has passed, shuffles what it iterates over, and names trials by UUIDs. Its trials, actors and placement groups
lie in sets, whose order depends on addresses and on hashes that differ in each process.
"""

import time
import uuid
from collections.abc import MutableSet

#: In a run with a journal: takes "clock" or "uuid" and a function without arguments, and gives its value (a number), or the one in the journal.
journaled = None
_BY_CLOCK = ("ray.air.execution.", "ray.tune.execution.")  # modules that decide by the time
_OF_TUNE = ("ray.air.execution.", "ray.tune.")


def mend(module):
    """Replaces what a module of Tune has imported, or uses by a built-in name. Other modules stay as they are."""
    if not module.__name__.startswith(_OF_TUNE):
        return
    known = vars(module)
    if known.get("uuid") is uuid:
        module.uuid = _Uuid()
    if module.__name__.startswith(_BY_CLOCK):
        module.set = InsertionOrderSet
        if known.get("time") is time:
            module.time = _Clock()


class _Clock:
    """The module `time`."""

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        return time.monotonic() if journaled is None else journaled("clock", time.monotonic)

    def time(self):
        return time.time() if journaled is None else journaled("clock", time.time)


class _Uuid:
    """The module `uuid`."""

    def __getattr__(self, name):
        return getattr(uuid, name)

    def uuid1(self, *given):
        return uuid.uuid1(*given) if journaled is None else self._journaled(lambda: uuid.uuid1(*given))

    def uuid4(self):
        return uuid.uuid4() if journaled is None else self._journaled(uuid.uuid4)

    def _journaled(self, make):
        assert journaled is not None
        return uuid.UUID(int=journaled("uuid", lambda: make().int))


class InsertionOrderSet(MutableSet):
    """A set that iterates in the order of insertion. It is pickled as a set."""

    def __init__(self, items=()):
        self._items = dict.fromkeys(items)

    def __contains__(self, item):
        return item in self._items

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __repr__(self):
        return f"{{{', '.join(map(repr, self))}}}" if self._items else "set()"

    def __reduce__(self):
        return set, (list(self._items),)

    def add(self, value):
        self._items[value] = None

    def discard(self, value):
        self._items.pop(value, None)

    def copy(self):
        return type(self)(self)

    def update(self, *others):
        for other in others:
            self._items.update(dict.fromkeys(other))

    def union(self, *others):
        joined = self.copy()
        joined.update(*others)
        return joined

    def difference(self, *others):
        return type(self)(item for item in self if not any(item in other for other in others))

    def intersection(self, *others):
        return type(self)(item for item in self if all(item in other for other in others))

    def issubset(self, other):
        return all(item in other for item in self)

    def issuperset(self, other):
        return all(item in self for item in other)
