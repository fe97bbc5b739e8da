"""Creates the instance of an actor in its worker, and loads exported functions."""

import _thread
import os
import sys
import time
import weakref

from reactor import _core
from reactor.runtime.worker import worker
from reactor.runtime.worker.plugin import Instance

from rayshim.calls import announced
from rayshim.calls.concurrency import has_threads
from rayshim.calls.handle import info_of
from rayshim.calls.signature import is_coroutine
from rayshim.environments.keys import thawed
from rayshim.errors import exceptions
from rayshim.errors.exceptions import RaySystemError
from rayshim.resources import accelerators, bundles, gpus, num_threads
from rayshim.session import session
from rayshim.session.facts import public

# On Ray, at least these seconds pass between an actor's constructor and its first call. A thread that the constructor starts, of a server, say,
# has begun by then.
_BEFORE_FIRST_CALL = 0.0025


def cpus(facts):
    """The number of threads for the actor with these facts; 1 in a worker with many actors."""
    return (
        num_threads.of({name: amount / _core.UNIT for name, amount in bundles.plain(facts["demand"]).items()})
        if facts
        else 1
    )


def create(number, args, kwargs):
    """Hook of the core: creates the instance of an actor. Its methods are in ClassInfo's order, and its calls are handed on to groups."""
    (cls_ref, facts, how), args = args[0], args[1:]
    s = session.current
    s.placement.prepare(number, facts, cpus(facts))
    if s.broken is not None:
        raise s.broken
    if s.settings.journal:
        from rayshim.journal import journal

        facts = {**facts, "restarts": (s.record or facts).get("restarts", 0)}
        journal.before_creation(facts)
    info = info_of(facts)
    side = None
    if s.settings.journal and s.placement.runs_in_parallel:
        side = journal.ConcurrentActor(
            facts, info.is_async, has_threads(how, info.is_async)
        )  # before the modules of the actor create locks
    cls = _imported(cls_ref, f"actor with name {facts['class_name']}")
    s.imported(cls, cls_ref)

    def concurrently(make):
        from rayshim.worker import concurrency

        return concurrency.make(info, how, make, side)

    instance, handed_on, lanes, around = s.placement.construct(
        number, lambda: _instance(cls, args, kwargs), info.is_async, concurrently, _surrounded
    )
    if type(instance).__repr__ is not object.__repr__:
        s.placement.show_as(number, instance)
    from rayshim.worker import builtin_methods

    if how.get("transports") is not None or not s.placement.own_process:
        around = _with_tensors(number, how.get("transports"), around)
    methods = [builtin_methods.bind(instance, name, method.options, around) for name, method in info.methods.items()]
    if s.placement.own_process:
        from rayshim.worker import interrupts
        from rayshim.worker.exit import Ending

        interrupts.methods_run_here = not handed_on
        ending = Ending(instance, methods)
        worker.before_exit.append(ending.before_exit)
        worker.after_exit.append(ending.after_exit)
    if s.placement.own_process:
        # A restarted actor goes on with calls that are run again when some time has passed since they failed.
        time.sleep(max((s.record or facts).get("calls_from", 0.0) - time.monotonic(), 0.0))
    script = (
        journal.created(facts, handed_on) if s.settings.journal else None
    )  # tags of its calls in their recorded order
    several = bool(info.is_async or has_threads(how, info.is_async))
    return Instance(methods, handed_on, lanes, _name_in_every_run(facts), several, script)


def _instance(cls, args, kwargs):
    """An instance of the class; if its `__init__` is a coroutine function, a coroutine that gives it."""
    threads = _thread._count()
    instance = cls.__new__(cls)  # as on Ray: without arguments, and not by its metaclass's __call__
    if not is_coroutine(cls.__init__):
        return _begun(instance, cls.__init__(instance, *args, **kwargs), threads)

    async def constructed():
        return _begun(instance, await cls.__init__(instance, *args, **kwargs), threads)

    return constructed()


