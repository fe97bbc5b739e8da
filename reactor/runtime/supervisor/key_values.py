"""A table of keys and values that all processes of a session share. It is in the supervisor; in inline placement, in the process itself.

The size of a control message is limited. So a longer value is sent in parts, which are put together here when all have arrived.
"""


class KeyValues:
    def __init__(self):
        self._values = {}  # (namespace, key) -> bytes
        self._parts = {}  # name of a value that is on its way -> its parts

    def part(self, name, data):
        self._parts.setdefault(name, []).append(data)

    def ask(self, what, namespace, key, *more):
        """One operation, by name: the answer to its caller."""
        return getattr(self, f"_{what}")(namespace, key, *more)

    def _put(self, namespace, key, value, name, overwrite):
        """Whether there was a value before. `value`: the last part, of the value that is on its way as `name`."""
        value = b"".join((*self._parts.pop(name, ()), value))
        there = (namespace, key) in self._values
        if overwrite or not there:
            self._values[namespace, key] = value
        return there

    def _get(self, namespace, key):
        return self._values.get((namespace, key))

    def _exists(self, namespace, key):
        return (namespace, key) in self._values

    def _delete(self, namespace, key, by_prefix):
        """How many values were deleted."""
        gone = self._list(namespace, key) if by_prefix else [key] * ((namespace, key) in self._values)
        for each in gone:
            del self._values[namespace, each]
        return len(gone)

    def _list(self, namespace, prefix):
        return [key for of, key in self._values if of == namespace and key.startswith(prefix)]
