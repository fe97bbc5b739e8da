"""The order in which the coroutines of an async actor go on: kept in a record of the run, and brought about again in a replay.

A step is what a coroutine does from one `await` that suspends it to the next. Within a step nothing else runs in its event loop, so what
the coroutines of a loop see of each other follows from the order of their steps. Each coroutine has a path that is the same in every run:
(n,) is the loop's n-th call, (n, k) the k-th task that this one has made (`asyncio.create_task`, `gather`, ...) and so on; (-1, k)
the k-th that no coroutine made. In a replay, a coroutine that could go on before its turn awaits a gate instead.
"""

import asyncio
import sys
from collections.abc import Coroutine
from itertools import count

_NOBODYS = -1
PATIENCE = 30.0  # seconds that a loop with nothing to do waits for the next recorded step before it says so


class Steps:
    """The steps of one event loop. Arguments: loop; write, called with the path of each step; script, in a replay: the paths in their
    recorded order; finished, called when they all were made."""

    def __init__(self, loop, write=None, script=None, finished=None):
        self._loop, self._write, self._script, self._finished = loop, write, script, finished
        self.made = 0  # steps
        self._calls = self._nobodys = 0
        self._running = None  # the _Stepped whose step it is
        self._gates = {}  # path -> future that it awaits until it is its turn
        self._known, self._ended = set(), set()  # paths
        self._closed = set()  # paths of generators: how many values those made that nobody reads is a matter of time
        self.parted = None  # the ReplayError of a program that no longer matches its record
        self._told = False
        loop.set_task_factory(self._task)

    @property
    def finished(self):
        return self._script is not None and self.made == len(self._script)

    def next_call(self):
        """The path of the loop's next call."""
        self._calls += 1
        return (self._calls - 1,)

    def call(self, path, coroutine):
        """The coroutine of a call, to be awaited instead of it."""
        return _Stepped(self, path, coroutine)

    def generator(self, path, values):
        """The async generator of a call, to be read instead of it."""
        return _SteppedGenerator(self, path, values)

    def outside(self, coroutine):
        """A task of the runtime itself: its steps do not count."""
        return asyncio.Task(coroutine, loop=self._loop)

    def _task(self, loop, coroutine, **how):
        if self._running is None:
            self._nobodys += 1
            path = _NOBODYS, self._nobodys - 1
        else:
            path = *self._running.path, next(self._running.children)
        return asyncio.Task(_Stepped(self, path, coroutine), loop=loop, **how)

    # ---- of a coroutine

    def begins(self, path):
        if self._script is not None:
            self._known.add(path)

    def closed(self, path):
        if self._script is not None:
            self._closed.add(path)
            self._next()

    def gate(self, path):
        """None: the coroutine is to go on; else what it has to await first."""
        if self._script is None:
            self._write(path)
            return None
        if self.parted is not None or (not self.finished and self._script[self.made] == path):
            return None
        gate = self._gates[path] = self._loop.create_future()
        gate._asyncio_future_blocking = True  # what a task looks for in what its coroutine yields
        return gate

    def enter(self, stepped):
        outer, self._running = self._running, stepped
        return outer

    def leave(self, outer, ended):
        path, self._running = self._running.path, outer
        if self._script is None or self.parted is not None:
            return
        self.made += 1
        if ended:
            self._ended.add(path)
        self._next()

    def _next(self):
        while not self.finished and self._script[self.made] in self._closed:
            self.made += 1
        if self.finished:
            return self._finished()
        turn = self._script[self.made]
        if turn in self._ended or (turn not in self._known and turn[:-1] in self._ended):
            return self._part(turn)
        gate = self._gates.pop(turn, None)
        if gate is not None and not gate.done():
            gate.set_result(None)

    def _part(self, turn):
        from rayshim.exceptions import ReplayError

        self.parted = ReplayError(
            f"the program no longer matches its record: step {self.made} of the actor's event loop was one of coroutine {list(turn)}, which has already ended"
        )
        for gate in self._gates.values():
            if not gate.done():
                gate.set_result(None)

    # ---- of the loop's selector

    def patience(self):
        """Seconds after which `waited` is to be called when nothing else happens, or None."""
        return PATIENCE if self._gates and not self._told and not self.finished else None

    def waited(self):
        self._told = True
        print(
            f"rayshim: replay: for {PATIENCE:g} s an async actor has had nothing to do but what came later in the record: step {self.made} was one "
            f"of coroutine {list(self._script[self.made])}, which still waits. The program may no longer match its record.",
            file=sys.stderr,
        )


class _Stepped(Coroutine):
    """A coroutine whose steps are counted. `children`: the numbers of the tasks that it makes; `whole`: with it its path ends."""

    def __init__(self, steps, path, coroutine, children=None, whole=True):
        self._steps, self.path, self._coroutine = steps, path, coroutine
        self.children, self._whole = children or count(), whole
        self._error = None  # to be raised in it when it is its turn
        steps.begins(path)

    def send(self, value):
        return self._step()  # a task sends None

    def throw(self, kind, value=None, trace=None):
        self._error = kind if isinstance(kind, BaseException) else value if isinstance(value, BaseException) else kind()
        return self._step()

    def close(self):
        self._coroutine.close()

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return self._step()

    def __getattr__(self, name):
        return getattr(self._coroutine, name)  # cr_frame, cr_code, ...: what debuggers ask for

    def _step(self):
        gate = self._steps.gate(self.path)
        if gate is not None:
            return gate
        error, self._error = self._error or self._steps.parted, None
        outer = self._steps.enter(self)
        suspended = False
        try:
            awaited = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            suspended = True
            return awaited
        finally:
            self._steps.leave(outer, self._whole and not suspended)


class _SteppedGenerator:
    """An async generator whose steps are counted, as those of one coroutine."""

    def __init__(self, steps, path, values):
        self._steps, self._path, self._values, self._children = steps, path, values, count()

    def __aiter__(self):
        return self

    def __anext__(self):
        return self._next(self._values.__anext__())

    async def aclose(self):
        await self._next(self._values.aclose())
        self._steps.closed(self._path)

    def _next(self, awaitable):
        return _Stepped(self._steps, self._path, awaitable.__await__(), self._children, whole=False)
