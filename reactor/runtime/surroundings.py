"""The environment variables and the working directory of each actor, in a process that has several: separate from the first change on."""

import os
import sys

from reactor import _core

_EVENTS = ("os.chdir", "os.putenv", "os.unsetenv")  # audit events of Python, raised before the change


class _Directory:
    """The working directory of the process when this was made."""

    def __init__(self):
        self.descriptor = os.open(".", os.O_PATH | os.O_CLOEXEC)

    def __del__(self):
        os.close(self.descriptor)


class Surroundings:
    """What `ActorStates` exchanges when another actor has its turn. Until an actor changes something, nothing is exchanged."""

    def __init__(self):
        self.changed = False
        self._now = None  # the _Directory in which the process is; None: not known
        self._born = None  # (_Directory, variables) before the first change: those of an actor that has changed nothing
        sys.addaudithook(self._see)

    def _see(self, event, _):
        if event not in _EVENTS:
            return
        if not self.changed:
            if not _core.running_actor():
                return  # the runtime, for all actors to come
            self._born = self.read()
            self.changed = True
            _core.always_exchange(True)
        if event == "os.chdir":
            self._now = None

    def read(self):
        """(_Directory, {name: value} as bytes), for `write`."""
        if self._now is None:
            self._now = _Directory()
        return self._now, dict(os.environ._data)  # pyright: ignore[reportAttributeAccessIssue]

    def write(self, state):
        directory, variables = state
        if directory is not self._now:
            os.fchdir(directory.descriptor)
            self._now = directory
        now = os.environ._data  # pyright: ignore[reportAttributeAccessIssue]
        if now == variables:
            return
        for name in now.keys() - variables.keys():
            os.unsetenv(name)
            del now[name]
        for name, value in variables.items():
            if now.get(name) != value:
                os.putenv(name, value)
                now[name] = value

    def begin(self):
        """Those of an actor that has changed nothing yet."""
        self.write(self._born)
