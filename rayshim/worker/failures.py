"""Converts exceptions of calls to their stored form, and stored failures to the exceptions that `get` raises."""

import inspect
import os
import sys

from reactor import _core, codec
from reactor.picklability import NotPicklable, short

from rayshim.calls.handle import info_of
from rayshim.calls.signature import is_async
from rayshim.errors import exceptions, forked
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.exceptions import ObjectStoreFullError, OutOfDiskError, RaySystemError
from rayshim.errors.user_code import OURS, calling
from rayshim.session import session
from rayshim.session.ids import actor_id

_EARLIER = "an earlier init() that has been shut down"


def stale(what):
    """The exception for a ref or handle of an earlier session, or of the process from which this one was forked."""
    if session.current is None and not forked.happened:
        return RuntimeError(
            f"this {what} cannot be used: the runtime it belongs to has been shut down and none is running (used at {calling()})"
        )
    if what == "actor handle":
        return exceptions.ActorHandleNotFoundError(
            f"ActorHandle objects are not valid across Ray sessions: this one belongs to {forked.owner(_EARLIER)}. "
            f"{forked.remedy('Create the actor again after the new init()')} (used at {calling()})"
        )
    return ValueError(
        f"An application is trying to access a Ray object whose owner is unknown: this {what} belongs to {forked.owner(_EARLIER)}, or was made from an id "
        f"alone. {forked.remedy('Please make sure that all Ray objects you are trying to access are part of the current Ray session')} "
        f"(used at {calling()})"
    )


def unpicklable(error, check, name):
    """The TypeError for an argument of the remote function, class or method `name` that could not be pickled with `error`."""
    from rayshim.errors.unpicklable import serialization_error

    whom = getattr(getattr(check, "__self__", None), "of", None) or name
    if not hasattr(error, "value"):
        return error
    explained = serialization_error(
        error, f"the argument {short(error.value)} for a task or actor {whom}", f"at {calling()}"
    )
    explained.__cause__ = error.__cause__
    return explained


def failure(error, what, is_argument):
    """Hook of the core: the stored form of an exception that a call raised. `what`: the callable, None for a constructor."""
    from rayshim.errors.death_texts import Refused

    if isinstance(error, Refused):
        return error.error.to_bytes()
    return task_error(error, what, is_argument).to_bytes()


def unstored(error, why, what):
    """Hook of the core: the stored form of an exception `error` that a call raised, if that of `failure` could not be stored because of the exception
    `why`. It has the beginning of both texts."""
    kind = type(why) if isinstance(why, (ObjectStoreFullError, OutOfDiskError)) else RaySystemError
    text = f"The call raised {_beginning(error)}\nThis exception could not be stored: {_beginning(why)}"
    return task_error(kind(text), what, False).to_bytes()


def _beginning(error, limit=500):
    """The class of an exception and the beginning of its text."""
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be shown"
    if len(text) > limit:
        text = f"{text[:limit]} ... ({len(text)} characters)"
    return f"{type(error).__module__}.{type(error).__qualname__}: {text}"


def left_over(error, what, wanted):
    """Hook of the core: a generator whose number of results is fixed has raised after its last value, or (None) has one more."""
    if error is None:
        print(
            f"{getattr(what, '__qualname__', what)} yields more values than num_returns={wanted}. The others are lost, and the generator was "
            "closed: give num_returns the number of all values, or leave it out",
            file=sys.stderr,
            flush=True,
        )
    else:
        print(
            f"Unhandled error of a generator that had yielded all of its num_returns={wanted} values, so no ref has it: "
            f"{task_error(error, what, False)}",
            file=sys.stderr,
            flush=True,
        )


def task_error(error, what, is_argument):
    from rayshim.worker.context import runtime_context

    advice = ""
    if isinstance(error, NotPicklable) and error.__cause__:
        # As on Ray it is the error that pickling gave: pickle's own, or that of the value's own __reduce__.
        advice = str(error) if type(error.__cause__) is TypeError else ""
        error = error.__cause__
    # Of the call itself or of its cancellation; Ray does not distinguish them.
    if isinstance(error, KeyboardInterrupt) or _leaves_coroutine(error, what):
        error = exceptions.TaskCancelledError(runtime_context._task_id()).with_traceback(error.__traceback__)
    name, actor_repr, actor = _name_of(what, error)
    return exceptions.make_task_error(
        name,
        error,
        os.getpid(),
        actor_repr,
        actor_id=actor,
        skip=OURS,
        dependency=is_argument,
        ip=get_node_ip_address(),
        advice=advice,
    )


