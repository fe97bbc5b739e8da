"""`exit_actor`: an actor ends itself."""

from __future__ import annotations

import atexit
import gc
import sys
import weakref
from typing import Any, NoReturn

from reactor import _core

from rayshim.calls import binding
from rayshim.errors.exceptions import AsyncioActorExit
from rayshim.errors.user_code import at
from rayshim.session import session
from rayshim.worker.context import runtime_context
from rayshim.worker.threads import running


class ActorExit(SystemExit):
    """Raised by `exit_actor`. It ends the actor's process and is not reported as an error."""

    intended = True


def exit_actor() -> NoReturn:
    """Ends the actor that calls it. The running call, pending calls and later calls raise ActorDiedError in their callers.

    Raises TypeError outside of an actor.
    """
    s = session.current
    if s is None or not s.placement.actor_here():
        mode = 0 if s is None or s.driver is not None and not _core.running_uid() else 1
        raise TypeError(
            f"exit_actor API is called on a non-actor worker, {mode}. Call this API inside an actor methodsif you'd like to exit the actor "
            f"gracefully. ({at('exit_actor')}: call it in a method of an actor)"
        )
    call = running.get(None)
    concurrency = sys.modules.get("rayshim.worker.concurrency")
    if concurrency is not None and concurrency.in_background(call):
        concurrency.leave_in_background(call)
    if call is None:
        if not _core.runs_here():
            _leave_from_own_thread()
        _core.depart()  # at the end of this call, also if the method catches what is raised here
        raise ActorExit(0)
    call.leaves = True
    if call.task is not None:
        raise AsyncioActorExit  # SystemExit would end the event loop, and the calls beside this one
    raise ActorExit(0)


def _leave_from_own_thread():
    """In a thread that the actor's code has started: the actor ends after its running calls, and if it shares its process, after those that wait.
    As on Ray, the thread ends without a traceback."""
    from reactor.runtime.worker import worker

    if worker.has_one_actor:
        worker.drained_as = worker.INTENDED
        _core.leave_after_task()
    else:
        runtime_context.current_actor.__ray_terminate__.remote()
    raise SystemExit(0)


binding.exit_actor = exit_actor


class Ending:
    """The end of an actor that has the process to itself, if it is not killed: its `__ray_shutdown__` is called, then its instance goes,
    before the exit functions if nothing else of the program refers to it, at the latest after them. What it owns goes with it: destructors
    run, and files are written out.

    Arguments:
        instance: the actor's; methods: the list that the core takes its methods from.
    """

    def __init__(self, instance: Any, methods: list[Any]) -> None:
        self._instance, self._methods = instance, methods

    def before_exit(self) -> None:
        shutdown = getattr(type(self._instance), "__ray_shutdown__", None)
        try:
            value = shutdown and shutdown(self._instance)
            if hasattr(value, "close"):  # a coroutine: as in Ray, nobody runs it
                value.close()
        finally:
            self._methods.clear()
            try:
                self._instance = weakref.ref(self._instance)
            except TypeError:  # its class has __slots__ without one for weak references
                instance = self._instance
                self._instance = lambda: instance

    def after_exit(self) -> None:
        atexit._clear()  # they may refer to the instance
        gc.collect()
        instance: Any = self._instance()
        if instance is None:
            return
        cls = type(instance)
        if hasattr(cls, "__del__"):
            cls.__del__(instance)
        getattr(instance, "__dict__", {}).clear()
