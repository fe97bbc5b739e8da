"""Async actors in inline placement: each call runs to its end inside `.remote()`, in the actor's own event loop."""

import asyncio
import functools
import inspect
import selectors
import threading
import weakref
from typing import Any

from rayshim.errors.exceptions import DeadlockError


class _Selector(selectors.DefaultSelector):
    """Raises DeadlockError where the loop would wait for ever: for no time, no file, no signal and no other thread."""

    loop = None

    def select(self, timeout=None):
        alone = len(self.get_map()) == 1 and threading.active_count() == 1  # the one file is the loop's own
        if timeout is None and alone and not getattr(self.loop, "_signal_handlers", None):
            raise DeadlockError(
                "this call waits for something that only a later call can bring, so it would never end: in inline placement each call "
                "runs to its end inside .remote(). Run the program with another placement"
            )
        return super().select(timeout)


class ActorLoop:
    """The event loop of one actor. Tasks that its methods leave running continue during later calls."""

    def __init__(self):
        selector = _Selector()
        self._loop = asyncio.SelectorEventLoop(selector)
        selector.loop = weakref.proxy(self._loop)
        # Not __del__: a loop that is collected in a cycle may find its sockets closed before it, and cannot close.
        weakref.finalize(self, self._loop.close).atexit = False

    def run(self, awaitable):
        """The value of `awaitable`."""
        # The caller may itself be in an event loop of this thread; the serial run waits for the call there.
        outer = asyncio._get_running_loop()
        nested = self._loop.is_running() and self._loop._thread_id == threading.get_ident()  # pyright: ignore[reportAttributeAccessIssue]
        asyncio._set_running_loop(self._loop if nested else None)
        try:
            return self._run_nested(awaitable) if nested else self._loop.run_until_complete(awaitable)
        finally:
            asyncio._set_running_loop(outer)

    def _run_nested(self, awaitable):
        """The value of `awaitable` inside a call of this loop: a method of the actor has called the actor, perhaps by way of others.

        asyncio has no such thing. So this runs the loop's single rounds, as the package nest_asyncio does.
        """
        loop: Any = self._loop  # what is private here is the same in Python 3.10 to 3.14
        caller = asyncio.current_task(loop)
        if caller is not None:
            asyncio.tasks._leave_task(loop, caller)
        at_least = len(loop._ready)
        stopped = False  # a call further out has ended meanwhile; its round is the one to stop
        try:
            task = asyncio.ensure_future(awaitable, loop=loop)
            while not task.done():
                loop._run_once()
                stopped, loop._stopping = stopped or loop._stopping, False
            return task.result()
        finally:
            loop._stopping = stopped
            # The round further out has counted what was ready, and takes as many.
            for _ in range(at_least - len(loop._ready)):
                handle = asyncio.Handle(print, (), loop)
                handle.cancel()
                loop._ready.append(handle)
            if caller is not None:
                asyncio.tasks._enter_task(loop, caller)

    def make(self, constructor):
        """`constructor()`, which may give a coroutine, inside the loop, where it may start tasks."""

        async def call():
            result = constructor()
            return await result if inspect.iscoroutine(result) else result

        return self.run(call())

    def plain(self, method):
        """`method` as a function that returns when it is through; of an async generator, as a generator."""
        if inspect.isasyncgenfunction(inspect.unwrap(method)) and not inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            def call(*args, **kwargs):  # pyright: ignore[reportRedeclaration]
                values = method(*args, **kwargs)
                reply = None
                try:
                    while True:
                        try:
                            value = self.run(values.asend(reply))
                        except StopAsyncIteration:
                            return
                        reply = yield value
                finally:
                    self.run(values.aclose())

            call.__self__ = method.__self__  # pyright: ignore[reportAttributeAccessIssue]
            return call
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            def call(*args, **kwargs):
                return self.run(method(*args, **kwargs))

            call.__self__ = method.__self__  # pyright: ignore[reportAttributeAccessIssue]
            return call
        return method