def _leaves_coroutine(error, what):
    """Whether it is asyncio's CancelledError, of a coroutine function or another method of an async actor."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    concurrency = sys.modules.get("rayshim.worker.concurrency")
    return concurrency is not None and concurrency.has_loop() or callable(what) and is_async(inspect.unwrap(what))


def _name_of(what, error):
    instance = getattr(what, "__self__", None)
    method = getattr(what, "__name__", None) or getattr(error, "_of_function_", None) or "__init__"
    s = session.current
    number = s.placement.actor_here()
    if not number:
        return method, None, None
    facts = s.placement.facts(number)
    if instance is None:
        who = _unfinished_instance(error, facts)
    else:
        who = _repr(instance, facts)
    return f"{facts['class_name']}.{method}", who, actor_id(facts["tag_hash"]).hex()


def _repr(instance, facts):
    """As repr, but in that of object, a class of the main script has the name of its file as its module, as on Ray."""
    if type(instance).__repr__ is not object.__repr__:
        return repr(instance)
    return _plain_repr(instance, facts)


def _plain_repr(instance, facts):
    text = object.__repr__(instance)
    main = "<__main__."
    return f"<{info_of(facts).file_module}.{text.removeprefix(main)}" if text.startswith(main) else text


def _unfinished_instance(error, facts):
    """The repr of the instance whose constructor raised, found in the traceback; None if the constructor had not begun."""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_name == "__init__" and code.co_argcount:
            instance = step.tb_frame.f_locals.get(code.co_varnames[0])
            if type(instance).__name__ == facts["class_name"]:
                try:
                    return _repr(instance, facts)
                except Exception:  # it reads what the constructor has not set
                    return _plain_repr(instance, facts)
        step = step.tb_next
    return None


def as_failure(error):
    """Hook of the core: the stored form of an exception that a call returns or yields, or that is `put` or an argument, if `get` is to raise it."""
    return error.to_bytes() if isinstance(error, exceptions.RayError) else None


def error(state, value, ref):
    """Hook of the core: the exception to raise for a result that is not a value. `state`: _core.State."""
    exception = _error(state, value, ref)
    return exception.as_instanceof_cause() if isinstance(exception, exceptions.RayTaskError) else exception


def lost(state, value):
    """Hook of the core: reports a failed call whose last ref is gone and whose result nobody asked for."""
    from rayshim.worker import unhandled

    unhandled.lost(_error(state, value, None))


def lost_text(state, value):
    """In the zygote: the text of such a report for the driver's user; None: no report."""
    from rayshim.worker import unhandled

    if isinstance(value, dict) and value.get("nobody_asks"):  # of a driver that has ended
        return None
    return unhandled.report_text(_error(state, value, None))


def _error(state, value, ref):
    if state == _core.State.ERROR:
        return (
            exceptions.RayError.from_bytes(value) if isinstance(value, bytes) else exceptions.RaySystemError(str(value))
        )
    if state == _core.State.CANCELLED:
        return exceptions.TaskCancelledError(ref.task_id() if ref is not None else None)
    from rayshim.errors import death_texts

    return death_texts.exception(value)


def loads(data, buffers):
    """Unpickles a value from the store. As in Ray, an exception in unpickling becomes a RaySystemError."""
    try:
        return codec.loads(data, buffers)
    except Exception as error:
        if hasattr(error, "__passes_unpickling__"):  # of the transfer of direct tensors, and not of unpickling
            raise
        from rayshim.errors.tracebacks import format_remote

        failed = RaySystemError(error, format_remote(error, OURS))
    raise failed


def wrong_results(found, wanted, value):
    """Hook of the core: the error of a call that returned `found` values and not `wanted` ones; -1: no generator where one is expected."""
    if wanted < 0 and hasattr(value, "__anext__"):
        return TypeError(
            f"'{type(value).__name__}' object is not an iterator: a task cannot be an async generator. Write it with `def`, or as a method"
        )
    if wanted < 0:
        return ValueError(
            f'a call with num_returns="streaming" must return a generator, not {type(value).__name__}. Write it with `yield`, or leave num_returns out'
        )
    return ValueError(f"Task returned {found} objects, but num_returns={wanted}.")


def store_full(wanted, used, limit, disk):
    found = f"Failed to put an object of {wanted} bytes: the object store holds {used} of its {limit} bytes"
    what_to_do = "Delete refs and arrays that are no longer needed, or set a larger init(object_store_memory=)"
    if disk:
        return OutOfDiskError(
            f"{found}, and the disk is full. {what_to_do}, or set init(object_spilling_directory=) to another disk"
        )
    return ObjectStoreFullError(f"{found}. {what_to_do}")
