"""The environment variables and the working directory of each actor, in a process that has several: separate from the first change on."""

import functools
import os
import posix

from reactor import _core

_CHANGES = "chdir", "fchdir", "putenv", "unsetenv"  # functions of os; os.environ uses the last two


class _Directory:
    """The working directory of the process when this was made."""

    def __init__(self):
        self.descriptor = os.open(".", os.O_PATH | os.O_CLOEXEC)

    def __del__(self):
        os.close(self.descriptor)


class Surroundings:
    """The state that `ActorStates` exchanges when another actor has its turn. Until an actor changes something, nothing is exchanged.

    Changes are seen in the functions of os, which are replaced. (An audit hook would see more, but makes each `id()` slower, and `copy.deepcopy` four times as slow.)
    """

    def __init__(self):
        self.changed = False
        self._now = None  # the _Directory in which the process is; None: not known
        self._born = None  # (_Directory, variables) before the first change: those of an actor that has changed nothing
        self._chdir, self._putenv, self._unsetenv = os.fchdir, os.putenv, os.unsetenv
        for name in _CHANGES:
            function = self._seeing(getattr(os, name))
            setattr(os, name, function)
            setattr(posix, name, function)  # where functions that come by value find it

    def _seeing(self, function):
        @functools.wraps(function)
        def seeing(*args, **kwargs):
            if not self.changed and _core.running_actor():  # else it is the runtime, for all actors to come
                self._born = self.read()
                self.changed = True
                _core.always_exchange(True)
            if function.__name__.endswith("chdir"):
                self._now = None
            return function(*args, **kwargs)

        return seeing

    def read(self):
        """(_Directory, {name: value} as bytes), for `write`."""
        if self._now is None:
            self._now = _Directory()
        return self._now, dict(os.environ._data)  # pyright: ignore[reportAttributeAccessIssue]

    def write(self, state):
        directory, variables = state
        if directory is not self._now:
            self._chdir(directory.descriptor)
            self._now = directory
        now = os.environ._data  # pyright: ignore[reportAttributeAccessIssue]
        if now == variables:
            return
        for name in now.keys() - variables.keys():
            self._unsetenv(name)
            del now[name]
        for name, value in variables.items():
            if now.get(name) != value:
                self._putenv(name, value)
                now[name] = value

    def begin(self):
        """Those of an actor that has changed nothing yet."""
        self.write(self._born)
