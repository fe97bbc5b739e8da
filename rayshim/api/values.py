"""`get`, `put` and `wait`."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar, overload

from reactor import _core

from rayshim.api.timeouts import seconds
from rayshim.calls.generators import ObjectRefGenerator
from rayshim.calls.generators import wait as wait_with_generators
from rayshim.calls.refs import ObjectRef
from rayshim.errors.exceptions import GetTimeoutError
from rayshim.errors.sites import at
from rayshim.ordering import order as orders
from rayshim.session import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rayshim.calls.handle import ActorHandle
    from rayshim.experimental.compiled_dag_ref import CompiledDAGRef


T = TypeVar("T")
W = TypeVar("W", bound="ObjectRef[Any] | ObjectRefGenerator[Any]")


@overload
def get(object_refs: ObjectRef[T], *, timeout: float | None = None) -> T: ...
@overload
def get(object_refs: Sequence[ObjectRef[T]], *, timeout: float | None = None) -> list[T]: ...
@overload
def get(object_refs: ObjectRefGenerator[T], *, timeout: float | None = None) -> ObjectRefGenerator[T]: ...
@overload
def get(object_refs: CompiledDAGRef | Sequence[CompiledDAGRef], *, timeout: float | None = None) -> Any: ...
def get(object_refs: Any, *, timeout: float | None = None, _use_object_store: bool = False) -> Any:
    """The value of a ref, or the list of values of a list of refs.

    Waits until they are there; with `timeout` (seconds) GetTimeoutError when that is not enough. Raises the error of the first
    ref in the list that failed. A generator is given back as it is. Arrays are read-only views of shared memory. TypeError for what is not a ref; ValueError for a
    ref of an earlier session.
    """
    if timeout is not None:
        timeout = seconds(timeout, "get")
        if session.current is not None and session.current.settings["kept"] and not hasattr(_asking, "clock"):
            return _get_kept(object_refs, timeout)
    if type(object_refs) is ObjectRef:
        try:
            value = _core.get_one(object_refs, timeout)
        except ValueError:
            if object_refs.stale:
                raise _unknown([object_refs]) from None
            raise
        if value is _core.TIMED_OUT:
            _time_out(timeout, 1)
        return value
    if isinstance(object_refs, ObjectRefGenerator):
        return object_refs
    if isinstance(object_refs, ObjectRef):  # one made from an id
        raise _unknown([object_refs])
    if not isinstance(object_refs, list):
        if _is_compiled(object_refs):
            return object_refs.get(timeout)
        raise ValueError(
            f"Invalid type of object refs, {type(object_refs)}, is given. 'object_refs' must either be a single object ref "
            f"or a list of object refs. ({at('get')})"
        )
    for ref in object_refs:
        if not isinstance(ref, ObjectRef):
            if any(map(_is_compiled, object_refs)):
                return _get_compiled(object_refs, timeout)
            raise TypeError(
                f"Attempting to call `get` on the value {ref!r}, which is not an ray.ObjectRef. ({at('get')}: it takes what `.remote()` and `put` gave)"
            )
    if not object_refs:
        return []
    try:
        values = _core.get(object_refs, timeout)
    except ValueError:
        unknown = [ref for ref in object_refs if ref.stale]
        if unknown:
            raise _unknown(unknown) from None
        raise
    if values is None:
        _time_out(timeout, len(object_refs))
    return values


_asking = threading.local()  # has `clock` while `get` asks for what goes into the record


def _get_kept(refs, timeout):
    """`get` with a timeout in a run that is recorded, or follows a record."""
    from rayshim.journal import rerun

    got = []

    def ask():
        _asking.clock = True
        try:
            got.append(get(refs, timeout=timeout))
        except GetTimeoutError:
            return "timed out"
        except Exception as error:
            got.append(error)
        finally:
            del _asking.clock
        return "in time"

    def again(answer):
        if answer != "timed out":
            try:
                got.append(get(refs))
            except Exception as error:
                got.append(error)

    if rerun.kept().answered("get", rerun.site(sys._getframe(2)), ask, again) == "timed out":
        _time_out(timeout, len(refs) if isinstance(refs, list) else 1)
    if isinstance(got[0], Exception):
        raise got[0]
    return got[0]


def _is_compiled(ref):
    compiled = sys.modules.get("rayshim.experimental.compiled_dag_ref")
    return compiled is not None and isinstance(ref, compiled.CompiledDAGRef)


def _get_compiled(refs, timeout):
    if not all(map(_is_compiled, refs)):
        raise ValueError(
            "Invalid type of object refs. 'object_refs' must be a list of CompiledDAGRefs if there is any CompiledDAGRef within it. "
            f"({at('get')}: get the others in a call of their own)"
        )
    return [ref.get(timeout) for ref in refs]


def _unknown(refs):
    return ValueError(
        "You are trying to access Ray objects whose owner is unknown: they belong to an earlier init() that has been shut down, or were made "
        f"from an id alone. Owners not found for objects [{', '.join(ref.hex() for ref in refs)}]. ({at('get')}) Make them again after the new init()"
    )


def _time_out(timeout, n):
    _core.count_physical()
    raise GetTimeoutError(
        f"Get timed out: some object(s) not ready. ({n} asked for, {timeout:g} s waited, {at('get')}) Give it more "
        "time, or `wait` for those that are done"
    )


def put(value: T, *, _owner: ActorHandle[Any] | None = None, _tensor_transport: str | None = None) -> ObjectRef[T]:
    """Stores a copy of `value` and gives its ref. TypeError if it cannot be pickled or is a ref, ObjectStoreFullError if there is
    no room for it."""
    if session.current is None:
        session.ensure()
    if isinstance(value, ObjectRef):
        raise TypeError(
            "Calling 'put' on an ray.ObjectRef is not allowed. If you really want to do this, you can wrap the ray.ObjectRef in "
            f"a list and call 'put' on it. ({at('put')})"
        )
    try:
        return _core.put_recorded(value)  # pyright: ignore[reportReturnType]
    except TypeError as error:
        if not hasattr(error, "value"):
            raise
        from rayshim.errors.unpicklable import told

        raise told(error, f"the put value {value!r} ({at('put')})") from error


def wait(
    ray_waitables: list[W], *, num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
) -> tuple[list[W], list[W]]:
    """Waits until `num_returns` of the refs are done (of a generator: its next one) or `timeout` seconds have passed.

    Returns (ready, not_ready), both in the order of the list; `ready` has at most `num_returns`. Without a timeout these are the
    first of the list, as in the program's serial run, as long as waiting for them costs no more than `init(patience=)` allows; then, and with
    `init(ordering="arrival")`, those that are done first, as in Ray. Raises TypeError for what is not a list of refs, ValueError for duplicates or a wrong `num_returns`.
    """
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
    if num_returns <= 0:
        raise ValueError(f"Invalid number of objects to return {num_returns}. ({at('wait')}: num_returns is 1 or more)")
    if num_returns > len(refs):
        raise ValueError(
            f"num_returns cannot be greater than the number of ray_waitables provided to ray.wait. ({at('wait')}: num_returns={num_returns}, of {len(refs)} refs)"
        )
    if timeout is not None and session.current is not None:
        _core.count_physical()
    if (
        session.current is not None
        and session.current.settings["kept"]
        and all(isinstance(ref, ObjectRef) for ref in refs)
    ):
        return orders.wait_kept(refs, num_returns, timeout, sys._getframe(1))
    try:
        if timeout is None and _core.logical() and session.current.settings["ordering"] != "arrival":
            return orders.wait(refs, num_returns, sys._getframe(1))  # pyright: ignore[reportReturnType]
        return _core.wait(refs, num_returns, timeout)[:2]  # pyright: ignore[reportReturnType]
    except TypeError:
        if not any(isinstance(ref, ObjectRefGenerator) for ref in refs):
            raise
        return wait_with_generators(refs, num_returns, timeout)
    except ValueError:
        known = [ref for ref in refs if isinstance(ref, ObjectRef) and not ref.stale]
        if not known or len(known) == len(refs):
            raise
    # As in Ray: those that nobody knows are never ready, and an error only if there are no others.
    ready = _core.wait(known, min(num_returns, len(known)), timeout)[0]
    done = set(ready)
    return ready, [ref for ref in refs if ref not in done]  # pyright: ignore[reportReturnType]
