"""`get`, `put` and `wait`."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

from reactor import _core

from rayshim.api.timeouts import seconds
from rayshim.calls.generators import ObjectRefGenerator, check_waitables
from rayshim.calls.generators import wait as wait_with_generators
from rayshim.calls.refs import ObjectRef
from rayshim.errors import forked
from rayshim.errors.exceptions import GetTimeoutError
from rayshim.errors.user_code import at
from rayshim.ordering import delays
from rayshim.ordering import order as orders
from rayshim.session import physical, session
from rayshim.session.switches import is_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rayshim.calls.handle import ActorHandle
    from rayshim.experimental.compiled_dag_ref import CompiledDAGRef


T = TypeVar("T")
W = TypeVar("W", bound="ObjectRef[Any] | ObjectRefGenerator[Any]")

compiled_refs: Any = ()  # the class of the results of compiled graphs; rayshim.experimental.compiled_dag_ref sets it
# Whether a library has turned the warning of `get` in async actors off, a function; rayshim._private.worker sets it.
blocking_is_known: Any = lambda: False


@overload
def get(object_refs: ObjectRef[T], *, timeout: float | None = None) -> T: ...
@overload
def get(object_refs: Sequence[ObjectRef[T]], *, timeout: float | None = None) -> list[T]: ...
@overload
def get(object_refs: ObjectRefGenerator[T], *, timeout: float | None = None) -> ObjectRefGenerator[T]: ...
@overload
def get(object_refs: CompiledDAGRef | Sequence[CompiledDAGRef], *, timeout: float | None = None) -> Any: ...
def get(object_refs: Any, *, timeout: float | None = None, _use_object_store: bool = False) -> Any:
    """Waits for the value of a ref and returns it; for a list of refs, the list of their values.

    Arrays in the value are read-only views of shared memory. An ObjectRefGenerator is returned unchanged.

    Arguments:
        object_refs: an ObjectRef or a list of them.
        timeout: seconds to wait at most; None: no limit.
        _use_object_store: True: direct tensors (of a method with `tensor_transport`) are read through the object store, whatever their transport is.

    Raises the exception of the call if it failed (in a list: of the first ref that failed), GetTimeoutError if a value is not
    ready in time, TypeError or ValueError if an argument is not a ref, ValueError for a ref of an earlier session.
    """
    if session.warn_on_blocking_get:
        _warn_of_blocking()
    if session.owes_time and timeout is None:
        delays.before_get(object_refs)
    if _use_object_store:
        from rayshim.worker import direct

        return direct.get_with_mode("store", functools.partial(get, timeout=timeout), object_refs)
    limit = None if timeout is None else _Limit(seconds(timeout, "get"))
    if type(object_refs) is ObjectRef:
        try:
            if limit is None:
                return _core.get_one(object_refs, None)
            return limit.read(_core.get_one, object_refs, 1, _core.TIMED_OUT)
        except ValueError:
            if object_refs.stale:
                raise _unknown([object_refs]) from None
            raise
        except RuntimeError:
            if _begins_again():
                raise _unknown([object_refs]) from None
            raise
    if session.current is None:
        session.ensure_own(at("get"))
    if isinstance(object_refs, ObjectRefGenerator):
        return object_refs
    if isinstance(object_refs, ObjectRef):  # one made from an id
        raise _unknown([object_refs])
    if not isinstance(object_refs, list):
        if _is_compiled(object_refs):
            return _get_compiled([object_refs], limit)[0]
        raise ValueError(
            f"Invalid type of object refs, {type(object_refs)}, is given. 'object_refs' must either be an ObjectRef or a "
            f"list of ObjectRefs. ({at('get')})"
        )
    if not object_refs:
        return []
    if type(object_refs[0]) is not ObjectRef and _is_compiled(object_refs[0]):
        return _get_compiled(object_refs, limit)
    try:
        if limit is None:
            return _core.get(object_refs, None)
        return limit.read(_core.get, object_refs, len(object_refs), None)
    except Exception as error:  # of a call whose value was read, or of the list
        for ref in object_refs:
            if not isinstance(ref, ObjectRef):
                if any(map(_is_compiled, object_refs)):
                    return _get_compiled(object_refs, limit)
                raise TypeError(
                    f"Attempting to call `get` on the value {ref!r}, which is not an ray.ObjectRef. ({at('get')}: pass refs from `.remote()` or `put`)"
                ) from None
        if isinstance(error, RuntimeError) and _begins_again():
            raise _unknown(object_refs) from None
        unknown = [ref for ref in object_refs if ref.stale] if isinstance(error, ValueError) else None
        if unknown:
            raise _unknown(unknown) from None
        raise


def _warn_of_blocking():
    """As on Ray, once in the life of an async actor, unless the environment has RAY_WARN_BLOCKING_GET_INSIDE_ASYNC=0."""
    from rayshim.errors import logs

    session.warn_on_blocking_get = False
    if not blocking_is_known() and is_on("RAY_WARN_BLOCKING_GET_INSIDE_ASYNC", "1"):
        logs.logger.warning(
            "Using blocking ray.get inside async actor. This blocks the event loop. Please use `await` on object ref with asyncio.gather if you "
            "want to yield execution to the event loop instead."
        )


class _Limit:
    """The `timeout` of a `get`, in seconds."""

    def __init__(self, timeout):
        self._timeout = timeout

    def read(self, read, refs, count, late, beneath=2):
        """`read(refs, timeout)`. GetTimeoutError if that gives `late`, because the time was not enough for `count` refs. In a run with a journal, the
        journal says whether it was, at the place of the caller that is so many frames beneath this one."""
        if session.current is None or not session.current.settings.journal:
            value = read(refs, self._timeout)
        else:
            value = orders.journaled_get(read, refs, self._timeout, late, sys._getframe(beneath))
        if value is late:
            physical.count("get() whose time was up")
            raise GetTimeoutError(
                f"Get timed out: some object(s) not ready. ({count} asked for, {self._timeout:g} s waited, {at('get')}) Set a "
                "longer timeout, or call `wait` to get those that are done"
            )
        return value


def _is_compiled(ref):
    return isinstance(ref, compiled_refs)


def _get_compiled(refs, limit):
    if not all(map(_is_compiled, refs)):
        raise ValueError(
            "Invalid type of object refs. 'object_refs' must be a list of CompiledDAGRefs if there is any CompiledDAGRef within it. "
            f"({at('get')}: call get() separately for the other refs)"
        )
    if limit is None:
        return compiled_refs.get_all(refs)
    return limit.read(compiled_refs.get_all, refs, len(refs), _core.TIMED_OUT, beneath=3)


def _begins_again():
    """Whether there was no session, so that the refs are of an earlier one. As on Ray, one is begun."""
    if session.current is not None:
        return False
    session.ensure()
    return True


def _unknown(refs):
    return ValueError(
        "You are trying to access Ray objects whose owner is unknown: they belong to "
        f"{forked.owner('an earlier init() that has been shut down')}, or were created from an id alone. Owners not found for objects "
        f"[{', '.join(ref.hex() for ref in refs)}]. ({at('get')}) {forked.remedy('Create them again after the new init()')}"
    )


def put(value: T, *, _owner: ActorHandle[Any] | None = None, _tensor_transport: str | None = None) -> ObjectRef[T]:
    """Stores a copy of `value` in shared memory and returns a ref to it. With the name of a one-sided transport in `_tensor_transport`, tensors
    stay where they are.

    Raises TypeError if the value cannot be pickled or is a ref, ObjectStoreFullError if the store has no room for it.
    """
    if _owner is not None:
        raise ValueError(
            f"The experimental `_owner` argument to `ray.put` has been removed in Ray 2.56. ({at('put')}: leave it out)"
        )
    if session.current is None:
        session.ensure()
    if isinstance(value, ObjectRef):
        raise TypeError(
            "Calling 'put' on an ray.ObjectRef is not allowed. If you really want to do this, you can wrap the ray.ObjectRef in "
            f"a list and call 'put' on it. ({at('put')})"
        )
    if _tensor_transport is not None:
        from rayshim.worker import direct

        return direct.put(value, _tensor_transport)  # pyright: ignore[reportReturnType]
    try:
        return _core.put_recorded(value, True)  # pyright: ignore[reportReturnType]
    except TypeError as error:
        if not hasattr(error, "value"):
            raise
        from reactor.picklability import short

        from rayshim.errors.unpicklable import serialization_error

        raise serialization_error(error, f"the put value {short(value)}", at("put")) from error.__cause__


def wait(
    ray_waitables: list[W], *, num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
) -> tuple[list[W], list[W]]:
    """Waits until `num_returns` refs of a list are done, or `timeout` seconds have passed.

    Without a timeout, the ready refs are the first `num_returns` of the list, as in the program's serial run. If waiting for them blocks
    the caller for longer than `init(patience=)` allows, and always with `init(ordering="arrival")`, the ready refs are those that are
    done first, as on Ray. With `init(ordering="timed")` they are those that are done first by the times of the timing file, and a timeout is one in
    these times, too.

    Arguments:
        ray_waitables: list of ObjectRef and ObjectRefGenerator; a generator is done when its next ref is.
        num_returns: how many refs to wait for.
        timeout: seconds to wait at most; None: no limit.
        fetch_local: no meaning on one machine.

    Returns (ready, not_ready): two lists in the order of `ray_waitables`; `ready` has at most `num_returns` refs.
    Raises TypeError if `ray_waitables` is not a list of refs, ValueError for duplicates or a wrong `num_returns`.
    """
    if session.current is None:
        session.ensure_own(at("wait"))
    refs: Any = ray_waitables
    if isinstance(refs, (ObjectRef, ObjectRefGenerator)):
        raise TypeError(
            "wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got a single ray.ObjectRef or "
            f"ray.ObjectRefGenerator {refs} ({at('wait')}: put it into a list)"
        )
    if not isinstance(refs, list):
        raise TypeError(
            f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got {type(refs)} ({at('wait')})"
        )
    if timeout is not None:
        timeout = seconds(timeout, "wait", least=0)
    if not refs:
        return [], []
    if not 1 <= num_returns <= len(refs):
        _check_waitables(refs)
    if num_returns < 1:
        raise ValueError(f"Invalid number of objects to return {num_returns}. ({at('wait')}: num_returns is 1 or more)")
    if num_returns > len(refs):
        raise ValueError(
            f"num_returns cannot be greater than the number of ray_waitables provided to ray.wait. ({at('wait')}: num_returns={num_returns}, of {len(refs)} refs)"
        )
    num_returns = int(num_returns)  # as on Ray, `len(refs) / 2` of three refs is 1
    if timeout is not None:
        physical.count("wait() with a timeout", sys._getframe(1))
    if session.current.settings.journal and all(isinstance(ref, ObjectRef) for ref in refs):
        return orders.journaled_wait(refs, num_returns, timeout, sys._getframe(1))
    try:
        if timeout is None and _core.logical() and session.current.settings.ordering not in ("arrival", "timed"):
            return orders.wait(refs, num_returns, sys._getframe(1))  # pyright: ignore[reportReturnType]
        return _core.wait(refs, num_returns, timeout)[:2]  # pyright: ignore[reportReturnType]
    except TypeError:
        _check_waitables(refs)
        if not any(isinstance(ref, ObjectRefGenerator) for ref in refs):
            raise
        return wait_with_generators(refs, num_returns, timeout)
    except ValueError:
        known = _check_waitables(refs)
        if not known or len(known) == len(refs):
            raise
    # As in Ray: unknown refs are never ready, and an error only if all refs are unknown.
    ready = _core.wait(known, min(num_returns, len(known)), timeout)[0]
    done = set(ready)
    return ready, [ref for ref in refs if ref not in done]  # pyright: ignore[reportReturnType]


def _check_waitables(refs):
    """The known refs of a list for `wait`. Raises the errors of `check_waitables`."""
    check_waitables(refs)
    return [ref for ref in refs if isinstance(ref, ObjectRef) and not ref.stale]


def free(object_refs, local_only=False):
    """Gives up the values of these refs. Here a value's memory is free as soon as nobody has a ref to it, so this checks its arguments and the
    caller's refs do the rest. TypeError for what is no ref."""
    for ref in [object_refs] if isinstance(object_refs, ObjectRef) else object_refs:
        if not isinstance(ref, ObjectRef):
            raise TypeError(
                f"Attempting to call `free` on the value {ref!r}, which is not an ray.ObjectRef. ({at('free')}: it takes refs)"
            )