def _begun(instance, returned, threads):
    """The instance, whose `__init__` has returned `returned`, after time for threads that it has started: there were `threads` before it."""
    if returned is not None:
        raise TypeError(f"__init__() should return None, not '{type(returned).__name__}'")
    if _thread._count() > threads:
        time.sleep(_BEFORE_FIRST_CALL)
    return instance


def _surrounded(env, own, taken, scopes=()):
    """A decorator: the function has the runtime environment `env` (frozen; None: as it is) and sees the GPUs `own`, [(number, share)], and the other
    accelerators `taken`, {resource: [(number, share)]}, for the time of a call. scopes: functions that give other contexts."""
    scopes = [*scopes]
    if env:
        from rayshim.environments.applying import Surroundings

        surroundings = Surroundings(thawed(env))
        scopes.append(lambda: surroundings)
    if own:
        visible_ids = session.current.visible_gpus
        scopes.append(lambda: gpus.shown(gpus.names(own, visible_ids)))
    if taken:
        named = session.current.visible_accelerators
        scopes.append(lambda: accelerators.shown(taken, named))
    if not scopes:
        return lambda function: function
    from rayshim.worker.task_options import within

    def around(function):
        for scope in scopes:
            function = within(function, scope)
        return function

    return around


def _with_tensors(number, transports, around):
    """`around`, and then the methods of actor `number` get the values of direct tensors: of one with `transports`, and of those after it in its
    process."""
    direct = sys.modules.get("rayshim.worker.direct")
    if transports is None and direct is None:
        return around
    from rayshim.worker import direct

    receiving = direct.joins(number, transports or {})
    return lambda method: receiving(around(method))


def _name_in_every_run(facts):
    """A number that identifies the actor independently of timing and placement; its digest starts with it."""
    import zlib

    ordinal = facts["ordinal"]
    return zlib.crc32(f"{facts['class_name']} {'of a task' if ordinal.startswith('task worker') else ordinal}".encode())


def create_failed(number, error_bytes, reason):
    """The reason of death of an actor whose constructor raised (`error_bytes`) or that ended itself. Number 0: a task ended its worker."""
    s = session.current
    facts = s.placement.facts(number)
    if error_bytes:
        cause = exceptions.RayError.from_bytes(error_bytes)
        print(f"Exception raised in creation task: {exceptions.ActorDiedError(cause)}", file=sys.stderr, flush=True)
    return {
        "pid": os.getpid(),
        "status": worker.status_of(reason) << 8,
        "exit_reason": reason,
        "killed": None,
        "creation_error": error_bytes,
        "actor": public(facts) if facts else None,
    }


# (session, uid of the export) -> the function: a process has each once, whatever the options of a call
_functions = weakref.WeakValueDictionary()


def load_function(ref):
    """The callable of an exported function, with its options applied. The options of a method's call are exported with None in place of
    the function."""
    if session.current.broken is not None:
        raise session.current.broken
    key = _core.epoch(), ref.uid
    known = _functions.get(key)
    if known is not None:
        return known
    try:
        _, function, flags = _imported(ref, "remote function", f" or cannot be found from sys.path {sys.path}")
    except RuntimeError as error:
        error._of_function_ = announced.last()  # pyright: ignore[reportAttributeAccessIssue]
        raise
    if function is None:
        from rayshim.worker.builtin_methods import Configured

        return lambda method: Configured(method, flags)
    if flags:
        from rayshim.worker.task_options import wrap

        try:
            loaded = load_function(function)  # `function` is the ref of its export without options
        except RuntimeError as error:
            if flags.get("name") and hasattr(error, "_of_function_"):
                error._of_function_ = flags["name"]  # pyright: ignore[reportAttributeAccessIssue]
            raise
        return wrap(loaded, flags)
    session.current.imported(function, ref)
    _functions[key] = function
    return function


def _imported(ref, what, where=""):
    """The exported class or function. As in Ray, raises RuntimeError with the traceback if this process cannot import its modules."""
    try:
        return _core.get_one(ref, None)
    except RaySystemError as error:
        raise RuntimeError(
            f"The {what} failed to import on the worker. This may be because needed library dependencies are not installed in the "
            f"worker environment{where}:\n\n{error.traceback_str}"
        ) from None
